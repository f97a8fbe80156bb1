"""Fetch requests by broker, and what their responses mean. Does no I/O.

Theory of operation. Each broker has a session with the rows to fetch, and at most one request in
flight. Rows change only for partitions that were touched. A partition is fetched ahead of its
reader until `max.partition.fetch.bytes` of it are buffered. All brokers share `fetch.max.bytes`:
a request asks for half of a broker's share, so that the next one can be in flight while the first
one is read. Only the first batch of a response may be larger, as Kafka has it.
A response counts for a partition only if its next offset and its leader epoch are still those of
the request: a seek, a revocation or a new leader meanwhile makes it void.
"""

from collections.abc import Callable, Mapping
from typing import Final

from attrs import field

from trio_kafka.attributes import define, frozen
from trio_kafka.clients.consumer.fetched import FetchedData, whole_end
from trio_kafka.clients.consumer.positions import PartitionState, Phase, Positions
from trio_kafka.clients.consumer.session import FetchRow, FetchSession
from trio_kafka.clients.errors import (
    Place,
    RecordTooLargeError,
    client_error,
    error_of,
)
from trio_kafka.clients.metadata.cache import MetadataCache
from trio_kafka.errors import ErrorCode, KafkaError
from trio_kafka.model import TopicPartition
from trio_kafka.peers.backoff import Backoff
from trio_kafka.protocol.messages.k01_fetch import FetchRequest, FetchResponse, PartitionData

_NEVER: Final = float("inf")
# The user need not know of these: another attempt, at another leader maybe, will do.
_PASSING: Final = frozenset(
    {
        ErrorCode.FENCED_LEADER_EPOCH,
        ErrorCode.UNKNOWN_LEADER_EPOCH,
        ErrorCode.INCONSISTENT_TOPIC_ID,
        ErrorCode.UNKNOWN_TOPIC_ID,
        ErrorCode.UNKNOWN_SERVER_ERROR,
    }
)
_OF_SESSIONS: Final = frozenset(
    {ErrorCode.FETCH_SESSION_ID_NOT_FOUND, ErrorCode.INVALID_FETCH_SESSION_EPOCH}
)


@frozen(kw_only=True)
class FetchLimits:
    """Settings of fetches. isolation: 1: read_committed. replica_s: time for a nearer replica."""

    max_bytes: int
    partition_bytes: int
    min_bytes: int
    max_wait_ms: int
    isolation: int = 0
    rack: str = ""
    checks_crc: bool = True
    replica_s: float = 300.0


@frozen(kw_only=True)
class FetchAttempt:
    """A request to one broker, and the rows of its session when it was sent."""

    node: int
    target: "NodeFetch"
    request: FetchRequest
    at_most: int | None
    rows: Mapping[TopicPartition, FetchRow]


@define(eq=False)
class NodeFetch:
    """Session with one broker. reserved: bytes that the request in flight may bring, or None."""

    session: FetchSession = field(factory=FetchSession)
    reserved: int | None = None
    failures: int = 0
    not_before: float = float("-inf")


