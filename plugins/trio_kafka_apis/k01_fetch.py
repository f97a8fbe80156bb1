"""Fetch (key 1): return stored batches of each partition, from an offset on.

Waits in the purgatory for `min_bytes`, an error or a diverging epoch, at most `max_wait_ms`, and
holds nothing meanwhile. The response carries file ranges; records are never read here. A consumer
sees committed records only, and with read_committed nothing of an open transaction. A session
(KIP-227) names only the partitions that changed: see `replication.leader.sessions`.

A consumer needs READ on each topic. A follower needs CLUSTER_ACTION on the cluster. Both are
denied by TOPIC_AUTHORIZATION_FAILED for each partition, which a session repeats until it is gone.
"""

from collections.abc import Callable
from functools import partial
from operator import attrgetter
from typing import Final

from attrs import field

from trio_kafka.attributes import define
from trio_kafka.errors import ErrorCode
from trio_kafka.metadata.endpoints import LeaderEndpoints
from trio_kafka.model import ZERO_TOPIC_ID, NodeId, TopicId
from trio_kafka.pending import Eventual, then
from trio_kafka.protocol.messages.k01_fetch import (
    AbortedTransaction,
    EpochEndOffset,
    FetchableTopicResponse,
    FetchPartition,
    FetchRequest,
    FetchResponse,
    FetchTopic,
    LeaderIdAndEpoch,
    NodeEndpoint,
    PartitionData,
)
from trio_kafka.replication.leader.fetch import FetchAnswer, FetchLimits, Reads, response_size
from trio_kafka.replication.leader.fetches import Fetches, readable, readable_by_none
from trio_kafka.replication.leader.read import (
    Isolation,
    PartitionFetch,
    PartitionRead,
    isolation_of,
)
from trio_kafka.replication.leader.sessions import FetchKey
from trio_kafka.replication.partition import LED_ELSEWHERE, Partition
from trio_kafka.replication.table import Replicas
from trio_kafka.requests.api import MANY_PARTITIONS, api
from trio_kafka.requests.context import Context
from trio_kafka.requests.rows import Pairs, for_each
from trio_kafka.requests.throttling.throttle import Throttle
from trio_kafka.security.operations import Operation

LEADERS_SINCE: Final = 12
IDS_SINCE: Final = 13  # KIP-516
REPLICA_STATE_SINCE: Final = 15  # KIP-903
ENDPOINTS_SINCE: Final = 16  # KIP-951
NOTHING: Final = b""
# Errors with an empty list of aborted transactions; with other errors it is null.
NOT_READ: Final = (
    ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
    ErrorCode.UNKNOWN_TOPIC_ID,
    ErrorCode.TOPIC_AUTHORIZATION_FAILED,
)
_partitions: Final = attrgetter("partitions")
MANY: Final = 500  # partitions of a response that is made at once


@api(FetchRequest, largest=MANY_PARTITIONS)
def fetch(request: FetchRequest, context: Context) -> Eventual[FetchResponse]:
    partitions: dict[FetchKey, PartitionFetch] = {}
    uses_ids = context.version >= IDS_SINCE

    def want(row: tuple[FetchTopic, FetchPartition]) -> None:
        topic, partition = row
        partitions[TopicId(topic.topic_id) if uses_ids else topic.topic, partition.partition] = (
            PartitionFetch(
                partition.fetch_offset,
                partition.partition_max_bytes,
                partition.current_leader_epoch,
                partition.last_fetched_epoch,
                partition.log_start_offset,
            )
        )

    return for_each(
        Pairs(request.topics, _partitions), want, partial(_begin, request, context, partitions)
    )


def _begin(
    request: FetchRequest, context: Context, partitions: dict[FetchKey, PartitionFetch]
) -> Eventual[FetchResponse]:
    uses_ids = context.version >= IDS_SINCE
    isolation = isolation_of(request.isolation_level)
    limits = _limits(request, isolation, context)
    answer = context[Fetches].begin(
        partitions,
        limits,
        session_id=request.session_id,
        session_epoch=request.session_epoch,  # before version 7: FINAL_EPOCH
        forget=_forgotten(request, uses_ids=uses_ids) if request.forgotten_topics_data else (),
        uses_ids=uses_ids,
        resolve=None if context.allows_all else _resolver(context, limits.follower),
    )
    return then(answer, partial(_respond, isolation, context))


def _forgotten(request: FetchRequest, *, uses_ids: bool) -> list[FetchKey]:
    return [
        (TopicId(topic.topic_id) if uses_ids else topic.topic, number)
        for topic in request.forgotten_topics_data
        for number in topic.partitions
    ]


