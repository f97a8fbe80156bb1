"""Produce (key 0): append a batch to each partition.

With acks=all it waits for the in-sync replicas, up to the timeout of the request. It also waits for
the disk if the directory is slow or `flush.messages` requires durable records. Appended records
stay in the log, whatever happens to the response. With acks=0 there is no response, so an error
closes the connection; nothing else would make the client look for a new leader. Such a request
waits for a slow directory too, which bounds what one connection can send.

Transactional batches wait for the transaction coordinator, see `requests.transactional_batches`.

Needs WRITE on each topic. A transactional batch needs WRITE on the transactional id; without it the
whole request fails. A partition led by another broker is answered with its leader (KIP-951).
Records that break a rule of the topic are listed (KIP-467).
"""

from collections.abc import Callable
from functools import partial
from operator import attrgetter
from typing import Final

from attrs import field

from trio_kafka.attributes import define
from trio_kafka.errors import ErrorCode, KafkaError, ProtocolError
from trio_kafka.log.append import Appended
from trio_kafka.model import NodeId, TopicId
from trio_kafka.pending import Eventual, Pending
from trio_kafka.protocol.messages.k00_produce import (
    BatchIndexAndErrorMessage,
    PartitionProduceData,
    PartitionProduceResponse,
    ProduceRequest,
    ProduceResponse,
    TopicProduceData,
    TopicProduceResponse,
)
from trio_kafka.records.record_checks import BadRecordsError
from trio_kafka.records.validate import ZSTD_SINCE
from trio_kafka.replication.isr import ACKS, NO_ACKS
from trio_kafka.replication.leader.append import append_acknowledged, start_offset_after
from trio_kafka.replication.table import Replicas
from trio_kafka.requests.api import ANY_SIZE, api
from trio_kafka.requests.context import Context
from trio_kafka.requests.current_leaders import leader_endpoints, name_leader
from trio_kafka.requests.rows import Pairs, rows
from trio_kafka.requests.transactional_batches import (
    TransactionalBatches,
    authorize_batch,
    error_without_id,
)
from trio_kafka.security.operations import Operation

WRITE: Final = Operation.WRITE
LEADERS_SINCE: Final = 10  # KIP-951
IDS_SINCE: Final = 13  # KIP-516
_partitions: Final = attrgetter("partition_data")
_name, _id = attrgetter("name"), attrgetter("topic_id")


@api(ProduceRequest, largest=ANY_SIZE)
def produce(request: ProduceRequest, context: Context) -> Eventual[ProduceResponse | None]:
    if request.acks not in ACKS:
        raise KafkaError(ErrorCode.INVALID_REQUIRED_ACKS, f"acks {request.acks}, want 0, 1 or -1")
    key = _id if context.version >= IDS_SINCE else _name
    produce = _Produce(request, context, key)
    transactional_id, asks = request.transactional_id, not context.allows_all
    append_all = partial(
        rows,
        request.topic_data,
        _partitions,
        produce.append,
        produce.answer,
        group=lambda topic, parts: TopicProduceResponse(topic.name, topic.topic_id, parts),
        refused=produce.refused,
        check=partial(authorize_batch, context, transactional_id) if asks else None,
        permission=(lambda topic: context.authorize_on(WRITE, key(topic))) if asks else None,
    )
    if transactional_id is None:
        return append_all()
    batches = Pairs(request.topic_data, _partitions)
    produce.admission = TransactionalBatches(context, transactional_id, batches, key)
    return produce.admission.admit(append_all)


@define(eq=False)
class _Produce:
    """One request. key: name or id of a topic. leaders: those to be named. failure: an error.
    admission: of its batches by the transaction coordinator.
    """

    request: ProduceRequest
    context: Context
    key: Callable[[TopicProduceData], TopicId | str]
    leaders: set[NodeId] = field(factory=set, init=False)
    failure: KafkaError | None = None
    admission: TransactionalBatches[TopicProduceData, PartitionProduceData] | None = None

    def append(
        self, topic: TopicProduceData, data: PartitionProduceData
    ) -> Eventual[PartitionProduceResponse]:
        """Append one batch. Raises KafkaError."""
        partition = self.context[Replicas].resolve((self.key(topic), data.index))
        appended = append_acknowledged(
            partition,
            data.records,
            acks=self.request.acks,
            zstd=self.context.version >= ZSTD_SINCE,
            timeout_s=self.request.timeout_ms / 1000,
            guard=None if self.admission is None else self.admission.guard(partition),
        )
        if isinstance(appended, Pending):
            return appended.then(partial(_row, data.index))
        return _row(data.index, appended)  # nearly always

    def refused(
        self, topic: TopicProduceData, data: PartitionProduceData, error: KafkaError
    ) -> PartitionProduceResponse:
        """Return the row of a batch that was not appended, or not acknowledged."""
        if self.admission is None:
            error = error_without_id(data, error)
        self.failure = self.failure or error
        at = (self.key(topic), data.index)
        start = start_offset_after(self.context[Replicas].find(at), error)
        row = PartitionProduceResponse(at[1], error.code, base_offset=-1, log_start_offset=start)
        row.error_message = error.message
        if isinstance(error, BadRecordsError):
            row.record_errors = [BatchIndexAndErrorMessage(*bad) for bad in error.records]
        if self.context.version >= LEADERS_SINCE:
            name_leader(row, self.context, at, self.leaders)
        return row

    def answer(self, topics: list[TopicProduceResponse]) -> ProduceResponse | None:
        """Return the response. Without one, an error raises ProtocolError."""
        if self.request.acks == NO_ACKS:
            if error := self.failure:
                raise ProtocolError(f"acks=0, a partition has {error.code.name}: {error.message}")
            return None
        response = ProduceResponse(topics)
        if self.leaders:
            response.node_endpoints = leader_endpoints(self.context, self.leaders)
        return response


def _row(index: int, appended: Appended) -> PartitionProduceResponse:
    first_offset, _, append_time_ms, start_offset, _ = appended
    return PartitionProduceResponse(index, 0, first_offset, append_time_ms, start_offset)
