"""Calls of a consumer about positions: seek, pause and resume, and offsets of partitions."""

from collections.abc import Iterable, Mapping
from typing import Generic, TypeVar

from trio_kafka.attributes import define
from trio_kafka.clients.client import Client
from trio_kafka.clients.consumer.fetcher import Fetcher
from trio_kafka.clients.consumer.offset_queries import list_offsets, offsets_at
from trio_kafka.clients.consumer.positions import Positions
from trio_kafka.clients.consumer.turns import ReadTurns
from trio_kafka.clients.consumer.values import OffsetAndMetadata, OffsetAndTimestamp, Position
from trio_kafka.clients.settings.consumer import ConsumerSettings
from trio_kafka.clients.settings.reset import EARLIEST, LATEST
from trio_kafka.model import TopicPartition

K = TypeVar("K")
V = TypeVar("V")


@define(eq=False, kw_only=True)
class PositionCalls(Generic[K, V]):
    """Base of `Consumer`. turns: of the task that reads."""

    client: Client
    settings: ConsumerSettings
    turns: ReadTurns[K, V]

    @property
    def positions(self) -> Positions:
        return self.turns.positions

    @property
    def fetcher(self) -> Fetcher:
        return self.turns.fetcher

    def seek(self, at: TopicPartition, offset: int | OffsetAndMetadata) -> None:
        """Continue at an offset. Raises ValueError if the partition is not assigned."""
        if isinstance(offset, int):
            offset = OffsetAndMetadata(offset)
        if offset.offset < 0:
            raise ValueError(f"offset {offset.offset}: want at least 0")
        self.positions.seek(at, Position(offset.offset, offset.leader_epoch))
        self.turns.touch()

    def seek_to_beginning(self, partitions: Iterable[TopicPartition] = ()) -> None:
        """Continue at the first offsets; without partitions those of all that are assigned."""
        self._reset(partitions, EARLIEST)

    def seek_to_end(self, partitions: Iterable[TopicPartition] = ()) -> None:
        """Continue after the last records; without partitions those of all that are assigned."""
        self._reset(partitions, LATEST)

    def seek_to_time(self, timestamp_ms: int, partitions: Iterable[TopicPartition] = ()) -> None:
        """Continue at the first records at or after a time, else at the end."""
        if timestamp_ms < 0:
            raise ValueError(f"{timestamp_ms} ms: want at least 0")
        self._reset(partitions, timestamp_ms)

    def pause(self, *partitions: TopicPartition) -> None:
        """Read nothing from partitions until `resume`."""
        self.positions.pause(partitions)
        self.turns.touch()

    def resume(self, *partitions: TopicPartition) -> None:
        """Read again from partitions."""
        self.positions.resume(partitions)
        self.turns.touch()

    @property
    def paused(self) -> frozenset[TopicPartition]:
        """Partitions from which nothing is read."""
        return frozenset(at for at, state in self.positions.states.items() if state.paused)

    async def position(self, at: TopicPartition, *, timeout_s: float | None = None) -> int:
        """Return the offset of the next record. Raises TimedOutError, NoOffsetError."""
        return await self.turns.wait_position(at, self._timeout_s(timeout_s))

    def lag(self, at: TopicPartition) -> int | None:
        """Return the number of records behind the position; None: not known yet."""
        state = self.positions[at]
        return self.fetcher.metrics.lag(state)

    async def beginning_offsets(
        self, partitions: Iterable[TopicPartition], *, timeout_s: float | None = None
    ) -> dict[TopicPartition, int]:
        """Return the first offsets of partitions. Raises as `offsets_for_times`."""
        return offsets_at(
            await self.offsets_for_times(dict.fromkeys(partitions, EARLIEST), timeout_s=timeout_s)
        )

    async def end_offsets(
        self, partitions: Iterable[TopicPartition], *, timeout_s: float | None = None
    ) -> dict[TopicPartition, int]:
        """Return the offsets after the last readable records. Raises as `offsets_for_times`."""
        return offsets_at(
            await self.offsets_for_times(dict.fromkeys(partitions, LATEST), timeout_s=timeout_s)
        )

    async def offsets_for_times(
        self, timestamps: Mapping[TopicPartition, int], *, timeout_s: float | None = None
    ) -> dict[TopicPartition, OffsetAndTimestamp | None]:
        """Return the first record at or after a time (ms) for each partition; None: there is none.

        Raises TimedOutError, TopicError, AuthorizationError.
        """
        return await list_offsets(
            self.client,
            timestamps,
            isolation=int(self.settings.is_committed_only),
            timeout_s=self._timeout_s(timeout_s),
        )

    async def partitions_of(self, topic: str, *, timeout_s: float | None = None) -> list[int]:
        """Return the partitions of a topic. Raises TimedOutError, TopicError."""
        seconds = self._timeout_s(timeout_s)
        return sorted((await self.client.metadata.wait_topic(topic, timeout_s=seconds)).partitions)

    def _reset(self, partitions: Iterable[TopicPartition], timestamp: int) -> None:
        for at in list(partitions) or list(self.positions.states):
            self.positions.reset(at, timestamp)
        self.turns.touch()

    def _timeout_s(self, timeout_s: float | None) -> float:
        return self.settings.call_timeout_s if timeout_s is None else timeout_s
