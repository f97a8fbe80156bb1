"""Key, value, headers and timestamp from Arrow columns of any suitable type."""

from typing import Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from trio_kafka.attributes import frozen
from trio_kafka.records.columnar.arrays import as_numpy, nulls_of
from trio_kafka.records.columnar.pack import (
    LARGE,
    as_binary,
    join_rows,
    lengths_of,
    offsets_of,
    pack_varints,
    varint_sizes,
)
from trio_kafka.records.columnar.varints import Longs

_NS: Final[dict[str, int]] = {"s": 10**9, "ms": 10**6, "us": 10**3, "ns": 1}


@frozen(kw_only=True)
class Inputs:
    """Columns of the records to encode, of one length.

    header_counts, headers: number of headers of each record, and their encoded bytes; None without
        headers.
    timestamps: milliseconds.
    """

    keys: pa.Array
    values: pa.Array
    header_counts: Longs | None
    headers: pa.Array | None
    timestamps: Longs

    def part(self, first: int, last: int) -> "Inputs":
        """Return the records from `first` up to `last` (exclusive)."""
        rows = slice(first, last)
        return Inputs(
            keys=self.keys[rows],
            values=self.values[rows],
            header_counts=None if self.header_counts is None else self.header_counts[rows],
            headers=None if self.headers is None else self.headers[rows],
            timestamps=self.timestamps[rows],
        )


def read_inputs(records: pa.RecordBatch, timestamp_ms: int) -> Inputs:
    """Return columns of `records` in the encoder's form; bytes are not copied.

    Raises ValueError for a missing column, or one of an unsuitable type.
    """
    if "value" not in records.schema.names:
        names = ", ".join(records.schema.names)
        raise ValueError(f"no column 'value' among {names}: every record needs one, null or not")
    size = records.num_rows
    counts, headers = _read_headers(_column(records, "headers"))
    return Inputs(
        keys=_read_bytes(_column(records, "key"), "key", size),
        values=_read_bytes(_column(records, "value"), "value", size),
        header_counts=counts,
        headers=headers,
        timestamps=_read_timestamps(_column(records, "timestamp"), size, timestamp_ms),
    )


def _column(records: pa.RecordBatch, name: str) -> pa.Array | None:
    index = records.schema.get_field_index(name)
    if index < 0:
        if name in records.schema.names:
            raise ValueError(f"more than one column {name!r}")
        return None
    column = records.column(index)
    return None if pa.types.is_null(column.type) and name != "value" else column


def _read_bytes(column: pa.Array | None, name: str, size: int) -> pa.Array:
    if column is None:
        return pa.nulls(size, LARGE)
    try:
        return column.cast(LARGE)
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
        raise ValueError(f"column {name!r} of {column.type}, want binary or string") from None


def _read_timestamps(column: pa.Array | None, size: int, timestamp_ms: int) -> Longs:
    if column is None:
        return np.full(size, timestamp_ms, np.int64)
    if pa.types.is_timestamp(column.type):
        unit = _NS[column.type.unit]
    elif pa.types.is_int64(column.type):
        unit = _NS["ms"]
    else:
        raise ValueError(f"column 'timestamp' of {column.type}, want timestamp or int64 of ms")
    times: Longs = as_numpy(column, np.int64)
    ms = _NS["ms"]
    if unit < ms:
        times = times // (ms // unit)
    elif unit > ms:
        times = times * (unit // ms)
    return np.where(nulls_of(column), timestamp_ms, times) if column.null_count else times


def _read_headers(column: pa.Array | None) -> tuple[Longs | None, pa.Array | None]:
    """Return the number of headers of each record, and their encoded bytes."""
    if column is None:
        return None, None
    if not _is_list_of_pairs(column.type):
        raise ValueError(f"column 'headers' of {column.type}, want list<struct<key, value>>")
    large = pa.types.is_large_list(column.type)
    lengths = as_numpy(pc.list_value_length(column), np.int64 if large else np.int32)
    counts = np.where(nulls_of(column), 0, lengths).astype(np.int64)
    entries = column.flatten()
    if not len(entries):
        return None, None
    children = entries.flatten()  # unlike `field`, this returns null structs as null
    keys = _read_bytes(children[entries.type.get_field_index("key")], "key of headers", 0)
    values = _read_bytes(children[entries.type.get_field_index("value")], "value of headers", 0)
    if keys.null_count:
        raise ValueError(f"{keys.null_count} headers have no key: a header needs one")
    key_lengths, value_lengths = lengths_of(keys), lengths_of(values)
    encoded = join_rows(
        [
            pack_varints([key_lengths], [varint_sizes(key_lengths)]),
            keys,
            pack_varints([value_lengths], [varint_sizes(value_lengths)]),
            values,
        ]
    )
    offsets = np.append(0, np.cumsum(counts))
    return counts, as_binary(offsets_of(encoded)[offsets], encoded.buffers()[2])


def _is_list_of_pairs(kind: pa.DataType) -> bool:
    if not (pa.types.is_list(kind) or pa.types.is_large_list(kind)):
        return False
    pair = kind.value_type
    return bool(pa.types.is_struct(pair)) and all(
        pair.get_field_index(name) >= 0 for name in ("key", "value")
    )
