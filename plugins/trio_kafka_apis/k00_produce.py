"""Produce (key 0): append a batch to each partition.

With acks=all it waits for the in-sync replicas, up to the timeout of the request. It also waits for
the disk if the directory is slow or `flush.messages` requires durable records. Appended records
stay in the log, whatever happens to the response. With acks=0 there is no response, so an error
closes the connection; nothing else would make the client look for a new leader. Such a request
waits for a slow directory too, which bounds what one connection can send.

The transaction coordinator is asked first whether the partitions of transactional batches are part
of the transaction; from version 12 on they become part of it. Without a coordinator such batches
are rejected.

Needs WRITE on each topic. A transactional batch needs WRITE on the transactional id; without it the
whole request fails. A partition led by another broker is answered with its leader (KIP-951).
Records that break a rule of the topic are listed (KIP-467).
"""

from collections.abc import Callable
from functools import partial
from operator import attrgetter
from typing import Final, TypeAlias

from attrs import field

from trio_kafka.attributes import define
from trio_kafka.errors import ErrorCode, KafkaError, ProtocolError
from trio_kafka.log.append import Appended
from trio_kafka.model import NodeId, TopicId
from trio_kafka.pending import Eventual, Pending
from trio_kafka.protocol.messages.k00_produce import (
    BatchIndexAndErrorMessage,
    LeaderIdAndEpoch,
    NodeEndpoint,
    PartitionProduceData,
    PartitionProduceResponse,
    ProduceRequest,
    ProduceResponse,
    TopicProduceData,
    TopicProduceResponse,
)
from trio_kafka.records.record_checks import BadRecordsError
from trio_kafka.records.validate import ZSTD_SINCE, is_transactional
from trio_kafka.replication.leader.append import append_acknowledged, start_offset_after
from trio_kafka.replication.leader.transaction_gate import Admission, Admissions
from trio_kafka.replication.partition import LED_ELSEWHERE, UNKNOWN_OFFSET
from trio_kafka.replication.table import Replicas
from trio_kafka.requests.api import ANY_SIZE, api
from trio_kafka.requests.context import Context
from trio_kafka.requests.rows import Pairs, for_each, rows
from trio_kafka.security.operations import Operation

NO_ACKS: Final = 0
ACKS: Final = (NO_ACKS, 1, -1)
DENIED: Final = ErrorCode.TOPIC_AUTHORIZATION_FAILED
LEADERS_SINCE: Final = 10  # KIP-951
ABORTABLE_SINCE: Final = 11  # KIP-890: clients know TRANSACTION_ABORTABLE
ADDS_SINCE: Final = 12  # KIP-890: Produce adds partitions to the transaction
IDS_SINCE: Final = 13  # KIP-516
_partitions: Final = attrgetter("partition_data")
AppendAll: TypeAlias = "Callable[[], Eventual[ProduceResponse | None]]"
_name: Final = attrgetter("name")
_id: Final = attrgetter("topic_id")


@api(ProduceRequest, largest=ANY_SIZE)
def produce(request: ProduceRequest, context: Context) -> Eventual[ProduceResponse | None]:
    if request.acks not in ACKS:
        raise KafkaError(ErrorCode.INVALID_REQUIRED_ACKS, f"acks {request.acks}, want 0, 1 or -1")
    asks = not context.allows_all
    produce = _Produce(request, context, _id if context.version >= IDS_SINCE else _name)
    append_all = partial(
        rows,
        request.topic_data,
        _partitions,
        produce.append,
        produce.answer,
        group=lambda topic, parts: TopicProduceResponse(topic.name, topic.topic_id, parts),
        refused=produce.refused,
        check=produce.authorize_transaction if asks else None,
        permission=produce.authorize if asks else None,
    )
    return append_all() if request.transactional_id is None else produce.admit(append_all)


