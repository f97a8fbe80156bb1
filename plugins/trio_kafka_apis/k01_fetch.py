"""Fetch (key 1): return stored batches of each partition, from an offset on.

Waits in the purgatory for `min_bytes`, an error or a diverging epoch, at most `max_wait_ms`, and
holds nothing meanwhile. The response carries file ranges; records are never read here. A consumer
sees committed records only, and with read_committed nothing of an open transaction. A session
(KIP-227) names only the partitions that changed: see `replication.leader.sessions`.

A consumer needs READ on each topic. A follower needs CLUSTER_ACTION on the cluster. Both are
denied by TOPIC_AUTHORIZATION_FAILED for each partition, which a session repeats until it is gone.
"""

from collections.abc import Callable
from operator import attrgetter
from typing import Final

from attrs import field

from trio_kafka.attributes import define
from trio_kafka.errors import ErrorCode
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
    ForgottenTopic,
    PartitionData,
)
from trio_kafka.replication.leader.fetch import FetchAnswer, limits_of
from trio_kafka.replication.leader.fetches import Fetches, Resolve, readable, readable_by_none
from trio_kafka.replication.leader.read import Isolation, PartitionFetch, PartitionRead
from trio_kafka.replication.leader.sessions import FetchKey
from trio_kafka.replication.table import Replicas
from trio_kafka.requests.api import MANY_PARTITIONS, api
from trio_kafka.requests.context import Context
from trio_kafka.requests.current_leaders import leader_endpoints, name_leader
from trio_kafka.requests.lazy_arrays import in_columns
from trio_kafka.requests.rows import Pairs, for_each
from trio_kafka.requests.throttling.throttle import Throttle
from trio_kafka.security.operations import Operation

LEADERS_SINCE: Final = 12
IDS_SINCE: Final = 13  # KIP-516
ENDPOINTS_SINCE: Final = 16  # KIP-951
COMMITTED: Final = Isolation.READ_COMMITTED
MANY: Final = 500  # partitions of a response that is made at once
# Errors with an empty list of aborted transactions; with other errors it is null.
NOT_READ: Final = (
    ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
    ErrorCode.UNKNOWN_TOPIC_ID,
    ErrorCode.TOPIC_AUTHORIZATION_FAILED,
)
_partitions: Final = attrgetter("partitions")
_name: Final = attrgetter("topic")
_id: Final = attrgetter("topic_id")


@api(FetchRequest, largest=MANY_PARTITIONS)
def fetch(request: FetchRequest, context: Context) -> Eventual[FetchResponse]:
    fetch = _Fetch(request, context, _id if context.version >= IDS_SINCE else _name)
    return for_each(Pairs(request.topics, _partitions), fetch.read_row, fetch.begin)


@define(eq=False)
class _Fetch:
    """One request. key: name or id of a topic. topic, rows: the last ones of the response."""

    request: FetchRequest
    context: Context
    key: Callable[[FetchTopic | ForgottenTopic], TopicId | str]
    partitions: dict[FetchKey, PartitionFetch] = field(factory=dict, init=False)
    response: FetchResponse = field(init=False)
    topic: TopicId | str | None = field(default=None, init=False)
    rows: list[PartitionData] = field(init=False)
    leaders: set[NodeId] = field(factory=set, init=False)  # to be named in the response

    def read_row(self, row: tuple[FetchTopic, FetchPartition]) -> None:
        """Add a partition to those that are fetched."""
        topic, partition = row
        self.partitions[self.key(topic), partition.partition] = PartitionFetch(
            partition.fetch_offset,
            partition.partition_max_bytes,
            partition.current_leader_epoch,
            partition.last_fetched_epoch,
            partition.log_start_offset,
        )

    def begin(self) -> Eventual[FetchResponse]:
        """Fetch in the session. Raises KafkaError for an unknown isolation level."""
        request, context = self.request, self.context
        replica = max(request.replica_id, request.replica_state.replica_id)  # a version has one
        most = min(request.max_bytes, context.config.fetch_max_bytes)
        most, admit = context[Throttle].limits_of_fetch(context.request, most, replica >= 0)
        forgotten = Pairs(request.forgotten_topics_data, _partitions)
        answer = context[Fetches].begin(
            self.partitions,
            limits_of(
                request.min_bytes,
                most,
                request.isolation_level,
                max_wait_s=request.max_wait_ms / 1000,
                replica=replica,
                admit=admit,
            ),
            session_id=request.session_id,
            session_epoch=request.session_epoch,  # before version 7: FINAL_EPOCH
            forget=[(self.key(topic), number) for topic, number in forgotten],
            uses_ids=context.version >= IDS_SINCE,
            resolve=None if context.allows_all else self.resolver(is_follower=replica >= 0),
        )
        return then(answer, self.respond)

    def resolver(self, *, is_follower: bool) -> Resolve | None:
        """Return a function that finds what the client may read; None: it may read all."""
        may, replicas = self.context.is_authorized, self.context[Replicas]
        if not is_follower:
            return readable(replicas, lambda name: may(Operation.READ, topic=name))
        return None if may(Operation.CLUSTER_ACTION, cluster=True) else readable_by_none

    def respond(self, answer: FetchAnswer) -> Eventual[FetchResponse]:
        """Return the response, with the bytes of `answer`."""
        self.response = FetchResponse(answer.throttled_ms, 0, answer.session_id)
        if answer.error is not None:
            self.response.error_code = answer.error.code
        return for_each(answer.parts, self.add, self.finished, discard=answer.release, at_once=MANY)

    def add(self, part: tuple[FetchKey, PartitionRead]) -> None:
        """Add what was read from one partition. Adjacent ones of one topic share a row."""
        (topic, number), read = part
        if topic != self.topic:
            self.topic, self.rows = topic, []
            name, topic_id = (topic, ZERO_TOPIC_ID) if isinstance(topic, str) else ("", topic)
            self.response.responses.append(FetchableTopicResponse(name, topic_id, self.rows))
        # By position, then one by one: with names it takes three times as long.
        row = PartitionData(
            number, 0, read.high_watermark, read.last_stable_offset, read.start_offset
        )
        row.records = b"" if read.range is None else read.range
        if read.error is not None:
            row.error_code = read.error.code
            if row.error_code not in NOT_READ:
                row.aborted_transactions = None
            if self.context.version >= LEADERS_SINCE:
                name_leader(row, self.context, part[0], self.leaders)
        elif self.request.isolation_level != COMMITTED:
            row.aborted_transactions = None
        elif read.aborted:
            row.aborted_transactions = in_columns(
                AbortedTransaction, (read.aborted.producer_ids, read.aborted.first_offsets)
            )
        if read.diverging is not None:
            row.diverging_epoch = EpochEndOffset(read.diverging.epoch, read.diverging.end_offset)
        self.rows.append(row)

    def finished(self) -> FetchResponse:
        """Return the response."""
        if self.leaders and self.context.version >= ENDPOINTS_SINCE:
            self.response.node_endpoints = leader_endpoints(self.context, self.leaders)
        return self.response