@define(eq=False, kw_only=True)
class FetchRequests:
    """Plans of the next Fetch to each broker.

    resolve: called with a partition that needs a position. is_stale: True if the metadata must be
    refreshed; the shell takes it back.
    """

    positions: Positions
    cache: MetadataCache
    limits: FetchLimits
    backoff: Backoff
    resolve: Callable[[PartitionState], None]
    is_stale: bool = field(default=False, init=False)
    is_short: bool = field(default=False, init=False)  # of memory
    nodes: dict[int, NodeFetch] = field(factory=dict, init=False)
    _placed: dict[TopicPartition, int] = field(factory=dict, init=False)
    _waiting: dict[PartitionState, float] = field(factory=dict, init=False)
    # Until when replicas are read. No timer: a long poll ends soon enough after that.
    _replicas: dict[PartitionState, float] = field(factory=dict, init=False)
    _updates: int = field(default=-1, init=False)

    # --- requests

    def due(self, now: float) -> list[FetchAttempt]:
        """Return the requests to send now."""
        self._place_all(now)
        attempts = []
        self.is_short = False
        share = self._share()
        for number, node in self.nodes.items():
            if node.reserved is not None or not node.session.rows or node.not_before > now:
                continue
            if not self._fits(share):
                self.is_short = True
                break
            node.reserved = share
            attempts.append(self._attempt(number, node, share))
        return attempts

    def next_time(self) -> float:
        """Return the time at which `due` may return more without an answer; infinite: none."""
        times = list(self._waiting.values())
        if not self.is_short:
            times += [
                node.not_before
                for node in self.nodes.values()
                if node.reserved is None and node.session.rows
            ]
        return min(times, default=_NEVER)

    def relieve(self, is_awaited: Callable[[PartitionState], bool]) -> None:
        """Drop buffers that no reader awaits, if they take the room of awaited partitions."""
        if self.is_short:
            for state in self.positions.states.values():
                if state.buffer and not is_awaited(state):
                    self.positions.shed(state)

    def _share(self) -> int:
        active = sum(bool(node.session.rows) for node in self.nodes.values())
        return max(self.limits.max_bytes // max(2 * active, 1), 1)

    def _fits(self, share: int) -> bool:
        reserved = sum(node.reserved or 0 for node in self.nodes.values())
        total = self.positions.buffered + reserved
        return total + share <= self.limits.max_bytes or not total

    def _attempt(self, number: int, node: NodeFetch, share: int) -> FetchAttempt:
        limits = self.limits
        template = FetchRequest(
            max_wait_ms=limits.max_wait_ms,
            min_bytes=limits.min_bytes,
            max_bytes=share,
            isolation_level=limits.isolation,
            rack_id=limits.rack,
        )
        request, at_most = node.session.request(template)
        rows = dict(node.session.rows)
        return FetchAttempt(node=number, target=node, request=request, at_most=at_most, rows=rows)

    def _place_all(self, now: float) -> None:
        """Bring the rows up to date."""
        touched = self.positions.touched
        if self._updates != self.cache.updates:
            self._updates = self.cache.updates
            touched.update(dict.fromkeys(self.positions.states.values()))
            for number in [n for n in self.nodes if n not in self.cache.brokers]:
                del self.nodes[number]
        for times in (self._waiting, self._replicas):
            for state, until in list(times.items()):
                if until <= now:
                    del times[state]
                    touched[state] = None
        while touched:
            state, _ = touched.popitem()
            self._place(state, now)

    def _place(self, state: PartitionState, now: float) -> None:
        at = state.at
        current = self.positions.states.get(at)
        if current is not state:
            if current is None:
                self._set(at, None, None)
            return
        if state.phase in {Phase.RESET, Phase.VALIDATE}:
            self.resolve(state)
        leader = self.cache.leader(at.topic, at.partition) if state.is_fetchable else None
        if leader is None:
            self.is_stale |= state.is_fetchable
            self._set(at, None, None)
            return
        if leader.epoch > state.leader_epoch:
            if state.position is not None and state.position.epoch >= 0:
                self.positions.validate(state)
                return
            state.leader_epoch = leader.epoch
        start = state.fetch_from
        is_full = state.buffered >= self.limits.partition_bytes and bool(state.buffer)
        if start is None or is_full or state.shed or self._waiting.get(state, now) > now:
            self._set(at, None, None)
            return
        row = FetchRow(
            self.cache.topics[at.topic].topic_id,
            start.offset,
            state.leader_epoch,
            self.limits.partition_bytes,
        )
        self._set(at, self._node_of(state, leader.node, now), row)

    def _node_of(self, state: PartitionState, leader: int, now: float) -> int:
        if state.replica is not None and (
            state.replica_until <= now or state.replica not in self.cache.brokers
        ):
            state.replica = None
        return leader if state.replica is None else state.replica

    def _set(self, at: TopicPartition, number: int | None, row: FetchRow | None) -> None:
        before = self._placed.get(at)
        if before is not None and before != number:
            del self._placed[at]
            if before in self.nodes:
                self.nodes[before].session.set(at, None)
        if number is not None:
            self._placed[at] = number
            if number not in self.nodes:
                self.nodes[number] = NodeFetch()
            self.nodes[number].session.set(at, row)

    # --- responses

    def answered(self, attempt: FetchAttempt, response: FetchResponse, now: float) -> None:
        """Take a response."""
        node = attempt.target
        node.reserved = None
        code = error_of(response.error_code)
        if code:
            node.session.failed(code)
            self.is_stale |= code not in _OF_SESSIONS
            self._pause(node, now)
            return
        node.failures, node.not_before = 0, float("-inf")
        node.session.succeeded(response.session_id)
        for topic in response.responses:
            name = topic.topic or self.cache.name_of(topic.topic_id)
            for part in topic.partitions:
                at = TopicPartition(name or "", part.partition_index)
                row, state = attempt.rows.get(at), self.positions.states.get(at)
                if row is not None and state is not None and _is_valid(state, row):
                    self._take(state, part, attempt.node, now)

    def failed(self, attempt: FetchAttempt, now: float) -> None:
        """Note a request without a response."""
        node = attempt.target
        node.reserved = None
        node.session.failed()
        self.is_stale = True
        self._pause(node, now)
        for at in attempt.rows:
            state = self.positions.states.get(at)
            if state is not None and state.replica == attempt.node:
                state.replica = None
                self.positions.changed(state)

    def _pause(self, node: NodeFetch, now: float) -> None:
        node.failures += 1
        node.not_before = now + self.backoff.pause_s(node.failures, 0.5)

    def _take(self, state: PartitionState, part: PartitionData, node: int, now: float) -> None:
        code = error_of(part.error_code)
        if code:
            self._rejected(state, code, node, now)
            return
        state.failures = 0
        state.high_watermark = part.high_watermark
        state.last_stable = part.last_stable_offset
        if part.log_start_offset >= 0:
            state.log_start = part.log_start_offset
        if part.preferred_read_replica >= 0 and part.preferred_read_replica != node:
            state.replica = part.preferred_read_replica
            state.replica_until = self._replicas[state] = now + self.limits.replica_s
            self.positions.changed(state)
        data = part.records
        if isinstance(data, memoryview) and len(data):
            self._add(state, data, part, now)

    def _add(
        self, state: PartitionState, data: memoryview, part: PartitionData, now: float
    ) -> None:
        start = state.fetch_from
        if start is None:
            return
        place = Place(topic=state.at.topic, partition=state.at.partition)
        try:
            end = whole_end(data, start)
        except KafkaError as error:
            self.positions.failed(state, client_error(error.code, error.message, place=place))
            self._wait(state, now)
            return
        if end == start:
            reason = f"the batch at {start.offset} is larger than the response of {len(data)} bytes"
            self.positions.failed(state, RecordTooLargeError(reason, place=place))
            self._wait(state, now)
            return
        aborted = [(row.producer_id, row.first_offset) for row in part.aborted_transactions or ()]
        fetched = FetchedData(
            data,
            start,
            end,
            aborted if self.limits.isolation else (),
            checks_crc=self.limits.checks_crc,
        )
        self.positions.fetched(state, fetched)

    def _rejected(self, state: PartitionState, code: ErrorCode, node: int, now: float) -> None:
        if code is ErrorCode.OFFSET_OUT_OF_RANGE:
            if state.replica == node:  # a follower may be behind: the leader decides
                state.replica = None
                self.positions.changed(state)
            elif state.buffer:  # first the user gets what is buffered
                self._wait(state, now)
            else:
                self.positions.out_of_range(state)
            return
        state.replica = None
        self.is_stale = True
        if not code.retriable and code not in _PASSING:
            place = Place(topic=state.at.topic, partition=state.at.partition)
            self.positions.failed(state, client_error(code, place=place))
        self._wait(state, now)

    def _wait(self, state: PartitionState, now: float) -> None:
        state.failures += 1
        self._waiting[state] = now + self.backoff.pause_s(state.failures, 0.5)
        self.positions.changed(state)


def _is_valid(state: PartitionState, row: FetchRow) -> bool:
    """Return whether a response to a row is about the present position."""
    return (
        state.phase is Phase.FETCH
        and not state.revoking
        and state.fetch_from is not None
        and state.fetch_from.offset == row.offset
        and state.leader_epoch == row.leader_epoch
    )
