"""Scan of batch headers: one row for each, without reading the records."""

from typing import Final

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from trio_kafka.records.columnar.arrays import as_arrow, as_booleans
from trio_kafka.records.columnar.walk import as_bytes, gather_headers, walk
from trio_kafka.records.compression import Codec
from trio_kafka.records.header import (
    CODEC_MASK,
    CONTROL,
    LENGTH_END,
    LOG_APPEND_TIME,
    NO_TIMESTAMP,
    TRANSACTIONAL,
)
from trio_kafka.world.protocols import Buffer

_TIME: Final = pa.timestamp("ms", tz="UTC")
SCAN_SCHEMA: Final = pa.schema(
    [
        ("position", pa.int64()),
        ("size", pa.int32()),
        ("base_offset", pa.int64()),
        ("last_offset", pa.int64()),
        ("count", pa.int32()),
        ("codec", pa.string()),
        ("base_timestamp", _TIME),
        ("max_timestamp", _TIME),
        ("timestamp_type", pa.int32()),
        ("producer_id", pa.int64()),
        ("producer_epoch", pa.int16()),
        ("base_sequence", pa.int32()),
        ("leader_epoch", pa.int32()),
        ("transactional", pa.bool_()),
        ("control", pa.bool_()),
        ("crc", pa.int64()),
    ]
)


def scan(buffer: Buffer) -> pa.RecordBatch:
    """Return one row for each whole batch of `buffer`, in SCAN_SCHEMA; a last partial one is
    ignored.

    codec: none, gzip, snappy, lz4, zstd; null for an unknown number. Times are null for -1;
        base_timestamp is the delete horizon if the cleaner has set one. Sizes are those of whole
        batches. A batch of more than 2**31 - 1 bytes, which no broker accepts, is capped.
    Neither records nor CRCs are read.
    Raises CorruptBatchError for an invalid header.
    """
    data = as_bytes(buffer)
    walked = walk(data)
    if walked.error is not None:
        raise walked.error
    headers = gather_headers(data, walked.positions)
    attributes = headers["attributes"]
    base = headers["base_offset"]
    size = headers["length"].astype(np.int64) + LENGTH_END
    columns = {
        "position": as_arrow(np.array(walked.positions, np.int64), pa.int64()),
        "size": as_arrow(np.minimum(size, 2**31 - 1).astype(np.int32), pa.int32()),
        "last_offset": as_arrow(base + headers["last_offset_delta"], pa.int64()),
        "codec": _name_codecs(attributes & CODEC_MASK),
        "timestamp_type": as_arrow(
            ((attributes & LOG_APPEND_TIME) != 0).astype(np.int32), pa.int32()
        ),
        "transactional": as_booleans((attributes & TRANSACTIONAL) != 0),
        "control": as_booleans((attributes & CONTROL) != 0),
        "crc": as_arrow(headers["crc"].astype(np.int64), pa.int64()),
    }
    for name in ("base_timestamp", "max_timestamp"):
        times = headers[name]
        columns[name] = as_arrow(times, _TIME, times == NO_TIMESTAMP)
    for field in SCAN_SCHEMA:
        if field.name not in columns:
            columns[field.name] = as_arrow(headers[field.name], field.type)
    return pa.RecordBatch.from_arrays([columns[n] for n in SCAN_SCHEMA.names], schema=SCAN_SCHEMA)


def _name_codecs(numbers: NDArray[np.int16]) -> pa.Array:
    """Return names of codecs by their numbers; null for an unknown number."""
    names = [codec.name.lower() for codec in Codec]
    offsets = np.cumsum([0, *map(len, names)], dtype=np.int32)
    text = pa.py_buffer("".join(names).encode())
    every = pa.Array.from_buffers(pa.string(), len(names), [None, pa.py_buffer(offsets), text])
    return every.take(as_arrow(numbers, pa.int16(), numbers >= len(names)))
