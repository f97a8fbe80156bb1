"""Positions of a consumer: what it reads, from where, and what is buffered. Does no I/O.

Theory of operation. A partition begins in the phase COMMITTED or RESET, and is fetched in the phase
FETCH. The position is that of the user; `fetch_from` is the end of what is buffered. Whatever moves
the position otherwise, such as a seek, drops the buffer and counts `version` up. A response to a
request of an older version, or of an earlier assignment, is discarded: that is how a seek during a
fetch stays right. When the leader epoch has changed, a position whose epoch is known is validated
before the next Fetch (KIP-320). `touched` are the partitions about which requests may have to
change; so an idle consumer of many partitions has nothing to compute.
"""

from collections.abc import Callable, Collection, Iterable, Iterator
from typing import Final

from attrs import field

from trio_kafka.attributes import define
from trio_kafka.clients.consumer.fetched import FetchedData
from trio_kafka.clients.consumer.partition_state import PartitionState, Phase
from trio_kafka.clients.consumer.values import Position
from trio_kafka.clients.errors import ClientError
from trio_kafka.model import TopicPartition


@define(eq=False)
class Positions:
    """All assigned partitions, and which of them have changed or have data.

    ready: partitions with data that may be read, in the order in which it came.
    errors: for the user, at most one for each partition. has_group: new partitions ask for their
    committed offsets first. watchers: called before each jump, with the position to come, if known.
    """

    has_group: bool = False
    states: dict[TopicPartition, PartitionState] = field(factory=dict, init=False)
    touched: dict[PartitionState, None] = field(factory=dict, init=False)
    ready: dict[PartitionState, None] = field(factory=dict, init=False)
    errors: dict[TopicPartition, ClientError] = field(factory=dict, init=False)
    watchers: list[Callable[[PartitionState, Position | None], None]] = field(
        factory=list, init=False
    )
    buffered: int = field(default=0, init=False)

    def __getitem__(self, at: TopicPartition) -> PartitionState:
        """Return the state of a partition. Raises ValueError if it is not assigned."""
        state = self.states.get(at)
        if state is None:
            raise ValueError(f"{at} is not assigned to this consumer")
        return state

    def is_current(self, state: PartitionState, version: int) -> bool:
        """Return whether an answer for a partition is still wanted."""
        return self.states.get(state.at) is state and state.version == version

    # --- assignment

    def assign(self, partitions: Iterable[TopicPartition]) -> None:
        """Read exactly these partitions; those that are read already keep their positions."""
        target = dict.fromkeys(partitions)
        self.remove([at for at in self.states if at not in target])
        self.add(at for at in target if at not in self.states)

    def add(self, partitions: Iterable[TopicPartition]) -> None:
        """Read more partitions."""
        phase = Phase.COMMITTED if self.has_group else Phase.RESET
        for at in partitions:
            state = self.states[at] = PartitionState(at, phase)
            self.touched[state] = None

    def remove(self, partitions: Iterable[TopicPartition]) -> None:
        """Read these partitions no more; what is buffered is dropped."""
        for at in partitions:
            state = self.states.pop(at)
            state.version += 1
            self._drop_buffer(state)
            self.errors.pop(at, None)
            self.touched[state] = None

    def hold(self, at: TopicPartition) -> None:
        """Read nothing more from a partition that is about to be removed."""
        state = self[at]
        state.revoking = True
        self._touch(state)

    def release(self, at: TopicPartition) -> None:
        """Read again from a partition that is not removed after all."""
        state = self[at]
        if state.revoking:
            state.revoking = False
            self._touch(state)

    # --- what users do

    def seek(self, at: TopicPartition, position: Position) -> None:
        """Continue at a position; one with an epoch is validated first."""
        state = self[at]
        if position.epoch >= 0:
            state.leader_epoch = -1
        self._move(state, Phase.FETCH, position)

    def reset(self, at: TopicPartition, timestamp: int | None = None) -> None:
        """Find the position by a timestamp; None: that of `auto.offset.reset`."""
        state = self[at]
        state.reset_timestamp = timestamp
        self._move(state, Phase.RESET, None)

    def pause(self, partitions: Collection[TopicPartition]) -> None:
        """Read nothing from partitions until `resume`. What is buffered stays."""
        for state in [self[at] for at in partitions]:
            state.paused = True
            self._touch(state)

    def resume(self, partitions: Collection[TopicPartition]) -> None:
        """Read again from partitions."""
        for state in [self[at] for at in partitions]:
            state.paused = state.shed = False
            self._touch(state)

    # --- what responses say

    def committed(self, at: TopicPartition, position: Position | None) -> None:
        """Take a committed offset; None: there is none."""
        state = self.states.get(at)
        if state is not None and state.phase is Phase.COMMITTED:
            if position is None:
                state.reset_timestamp = None
            self._move(state, Phase.RESET if position is None else Phase.FETCH, position)

    def reset_to(self, state: PartitionState, position: Position, leader_epoch: int) -> None:
        """Take the position that a leader has named, at its epoch."""
        state.failures = 0
        state.leader_epoch = max(state.leader_epoch, leader_epoch)
        self._move(state, Phase.FETCH, position)

    def out_of_range(self, state: PartitionState) -> None:
        """Note that the leader has no such offset: find another one, if that is allowed."""
        lost = state.position
        self.reset(state.at)
        state.lost = lost

    def validate(self, state: PartitionState) -> None:
        """Ask the new leader whether it has the same log before the position."""
        self._move(state, Phase.VALIDATE, state.position)

    def validated(self, state: PartitionState, leader_epoch: int) -> None:
        """Note that the position is valid at a leader epoch."""
        state.failures = 0
        state.version += 1
        state.phase = Phase.FETCH
        state.leader_epoch = leader_epoch
        self._touch(state)

    def fetched(self, state: PartitionState, data: FetchedData) -> None:
        """Buffer data."""
        self.buffered += data.size
        state.add(data)
        self._touch(state)

    def failed(self, state: PartitionState, error: ClientError) -> None:
        """Keep an error for the user."""
        self.errors[state.at] = error

    def changed(self, state: PartitionState) -> None:
        """Note that requests for a partition may have to change."""
        self.touched[state] = None

    # --- what is read

    def front(self, state: PartitionState) -> FetchedData | None:
        """Return the data to read next from a partition."""
        before = state.buffered
        data = state.front()
        if state.buffered != before:
            self.buffered -= before - state.buffered
            self.touched[state] = None
        if data is None:
            self.ready.pop(state, None)
        return data

    def take(self, state: PartitionState) -> FetchedData | None:
        """Hand the data to read next out as a whole; the position moves behind them."""
        data = self.front(state)
        if data is not None:
            state.buffer.popleft()
            state.buffered -= data.size
            self.buffered -= data.size
            state.position = data.end
            self._touch(state)
            if state in self.ready:
                del self.ready[state]
                self.ready[state] = None
        return data

    def read(self, state: PartitionState, position: Position) -> None:
        """Move the position behind what the user has got."""
        state.position = position

    def drop(self, state: PartitionState) -> None:
        """Drop the buffer of a partition; it is fetched again from the position."""
        state.version += 1
        self._drop_buffer(state)
        self.touched[state] = None

    def shed(self, state: PartitionState) -> None:
        """Drop the buffer of a partition that no reader awaits, to make room for others."""
        self.drop(state)
        state.shed = True

    def ask_for(self, state: PartitionState) -> None:
        """Fetch a partition again whose buffer was dropped for others."""
        if state.shed:
            state.shed = False
            self._touch(state)

    def consumed(self) -> Iterator[tuple[TopicPartition, Position]]:
        """Return the positions of all partitions that have one."""
        for at, state in self.states.items():
            if state.position is not None and state.phase in _POSITIONED:
                yield at, state.position

    def _touch(self, state: PartitionState) -> None:
        self.touched[state] = None
        if state.buffer and state.is_fetchable:
            self.ready.setdefault(state)
        else:
            self.ready.pop(state, None)

    def _move(self, state: PartitionState, phase: Phase, position: Position | None) -> None:
        for watcher in self.watchers:
            watcher(state, position)
        self._drop_buffer(state)
        state.move(phase, position)
        state.not_before = float("-inf")
        state.lost = None
        self.errors.pop(state.at, None)
        self._touch(state)

    def _drop_buffer(self, state: PartitionState) -> None:
        self.buffered -= state.buffered
        state.drop_buffer()
        self.ready.pop(state, None)


_POSITIONED: Final = frozenset({Phase.FETCH, Phase.VALIDATE})
