"""Many records of one topic in one call: no object, future or deadline for each of them.

Records go in portions of one turn of the loop. A portion is serialized, waits for metadata and for
its memory, is divided among partitions, and is encoded into their batches, the same in which `send`
puts records. From there on nothing differs from `send`.
"""

from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from itertools import repeat
from typing import Final, Generic, Protocol, TypeAlias, TypeVar

import trio

from trio_kafka.attributes import define, frozen
from trio_kafka.clients.errors import Place, SerializationError
from trio_kafka.clients.metadata.values import TopicMetadata
from trio_kafka.clients.producer.bulk_receipt import BulkReceipt
from trio_kafka.clients.producer.columns import Bytes, RecordColumns
from trio_kafka.clients.producer.partitioner import PartitionChoice
from trio_kafka.clients.producer.preparation import RecordPreparation
from trio_kafka.clients.producer.record import Serializer, as_bytes, record_bounds
from trio_kafka.clients.producer.sender import Sender
from trio_kafka.clients.producer.waits import topic_nowait, wait_memory, wait_topic

K = TypeVar("K")
V = TypeVar("V")
T = TypeVar("T")
T_co = TypeVar("T_co", covariant=True)
_PORTION: Final = 2048  # records: 1 ms, 4 ms with keys that are all new
_PORTION_BYTES: Final = 1 << 18


class ArrowArray(Protocol):
    """An array or a chunked array of pyarrow."""

    def __len__(self) -> int: ...

    def __getitem__(self, rows: slice, /) -> "ArrowArray": ...

    def to_pylist(self) -> list[object]: ...


Column: TypeAlias = Sequence[T_co] | ArrowArray


@define(eq=False, kw_only=True)
class BulkSends(Generic[K, V]):
    """The way of many records. check: raises an error if the producer takes no more records."""

    sender: Sender
    preparation: RecordPreparation[K, V]
    choice: PartitionChoice
    check: Callable[[], None]

    async def send(
        self,
        topic: str,
        values: "Column[V]",
        keys: "Column[K | None] | None",
        *,
        partition: int | None,
        timestamp_ms: int | None,
        receipt: BulkReceipt,
    ) -> None:
        """Queue records, and note them in the receipt. See `Producer.send_many`."""
        await trio.lowlevel.checkpoint()
        place = Place(topic=topic, partition=partition)
        largest = min(_PORTION_BYTES, self.preparation.memory)
        for begin in range(0, len(values), _PORTION):
            rows = slice(begin, begin + _PORTION)
            some_keys = None if keys is None else _listed(keys, rows)
            some = _Rows(_listed(values, rows), some_keys, receipt.next_position)
            columns = self._prepared(some, place, timestamp_ms)
            for portion in columns.portions(largest):
                await self._queue(place, portion, receipt)

    def _prepared(
        self, rows: "_Rows[K, V]", place: Place, timestamp_ms: int | None
    ) -> RecordColumns:
        """Return records as bytes, with sizes that were checked.

        Raises SerializationError, RecordTooLargeError, which name the record.
        """
        preparation, first = self.preparation, rows.first
        values = _serialized(rows.values, preparation.value_serializer, place, first)
        keys = None
        if rows.keys is not None:
            keys = _serialized(rows.keys, preparation.key_serializer, place, first)
        bounds, most = record_bounds(values, keys), preparation.most
        if max(bounds) > most:
            number, bound = next((at, bound) for at, bound in enumerate(bounds) if bound > most)
            preparation.reject(bound, place, record=f"record {first + number}")
        if timestamp_ms is None:
            timestamp_ms = int(self.sender.client.world.clock.wall() * 1000)
        return RecordColumns(values=values, keys=keys, bounds=bounds, timestamp_ms=timestamp_ms)

    async def _queue(self, place: Place, columns: RecordColumns, receipt: BulkReceipt) -> None:
        """Wait for metadata and memory, as `send`, and put the records into batches."""
        await trio.lowlevel.checkpoint()
        self.check()
        name, partition = place.topic or "", place.partition
        deadline = trio.current_time() + self.sender.settings.max_block_ms / 1000
        metadata = self.sender.client.metadata
        topic = topic_nowait(metadata, name, partition, trio.current_time())
        if topic is None:
            topic = await wait_topic(metadata, name, partition, deadline=deadline, check=self.check)
        groups = _groups(self.choice, topic, columns, partition)
        pool, size = self.sender.accumulator.pool, columns.ends[-1]
        if not pool.try_take(size):
            wake = self.sender.wake
            await wait_memory(pool, name, size, deadline=deadline, wake=wake, check=self.check)
        first = receipt.next_position
        for number, part, places in groups:
            positions = (
                range(first, first + len(places))
                if isinstance(places, range)
                else [first + at for at in places]
            )
            self._append(topic, (number, part, positions), receipt)

    def _append(self, topic: TopicMetadata, group: "_Group", receipt: BulkReceipt) -> None:
        """Put records, whose memory is taken, into batches. Never waits."""
        accumulator = self.sender.accumulator
        partition, columns, positions = group
        now = trio.current_time()
        at = 0
        while at < len(columns.values):
            number = self.choice.choose(topic, None, None) if partition is None else partition
            queue = accumulator.queue_of(topic.name, number)
            batch, first, count = accumulator.add_many(queue, columns, at, now)
            receipt.note(batch, first, positions[at : at + count])
            self.sender.note_added(batch, now, is_new=not first)
            size = columns.size(at, at + count)
            self.choice.added(topic.name, number, size, is_full=batch.is_full)
            at += count