@define(eq=False)
class _Produce:
    """One request. key: name or id of a topic. leaders: those to be named. failure: an error.
    admission: of its transactional batches, once it was asked for.
    """

    request: ProduceRequest
    context: Context
    key: Callable[[TopicProduceData], TopicId | str]
    leaders: set[NodeId] = field(factory=set, init=False)
    failure: KafkaError | None = field(default=None, init=False)
    admission: Admission | None = field(default=None, init=False)

    def authorize_transaction(self, _: TopicProduceData, data: PartitionProduceData) -> None:
        """Raise KafkaError for a transactional batch that the client may not write."""
        if is_transactional(data.records):
            if self.request.transactional_id is None:
                raise KafkaError(ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED)
            self.context.authorize(Operation.WRITE, transactional_id=self.request.transactional_id)

    def admit(self, append_all: AppendAll) -> Eventual[ProduceResponse | None]:
        """Append when the transaction coordinator has admitted the transactional batches."""
        version = self.context.version
        admission = self.admission = self.context[Admissions].begin(
            self.request.transactional_id,
            adds=version >= ADDS_SINCE,
            knows_generic_errors=version >= ABORTABLE_SINCE,
        )
        if admission is None:
            return append_all()
        batches = Pairs(self.request.topic_data, _partitions)
        return for_each(batches, self._begin, partial(self._ask, admission, append_all))

    def _begin(self, batch: tuple[TopicProduceData, PartitionProduceData]) -> None:
        topic, data = batch
        if not self.context.allows_all:
            self.authorize_transaction(topic, data)
        partition = self.context[Replicas].find((self.key(topic), data.index))
        if self.admission is None or partition is None:
            return
        if self.context.is_authorized(Operation.WRITE, topic=partition.at.topic):
            self.admission.begin(partition, data.records)

    def _ask(self, admission: Admission, append_all: AppendAll) -> Eventual[ProduceResponse | None]:
        verdict = admission.ask()
        if not isinstance(verdict, Pending):
            return append_all()
        # A parked request keeps no frame, in which the records are.
        batches = Pairs(self.request.topic_data, _partitions)
        return for_each(batches, _copy, lambda: verdict.then(lambda _: append_all()))

    def authorize(self, topic: TopicProduceData) -> None:
        """Raise KafkaError for a topic that the client may not write."""
        if not self.context.is_authorized_on(Operation.WRITE, self.key(topic)):
            raise KafkaError(DENIED)  # without a message, which would tell the name of an id

    def append(
        self, topic: TopicProduceData, data: PartitionProduceData
    ) -> Eventual[PartitionProduceResponse]:
        """Append one batch. Raises KafkaError."""
        partition = self.context[Replicas].resolve((self.key(topic), data.index))
        admission = self.admission
        appended = append_acknowledged(
            partition,
            data.records,
            acks=self.request.acks,
            zstd=self.context.version >= ZSTD_SINCE,
            timeout_s=self.request.timeout_ms / 1000,
            guard=None if admission is None else admission.guard(partition.at),
        )
        if isinstance(appended, Pending):
            return appended.then(partial(_row, data.index))
        return _row(data.index, appended)  # nearly always

    def refused(
        self, topic: TopicProduceData, data: PartitionProduceData, error: KafkaError
    ) -> PartitionProduceResponse:
        """Return the row of a batch that was not appended, or not acknowledged."""
        self.failure = self.failure or error
        row = PartitionProduceResponse(data.index, error.code, UNKNOWN_OFFSET)
        row.error_message = error.message
        if error.code is DENIED:
            return row  # whether the topic exists is secret
        partition = self.context[Replicas].find((self.key(topic), data.index))
        row.log_start_offset = start_offset_after(partition, error)
        if isinstance(error, BadRecordsError):
            row.record_errors = [BatchIndexAndErrorMessage(*bad) for bad in error.records]
        if error.code in LED_ELSEWHERE and partition and self.context.version >= LEADERS_SINCE:
            row.current_leader = LeaderIdAndEpoch(partition.leader, partition.leader_epoch)
            self.leaders.add(partition.leader)
        return row

    def answer(self, topics: list[TopicProduceResponse]) -> ProduceResponse | None:
        """Return the response. Without one, an error raises ProtocolError."""
        if self.request.acks == NO_ACKS:
            if error := self.failure:
                raise ProtocolError(f"acks=0, a partition has {error.code.name}: {error.message}")
            return None
        response = ProduceResponse(topics)
        if self.leaders:
            response.node_endpoints = self.context.endpoints(self.leaders, NodeEndpoint)
        return response


def _copy(batch: tuple[TopicProduceData, PartitionProduceData]) -> None:
    """Give a batch records of its own."""
    data = batch[1]
    if data.records is not None:
        data.records = memoryview(bytearray(data.records))


def _row(index: int, appended: Appended) -> PartitionProduceResponse:
    first_offset, _, append_time_ms, start_offset, _ = appended
    return PartitionProduceResponse(index, 0, first_offset, append_time_ms, start_offset)
