"""Partitions without a valid position: when to ask for it, and what the responses mean.

Does no I/O.

Source: OffsetFetcherUtils and OffsetsForLeaderEpochClient of Apache Kafka 4.4.0. Beyond them, a
reset by duration that finds no record begins at the end.
"""

from collections.abc import Sequence

from attrs import field

from trio_kafka.attributes import define, frozen
from trio_kafka.clients.consumer.offset_messages import (
    leader_epochs_request,
    list_offsets_request,
)
from trio_kafka.clients.consumer.partition_state import PartitionState, Phase
from trio_kafka.clients.consumer.positions import Positions
from trio_kafka.clients.consumer.values import Position
from trio_kafka.clients.errors import (
    ClientError,
    NoOffsetError,
    OffsetOutOfRangeError,
    Place,
    client_error,
    error_of,
)
from trio_kafka.clients.metadata.cache import MetadataCache
from trio_kafka.clients.metadata.values import PartitionLeader
from trio_kafka.clients.settings.reset import LATEST, OffsetReset
from trio_kafka.errors import ErrorCode
from trio_kafka.model import TopicPartition
from trio_kafka.peers.backoff import Backoff
from trio_kafka.protocol.messages.k02_list_offsets import ListOffsetsRequest, ListOffsetsResponse
from trio_kafka.protocol.messages.k23_offset_for_leader_epoch import (
    OffsetForLeaderEpochRequest,
    OffsetForLeaderEpochResponse,
)

Request = ListOffsetsRequest | OffsetForLeaderEpochRequest


@frozen(kw_only=True)
class OffsetAttempt:
    """A request to one broker, and the partitions that it is about with their versions."""

    node: int
    request: Request
    states: dict[TopicPartition, tuple[PartitionState, int, PartitionLeader]]