@frozen
class _Rows(Generic[K, V]):
    """Some records of a call. first: position of the first one."""

    values: Sequence[V]
    keys: Sequence[K | None] | None
    first: int


def _listed(column: "Column[T]", rows: slice) -> Sequence[T]:
    """Return some rows of a column; those of an Arrow array become objects of Python."""
    part = column[rows]
    if isinstance(part, Sequence):
        return part
    return part.to_pylist()  # type: ignore[return-value]  # the type of its elements is not known


def pairs(values: "Column[V]", keys: "Column[K | None] | None") -> "Iterator[tuple[V, K | None]]":
    """Yield the value and the key of each record."""
    for begin in range(0, len(values), _PORTION):
        rows = slice(begin, begin + _PORTION)
        part = _listed(values, rows)
        yield from zip(part, repeat(None) if keys is None else _listed(keys, rows), strict=False)


def _serialized(
    parts: Sequence[T | None], serializer: Serializer[T], place: Place, first: int
) -> Sequence[Bytes]:
    """Return keys or values as bytes. Raises SerializationError."""
    if serializer is as_bytes and set(map(type, parts)) <= {bytes, type(None)}:
        return parts  # type: ignore[return-value]  # they are bytes already
    serialized: list[Bytes] = []
    for number, part in enumerate(parts, first):
        try:
            data: object = None if part is None else serializer(part)
        except Exception as error:
            reason = f"the serializer has raised {type(error).__name__}: {error}; record {number}"
            raise SerializationError(reason, place=place) from error
        if not (data is None or isinstance(data, bytes)):
            reason = f"record {number} is serialized as {type(data).__name__}: want bytes or None"
            raise SerializationError(reason, place=place)
        serialized.append(data)
    return serialized


_Group: TypeAlias = tuple[int | None, RecordColumns, Sequence[int]]
"""Partition, records, and their places. None: the partition changes with the batch."""


def _groups(
    choice: PartitionChoice, topic: TopicMetadata, columns: RecordColumns, partition: int | None
) -> Sequence[_Group]:
    """Divide records among partitions. Raises SerializationError, see `PartitionChoice`."""
    partitions = None
    if partition is None:
        partitions = choice.choose_many(topic, columns.keys, columns.values)
    if partitions is not None and partitions.count(partitions[0]) == len(partitions):
        partition, partitions = partitions[0], None
    if partitions is None:
        return [(partition, columns, range(len(columns.values)))]
    places: defaultdict[int, list[int]] = defaultdict(list)
    for at, number in enumerate(partitions):
        places[number].append(at)
    return [(number, columns.picked(ats), ats) for number, ats in places.items()]
