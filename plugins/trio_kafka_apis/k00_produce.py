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
from trio_kafka.metadata.endpoints import LeaderEndpoints
from trio_kafka.model import TopicId
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
from trio_kafka.records.validate import is_transactional
from trio_kafka.replication.leader.append import append_acknowledged, start_offset_after
from trio_kafka.replication.leader.transaction_gate import Admission, Admissions
from trio_kafka.replication.partition import LED_ELSEWHERE, UNKNOWN_OFFSET
from trio_kafka.replication.table import Replicas
from trio_kafka.requests.api import ANY_SIZE, api
from trio_kafka.requests.context import Context
from trio_kafka.requests.lazy_arrays import rows_of
from trio_kafka.requests.rows import Pairs, for_each, rows
from trio_kafka.security.operations import Operation

NO_ACKS: Final = 0
ACKS: Final = (NO_ACKS, 1, -1)
DENIED: Final = ErrorCode.TOPIC_AUTHORIZATION_FAILED
ZSTD_SINCE: Final = 7  # KIP-110
LEADERS_SINCE: Final = 10  # KIP-951
ABORTABLE_SINCE: Final = 11  # KIP-890: clients know TRANSACTION_ABORTABLE
ADDS_SINCE: Final = 12  # KIP-890: Produce adds partitions to the transaction
IDS_SINCE: Final = 13  # KIP-516
_partitions: Final = attrgetter("partition_data")
AppendAll: TypeAlias = "Callable[[], Eventual[ProduceResponse | None]]"


def say_error(
    request: ProduceRequest, code: ErrorCode, message: str | None
) -> ProduceResponse | None:
    """Return the error for each partition; None with acks=0, which has no response."""
    if request.acks == NO_ACKS:
        return None

    def of_topic(topic: TopicProduceData) -> TopicProduceResponse:
        rows = rows_of(topic.partition_data, lambda data: _error(data.index, code, message))
        return _topic(topic, rows)

    return ProduceResponse(responses=rows_of(request.topic_data, of_topic))


@api(ProduceRequest, largest=ANY_SIZE, error=say_error)
def produce(request: ProduceRequest, context: Context) -> Eventual[ProduceResponse | None]:
    if request.acks not in ACKS:
        reason = f"acks {request.acks}, want 0, 1 or -1"
        raise KafkaError(ErrorCode.INVALID_REQUIRED_ACKS, reason)
    produce = _Produce(request, context)
    append_all = partial(
        rows,
        request.topic_data,
        _partitions,
        produce.append,
        produce.answer,
        group=_topic,
        refused=produce.refused,
    )
    if context.allows_all:
        return append_all() if request.transactional_id is None else produce.admit(append_all)
    append_allowed = partial(append_all, permission=produce.authorize)
    return for_each(produce.batches, produce.check, partial(produce.admit, append_allowed))


