"""Encoder from Arrow columns to record batches, as a producer sends them.

Numbers of all records are written as vectors. One Arrow kernel joins them with keys, values and
headers, so each byte is copied once, in C++. Python only makes the header, the checksum and the
compressed block of each batch.
"""

from collections.abc import Iterator
from typing import Final

import numpy as np
import pyarrow as pa

from trio_kafka.attributes import frozen
from trio_kafka.records.batch import NO_PRODUCER, BatchBody, ProducerFields, encode_batch
from trio_kafka.records.columnar.inputs import Inputs, read_inputs
from trio_kafka.records.columnar.pack import (
    Piece,
    join_rows,
    lengths_of,
    offsets_of,
    one_binary,
    pack_varints,
    varint_sizes,
)
from trio_kafka.records.columnar.varints import Longs
from trio_kafka.records.compression import Codec
from trio_kafka.records.header import NO_SEQUENCE, NO_TIMESTAMP, TRANSACTIONAL

BATCH_BYTES: Final = 16 << 10  # Kafka's batch.size
_GROUP: Final = 1 << 20  # bytes that are joined at a time, so that they stay in the cache
_LARGEST_BATCH: Final = (1 << 31) - (1 << 10)
_SEQUENCES: Final = 1 << 31
_SMALLEST_RECORD: Final = 7


@frozen
class EncodedBatch:
    """One batch, with base offset 0 and leader epoch -1, and its number of records."""

    data: bytes
    count: int


def encode(
    records: pa.RecordBatch,
    *,
    codec: Codec = Codec.NONE,
    level: int | None = None,
    timestamp_ms: int,
    batch_bytes: int = BATCH_BYTES,
    producer: ProducerFields = NO_PRODUCER,
    transactional: bool = False,
) -> list[EncodedBatch]:
    """Encode the rows of `records`, in their order.

    records: needs `value` (binary or string of any size; null is a tombstone). Optional are `key`,
        `headers` (list of structs with key and value) and `timestamp` (timestamp, or int64 of
        milliseconds). Other columns are ignored.
    timestamp_ms: time of records without one.
    batch_bytes: bound of the uncompressed records of one batch; a larger record has its own batch.
    producer: fields of the first batch; later ones continue its sequence.
    transactional: the batches are part of a transaction of this producer.
    Raises ValueError for columns of the wrong type, a header without a key, a level out of bounds,
    a record of 2 GiB.
    """
    inputs = read_inputs(records, timestamp_ms)
    attributes = TRANSACTIONAL if transactional else 0
    if not records.num_rows:
        return []
    batches: list[EncodedBatch] = []
    for body in _encode_bodies(inputs, batch_bytes):
        data = encode_batch(
            body, codec=codec, level=level, producer=producer, attributes=attributes
        )
        batches.append(EncodedBatch(data, body.count))
        if producer.base_sequence != NO_SEQUENCE:
            sequence = (producer.base_sequence + body.count) % _SEQUENCES
            producer = producer._replace(base_sequence=sequence)
    return batches


def _encode_bodies(inputs: Inputs, batch_bytes: int) -> Iterator[BatchBody]:
    """Encode the records of each batch."""
    most = _largest_sizes(inputs, batch_bytes)
    ends = np.cumsum(most)
    if most.max() > _LARGEST_BATCH:
        raise ValueError(f"record of {most.max()} bytes, want less than {_LARGEST_BATCH}")
    cuts = cut_batches(ends, min(batch_bytes, _LARGEST_BATCH))
    first = 0
    while first < len(cuts) - 1:
        begun = int(ends[cuts[first] - 1]) if first else 0
        last = first + 1
        while last < len(cuts) - 1 and int(ends[cuts[last + 1] - 1]) - begun <= _GROUP:
            last += 1
        yield from _encode_group(inputs, cuts[first : last + 1])
        first = last