def _limits(request: FetchRequest, isolation: Isolation, context: Context) -> FetchLimits:
    """Return the limits of a consumer's or a follower's fetch."""
    has_state = context.version >= REPLICA_STATE_SINCE
    replica = request.replica_state.replica_id if has_state else request.replica_id
    most = min(request.max_bytes, context.config.fetch_max_bytes)
    admit: Callable[[Reads], int] | None = None
    quotas = context[Throttle]
    if quotas.active:
        if replica < 0:
            most = min(most, quotas.fetch_limit(context.request))
            admit = partial(_admit, context)
        else:
            quotas.exempt(context.request)
    return FetchLimits(
        min(request.min_bytes, most),
        most,
        isolation if replica < 0 else Isolation.LOG_END,
        request.max_wait_ms / 1000,
        NodeId(replica) if replica >= 0 else None,
        admit,
    )


def _admit(context: Context, reads: Reads) -> int:
    """Return the ms that the client must wait before it may get these records."""
    return context[Throttle].admit_fetch(context.request, response_size(reads))


def _resolver(context: Context, follower: NodeId | None) -> Callable[[FetchKey], Partition] | None:
    """Return a function that finds a partition which the client may read; None: it may read all."""
    if follower is None:
        may_read = partial(context.is_authorized, Operation.READ)
        return readable(context[Replicas], lambda name: may_read(topic=name))
    serves_all = context.is_authorized(Operation.CLUSTER_ACTION, cluster=True)
    return None if serves_all else readable_by_none


def _respond(
    isolation: Isolation, context: Context, answer: FetchAnswer
) -> Eventual[FetchResponse]:
    response = FetchResponse(answer.throttled_ms, 0, answer.session_id)
    if answer.error is not None:
        response.error_code = answer.error.code
        return response
    writer = _ResponseWriter(response, isolation is Isolation.READ_COMMITTED, context)
    return for_each(answer.parts, writer.add, writer.finished, discard=answer.release, at_once=MANY)


@define(eq=False)
class _ResponseWriter:
    """Writer of a response. Adjacent partitions of one topic share a row; their order is kept.

    topic: that of `row`. leaders: those to be named in the response, from the first error on.
    """

    response: FetchResponse
    is_committed: bool
    context: Context
    topic: TopicId | str | None = field(default=None, init=False)
    row: list[PartitionData] = field(factory=list, init=False)
    leaders: LeaderEndpoints | None = field(default=None, init=False)

    def add(self, part: tuple[FetchKey, PartitionRead]) -> None:
        """Add what was read from one partition."""
        (topic, number), read = part
        if topic != self.topic:
            self.topic, self.row = topic, []
            name, topic_id = (topic, ZERO_TOPIC_ID) if isinstance(topic, str) else ("", topic)
            self.response.responses.append(FetchableTopicResponse(name, topic_id, self.row))
        data = _partition(number, read, is_committed=self.is_committed)
        is_elsewhere = read.error is not None and read.error.code in LED_ELSEWHERE
        if is_elsewhere and self.context.version >= LEADERS_SINCE:
            self._name_leader(part[0], data)
        self.row.append(data)

    def _name_leader(self, key: FetchKey, data: PartitionData) -> None:
        topic = self.context.image.topic(key[0])
        state = None if topic is None else topic.partitions.get(key[1])
        if state is not None:
            data.current_leader = LeaderIdAndEpoch(state.leader, state.leader_epoch)
            context = self.context
            self.leaders = self.leaders or LeaderEndpoints(context.image, context.listener)
            self.leaders.add(state.leader)

    def finished(self) -> FetchResponse:
        """Return the response."""
        if self.leaders is not None and self.context.version >= ENDPOINTS_SINCE:
            self.response.node_endpoints = [
                NodeEndpoint(leader.node, leader.host, leader.port, leader.rack)
                for leader in self.leaders
            ]
        return self.response


def _partition(number: int, read: PartitionRead, *, is_committed: bool) -> PartitionData:
    error = read.error
    lists_aborted = is_committed if error is None else error.code in NOT_READ
    # By position, then one by one: with names it takes three times as long.
    data = PartitionData(
        number,
        0 if error is None else error.code,
        read.high_watermark,
        read.last_stable_offset,
        read.start_offset,
    )
    data.records = NOTHING if read.range is None else read.range
    if not lists_aborted:
        data.aborted_transactions = None
    if read.aborted and is_committed:
        data.aborted_transactions = [
            AbortedTransaction(aborted.producer_id, aborted.first_offset)
            for aborted in read.aborted
        ]
    if read.diverging is not None:
        data.diverging_epoch = EpochEndOffset(read.diverging.epoch, read.diverging.end_offset)
    return data