@define(eq=False, kw_only=True)
class OffsetRequests:
    """Partitions without a valid position, and the requests for them.

    is_stale: True if the metadata must be refreshed; the shell takes it back.
    """

    positions: Positions
    cache: MetadataCache
    reset: OffsetReset
    isolation: int
    backoff: Backoff
    is_stale: bool = field(default=False, init=False)
    _pending: dict[PartitionState, None] = field(factory=dict, init=False)

    def add(self, state: PartitionState) -> None:
        """Find or validate the position of a partition."""
        self._pending[state] = None

    def next_time(self) -> float:
        """Return the time at which `due` may return more; infinite: none."""
        return min((state.not_before for state in self._pending), default=float("inf"))

    def due(self, now: float, now_ms: int) -> list[OffsetAttempt]:
        """Return the requests to send now. now_ms: wall time, for a reset by duration."""
        rows: dict[tuple[int, Phase], list[tuple[PartitionState, PartitionLeader]]] = {}
        for state in list(self._pending):
            if self.positions.states.get(state.at) is not state or state.phase not in _PHASES:
                del self._pending[state]
            elif state.not_before <= now:
                leader = self.cache.leader(state.at.topic, state.at.partition)
                if leader is None or (state.phase is Phase.RESET and not self._can_reset(state)):
                    self._retry(state, now)
                else:
                    rows.setdefault((leader.node, state.phase), []).append((state, leader))
                    del self._pending[state]
        return [self._attempt(node, phase, part, now_ms) for (node, phase), part in rows.items()]

    def _can_reset(self, state: PartitionState) -> bool:
        if state.reset_timestamp is not None or self.reset.timestamp_at(0) is not None:
            return True
        place = Place(topic=state.at.topic, partition=state.at.partition)
        error: ClientError
        if state.lost is None:
            reason = "no committed offset, and auto.offset.reset is none: seek to an offset"
            error = NoOffsetError(reason, place=place)
        else:
            reason = f"offset {state.lost.offset} is not in the log: seek to another one"
            error = OffsetOutOfRangeError(reason, place=place)
        self.positions.failed(state, error)
        return False

    def _attempt(
        self,
        node: int,
        phase: Phase,
        rows: Sequence[tuple[PartitionState, PartitionLeader]],
        now_ms: int,
    ) -> OffsetAttempt:
        request: Request
        if phase is Phase.RESET:
            request = list_offsets_request(
                (
                    (state.at, self._timestamp(state, now_ms), leader.epoch)
                    for state, leader in rows
                ),
                self.isolation,
            )
        else:
            request = leader_epochs_request(rows)
        return OffsetAttempt(
            node=node,
            request=request,
            states={state.at: (state, state.version, leader) for state, leader in rows},
        )

    def _timestamp(self, state: PartitionState, now_ms: int) -> int:
        if state.reset_timestamp is not None:
            return state.reset_timestamp
        timestamp = self.reset.timestamp_at(now_ms)
        return LATEST if timestamp is None else timestamp

    def answered(self, attempt: OffsetAttempt, response: object, now: float) -> None:
        """Take a response; rows about partitions that have moved meanwhile are discarded."""
        if isinstance(response, ListOffsetsResponse):
            for topic in response.topics:
                for row in topic.partitions:
                    at = TopicPartition(topic.name, row.partition_index)
                    if state := self._current(attempt, at):
                        code = error_of(row.error_code)
                        place = Position(row.offset, row.leader_epoch)
                        self._listed(state, code, place, attempt.states[at][2].epoch, now)
        elif isinstance(response, OffsetForLeaderEpochResponse):
            for result in response.topics:
                for end in result.partitions:
                    at = TopicPartition(result.topic, end.partition)
                    if state := self._current(attempt, at):
                        code = error_of(end.error_code)
                        epoch = attempt.states[at][2].epoch
                        self._compared(
                            state, code, Position(end.end_offset, end.leader_epoch), epoch, now
                        )
        self.failed(attempt, now)  # rows that the response lacks

    def failed(self, attempt: OffsetAttempt, now: float) -> None:
        """Try the partitions of a request again that have no answer."""
        for state, version, _ in attempt.states.values():
            if self.positions.is_current(state, version) and state not in self._pending:
                self._retry(state, now)

    def _current(self, attempt: OffsetAttempt, at: TopicPartition) -> PartitionState | None:
        state, version, _ = attempt.states.get(at, (None, 0, None))
        if state is None or not self.positions.is_current(state, version):
            return None
        return state

    def _listed(
        self,
        state: PartitionState,
        code: ErrorCode,
        position: Position,
        epoch: int,
        now: float,
    ) -> None:
        if code:
            self._rejected(state, code, now)
        elif position.offset >= 0:
            self.positions.reset_to(state, position, epoch)
        else:
            state.version += 1
            state.reset_timestamp = LATEST
            self._pending[state] = None

    def _compared(
        self,
        state: PartitionState,
        code: ErrorCode,
        end: Position,
        epoch: int,
        now: float,
    ) -> None:
        """Compare a position with the end of its epoch in the leader's log (KIP-320)."""
        position = state.position
        if position is None:
            return
        if code:
            self._rejected(state, code, now)
        elif end.offset >= position.offset and end.epoch >= 0:
            self.positions.validated(state, epoch)
        elif self.reset == OffsetReset():
            place = Place(topic=state.at.topic, partition=state.at.partition)
            reason = (
                f"the log was truncated: the position {position.offset} of epoch {position.epoch}"
                f" is behind the end {end.offset} of epoch {end.epoch}"
            )
            self.positions.failed(state, OffsetOutOfRangeError(reason, place=place))
            self._retry(state, now)
        elif end.offset < 0 or end.epoch < 0:
            self.positions.reset(state.at)
        else:
            self.positions.reset_to(state, end, epoch)

    def _rejected(self, state: PartitionState, code: ErrorCode, now: float) -> None:
        if not code.retriable and code not in _FENCED:
            place = Place(topic=state.at.topic, partition=state.at.partition)
            self.positions.failed(state, client_error(code, place=place))
        self._retry(state, now)

    def _retry(self, state: PartitionState, now: float) -> None:
        state.failures += 1
        state.not_before = now + self.backoff.pause_s(state.failures, 0.5)
        self.is_stale = True
        self._pending[state] = None


_PHASES = frozenset({Phase.RESET, Phase.VALIDATE})
_FENCED = frozenset({ErrorCode.FENCED_LEADER_EPOCH, ErrorCode.UNKNOWN_LEADER_EPOCH})
