"""Rows of each broker's fetch session: which partition is fetched from which broker. Does no I/O.

Rows change only for partitions that were touched. A partition is fetched from its leader, or from a
nearer replica that the leader has named (KIP-392), if it has a valid position, is read, and less
than `max.partition.fetch.bytes` of it are buffered.
"""

from collections.abc import Callable
from typing import Final

from attrs import field

from trio_kafka.attributes import define, frozen
from trio_kafka.clients.consumer.partition_state import PartitionState, Phase
from trio_kafka.clients.consumer.positions import Positions
from trio_kafka.clients.consumer.session import FetchRow, FetchSession
from trio_kafka.clients.metadata.cache import MetadataCache
from trio_kafka.model import TopicPartition
from trio_kafka.peers.backoff import Backoff

_NEVER: Final = float("inf")


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


@define(eq=False)
class NodeFetch:
    """Session with one broker. reserved: bytes that the request in flight may bring, or None."""

    session: FetchSession = field(factory=FetchSession)
    reserved: int | None = None
    failures: int = 0
    not_before: float = float("-inf")


@define(eq=False, kw_only=True)
class FetchRows:
    """Rows to fetch, by broker.

    resolve: called with a partition that needs a position. is_stale: True if the metadata must be
    refreshed; the shell takes it back.
    """

    positions: Positions
    cache: MetadataCache
    limits: FetchLimits
    backoff: Backoff
    resolve: Callable[[PartitionState], None]
    is_stale: bool = field(default=False, init=False)
    nodes: dict[int, NodeFetch] = field(factory=dict, init=False)
    _placed: dict[TopicPartition, int] = field(factory=dict, init=False)
    _waiting: dict[PartitionState, float] = field(factory=dict, init=False)
    # Until when replicas are read. No timer: a long poll ends soon enough after that.
    _replicas: dict[PartitionState, float] = field(factory=dict, init=False)
    _updates: int = field(default=-1, init=False)

    def update(self, now: float) -> None:
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

    def next_time(self) -> float:
        """Return the time at which a partition may be fetched again; infinite: none waits."""
        return min(self._waiting.values(), default=_NEVER)

    def wait(self, state: PartitionState, now: float) -> None:
        """Fetch a partition only after its back-off."""
        state.failures += 1
        self._waiting[state] = now + self.backoff.pause_s(state.failures, 0.5)
        self.positions.changed(state)

    def pause(self, node: NodeFetch, now: float) -> None:
        """Ask a broker only after its back-off."""
        node.failures += 1
        node.not_before = now + self.backoff.pause_s(node.failures, 0.5)

    def read_replica(self, state: PartitionState, node: int, now: float) -> None:
        """Fetch a partition from a nearer replica, for some time."""
        state.replica = node
        state.replica_until = self._replicas[state] = now + self.limits.replica_s
        self.positions.changed(state)

    def leave_replica(self, state: PartitionState) -> None:
        """Fetch a partition from its leader again."""
        state.replica = None
        self.positions.changed(state)

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