@define(eq=False)
class _Produce:
    """One request. leaders: those to be named in the response, from the first error on. admission:
    of its transactional batches, once it was asked for.
    """

    request: ProduceRequest
    context: Context
    leaders: LeaderEndpoints | None = field(default=None, init=False)
    admission: Admission | None = field(default=None, init=False)

    @property
    def batches(self) -> Pairs[TopicProduceData, PartitionProduceData]:
        return Pairs(self.request.topic_data, _partitions)

    def check(self, batch: tuple[TopicProduceData, PartitionProduceData]) -> None:
        """Raise KafkaError(TRANSACTIONAL_ID_AUTHORIZATION_FAILED) for what may not be written."""
        if is_transactional(batch[1].records):
            transactional_id = self.request.transactional_id
            if transactional_id is None:
                raise KafkaError(ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED)
            self.context.authorize(Operation.WRITE, transactional_id=transactional_id)

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
        return for_each(self.batches, self._begin, partial(self._ask, admission, append_all))

    def _begin(self, batch: tuple[TopicProduceData, PartitionProduceData]) -> None:
        topic, data = batch
        name = TopicId(topic.topic_id) if self.context.version >= IDS_SINCE else topic.name
        partition = self.context[Replicas].find(name, data.index)
        if self.admission is None or partition is None:
            return
        if self.context.is_authorized(Operation.WRITE, topic=partition.at.topic):
            self.admission.begin(partition, data.records)

    def _ask(self, admission: Admission, append_all: AppendAll) -> Eventual[ProduceResponse | None]:
        verdict = admission.ask()
        if not isinstance(verdict, Pending):
            return append_all()
        # A parked request keeps no frame, in which the records are.
        return for_each(self.batches, _copy, lambda: verdict.then(lambda _: append_all()))

    def authorize(self, topic: TopicProduceData) -> None:
        """Raise KafkaError for a topic that the client may not write; a topic's id is no secret.

        The error has no message, which would tell the name of an id.
        """
        name: str | None = topic.name
        if self.context.version >= IDS_SINCE:
            name = self.context.image.topic_names.get(TopicId(topic.topic_id))
        if name is not None and not self.context.is_authorized(Operation.WRITE, topic=name):
            raise KafkaError(DENIED)

    def append(
        self, topic: TopicProduceData, data: PartitionProduceData
    ) -> Eventual[PartitionProduceResponse]:
        """Append one batch. Raises KafkaError."""
        version = self.context.version
        name = TopicId(topic.topic_id) if version >= IDS_SINCE else topic.name
        partition = self.context[Replicas].partition(name, data.index)
        admission = self.admission
        appended = append_acknowledged(
            partition,
            data.records,
            acks=self.request.acks,
            zstd=version >= ZSTD_SINCE,
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
        context, version = self.context, self.context.version
        row = _error(data.index, error.code, error.message)
        if error.code is DENIED:
            return row  # whether the topic exists is secret
        name = TopicId(topic.topic_id) if version >= IDS_SINCE else topic.name
        partition = context[Replicas].find(name, data.index)
        row.log_start_offset = start_offset_after(partition, error)
        if isinstance(error, BadRecordsError):
            row.record_errors = [BatchIndexAndErrorMessage(*bad) for bad in error.records]
        if version >= LEADERS_SINCE and error.code in LED_ELSEWHERE and partition:
            row.current_leader = LeaderIdAndEpoch(partition.leader, partition.leader_epoch)
            self.leaders = self.leaders or LeaderEndpoints(context.image, context.listener)
            self.leaders.add(partition.leader)
        return row

    def answer(self, topics: list[TopicProduceResponse]) -> ProduceResponse | None:
        """Return the response. Without one, an error raises ProtocolError."""
        if self.request.acks == NO_ACKS:
            _end_on_error(topics)
            return None
        response = ProduceResponse(topics)
        if self.leaders is not None:
            response.node_endpoints = [
                NodeEndpoint(leader.node, leader.host, leader.port, leader.rack)
                for leader in self.leaders
            ]
        return response


def _copy(batch: tuple[TopicProduceData, PartitionProduceData]) -> None:
    """Give a batch records of its own."""
    data = batch[1]
    if data.records is not None:
        data.records = memoryview(bytearray(data.records))


def _topic(
    topic: TopicProduceData, partitions: list[PartitionProduceResponse]
) -> TopicProduceResponse:
    return TopicProduceResponse(topic.name, topic.topic_id, partitions)


def _row(index: int, appended: Appended) -> PartitionProduceResponse:
    first_offset, _, append_time_ms, start_offset, _ = appended
    return PartitionProduceResponse(index, 0, first_offset, append_time_ms, start_offset)


def _error(index: int, code: ErrorCode, message: str | None) -> PartitionProduceResponse:
    return PartitionProduceResponse(index, code, UNKNOWN_OFFSET, error_message=message)


def _end_on_error(topics: list[TopicProduceResponse]) -> None:
    for topic in topics:
        for row in topic.partition_responses:
            if row.error_code:
                code = ErrorCode(row.error_code).name
                raise ProtocolError(f"acks=0, and a partition has {code}: {row.error_message}")
