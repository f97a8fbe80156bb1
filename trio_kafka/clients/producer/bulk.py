"""Many records of one topic in one call: no object, future or deadline for each of them.

Records go in portions of one turn of the loop. A portion is serialized, waits for metadata and for
its memory, is divided among partitions, and is encoded into their batches, the same in which `send`
puts records. From there on nothing differs from `send`.
"""

from collections import defaultdict
from collections.abc import Iterator, Sequence
from itertools import repeat
from typing import TYPE_CHECKING, Final, Protocol, TypeAlias, TypeVar

import trio

from trio_kafka.clients.errors import Place, SerializationError
from trio_kafka.clients.metadata.values import TopicMetadata
from trio_kafka.clients.producer.bulk_receipt import BulkReceipt
from trio_kafka.clients.producer.columns import Bytes, RecordColumns
from trio_kafka.clients.producer.partitioner import PartitionChoice
from trio_kafka.clients.producer.record import Serializer, as_bytes, record_bounds
from trio_kafka.clients.producer.waits import topic_nowait

if TYPE_CHECKING:
    from trio_kafka.clients.producer.producer import Producer

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


async def send_many(
    producer: "Producer[K, V]",
    topic: str,
    values: "Column[V]",
    keys: "Column[K | None] | None",
    *,
    partition: int | None,
    timestamp_ms: int | None,
    receipt: BulkReceipt,
) -> None:
    """Queue records, and note them in the receipt. See `Producer.send_many`."""
    for begin in range(0, len(values), _PORTION):
        await trio.lowlevel.checkpoint()
        producer.check_open()
        rows = slice(begin, begin + _PORTION)
        columns = _prepared(
            producer,
            topic,
            _listed(values, rows),
            None if keys is None else _listed(keys, rows),
            partition=partition,
            timestamp_ms=timestamp_ms,
            first=receipt.next_position,
        )
        for part in columns.portions(min(_PORTION_BYTES, producer.settings.buffer_memory)):
            await _queue(producer, topic, part, partition, receipt)


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


def _prepared(
    producer: "Producer[K, V]",
    topic: str,
    values: Sequence[V],
    keys: Sequence[K | None] | None,
    *,
    partition: int | None,
    timestamp_ms: int | None,
    first: int,
) -> RecordColumns:
    """Return records as bytes, with sizes that were checked. first: position of the first one.

    Raises SerializationError, RecordTooLargeError, which name the record.
    """
    place = Place(topic=topic, partition=partition)
    preparation = producer.preparation
    value_bytes = _serialized(values, preparation.value_serializer, place, first)
    key_bytes = None
    if keys is not None:
        key_bytes = _serialized(keys, preparation.key_serializer, place, first)
    bounds = record_bounds(value_bytes, key_bytes)
    most = preparation.most
    if max(bounds) > most:
        number, bound = next((at, bound) for at, bound in enumerate(bounds) if bound > most)
        preparation.reject(bound, place, record=f"record {first + number}")
    if timestamp_ms is None:
        timestamp_ms = int(producer.client.world.clock.wall() * 1000)
    return RecordColumns(
        values=value_bytes,
        keys=key_bytes,
        bounds=bounds,
        timestamp_ms=timestamp_ms,
    )


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


async def _queue(
    producer: "Producer[K, V]",
    topic: str,
    columns: RecordColumns,
    partition: int | None,
    receipt: BulkReceipt,
) -> None:
    """Wait for metadata and memory, as `send`, and put the records into batches."""
    deadline = trio.current_time() + producer.settings.max_block_ms / 1000
    metadata = topic_nowait(producer.client.metadata, topic, partition, trio.current_time())
    if metadata is None:
        metadata = await producer.wait_topic(topic, partition, deadline)
    groups = _groups(producer.choice, metadata, columns, partition)
    size = columns.ends[-1]
    if not producer.accumulator.pool.try_take(size):
        await producer.wait_memory(topic, size, deadline)
    first = receipt.next_position
    for number, part, places in groups:
        positions = (
            range(first, first + len(places))
            if isinstance(places, range)
            else [first + at for at in places]
        )
        _append(producer, metadata, (number, part, positions), receipt)


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


def _append(
    producer: "Producer[K, V]",
    topic: TopicMetadata,
    group: _Group,
    receipt: BulkReceipt,
) -> None:
    """Put records, whose memory is taken, into batches. Never waits."""
    accumulator, choice = producer.accumulator, producer.choice
    partition, columns, positions = group
    now = trio.current_time()
    at = 0
    while at < len(columns.values):
        number = choice.choose(topic, None, None) if partition is None else partition
        queue = accumulator.queue_of(topic.name, number)
        batch, first, count = accumulator.add_many(queue, columns, at, now)
        receipt.note(batch, first, positions[at : at + count])
        producer.note_added(batch, now, is_new=not first)
        size = columns.size(at, at + count)
        choice.added(topic.name, number, size, is_full=batch.is_full)
        at += count