def _largest_sizes(inputs: Inputs, batch_bytes: int) -> Longs:
    """Return an upper bound of the size of each record: its place in the batch is not known yet."""
    times = inputs.timestamps
    spread = int(times.max()) - int(times.min())
    count = min(len(times), batch_bytes // _SMALLEST_RECORD + 1)
    fixed = _varint_size(2 * spread) + _varint_size(2 * count) + 1
    sizes = np.full(len(times), fixed, np.int64)
    for array in (inputs.keys, inputs.values):
        lengths = lengths_of(array)
        sizes += varint_sizes(lengths) + np.maximum(lengths, 0)
    if inputs.header_counts is None or inputs.headers is None:
        sizes += 1
    else:
        sizes += varint_sizes(inputs.header_counts) + lengths_of(inputs.headers)
    return sizes + varint_sizes(sizes)


def _varint_size(number: int) -> int:
    """Return the size of a number in zig-zag form."""
    return max(1, -(-number.bit_length() // 7))


def cut_batches(ends: Longs, batch_bytes: int) -> list[int]:
    """Return the first row of each batch, and the number of rows.

    ends: running sum of the sizes of the records. Each batch has at least one record, and as many
        as fit into `batch_bytes`.
    """
    cuts, begun = [0], 0
    while cuts[-1] < len(ends):
        cut = max(cuts[-1] + 1, int(ends.searchsorted(begun + batch_bytes, side="right")))
        begun = int(ends[cut - 1])
        cuts.append(cut)
    return cuts


def _encode_group(inputs: Inputs, cuts: list[int]) -> Iterator[BatchBody]:
    """Encode the records between two cuts each."""
    inputs = inputs.part(cuts[0], cuts[-1])
    firsts = np.array(cuts[:-1]) - cuts[0]
    counts = np.diff(np.array(cuts))
    base_times = inputs.timestamps[firsts]
    encoded = _encode_records(inputs, np.repeat(firsts, counts), np.repeat(base_times, counts))
    bounds = offsets_of(encoded)[np.append(firsts, len(encoded))].tolist()
    data = memoryview(encoded.buffers()[2])
    latest = np.maximum(np.maximum.reduceat(inputs.timestamps, firsts), NO_TIMESTAMP)
    for number, (count, base, last) in enumerate(
        zip(counts.tolist(), base_times.tolist(), latest.tolist(), strict=True)
    ):
        content = bytes(data[bounds[number] : bounds[number + 1]])
        yield BatchBody(
            base_timestamp=base,
            max_timestamp=last,
            last_delta=count - 1,
            count=count,
            encoded=[content],
        )


def _encode_records(inputs: Inputs, firsts: Longs, base_times: Longs) -> pa.Array:
    """Encode each record. firsts, base_times: of the batch of each record."""
    size = len(firsts)
    keys, values = lengths_of(inputs.keys), lengths_of(inputs.values)
    lengths = np.maximum(keys, 0) + np.maximum(values, 0)
    # Attributes (all unused), timestamp, offset, key.
    head = [np.zeros_like(keys), inputs.timestamps - base_times, np.arange(size) - firsts, keys]
    middle = [values]
    if inputs.keys.null_count == size:
        head, middle = head + middle, []
    head_sizes = [varint_sizes(numbers) for numbers in head]
    middle_sizes = [varint_sizes(numbers) for numbers in middle]
    for sizes in head_sizes + middle_sizes:
        lengths += sizes
    tail: list[Piece] = [one_binary(b"\0")]
    if inputs.header_counts is None or inputs.headers is None:
        lengths += 1
    else:
        count_sizes = varint_sizes(inputs.header_counts)
        lengths += count_sizes + lengths_of(inputs.headers)
        tail = [pack_varints([inputs.header_counts], [count_sizes]), inputs.headers]
    pieces: list[Piece] = [pack_varints([lengths, *head], [varint_sizes(lengths), *head_sizes])]
    if middle:
        pieces += (inputs.keys, pack_varints(middle, middle_sizes))
    return join_rows([*pieces, inputs.values, *tail])
