"""Scan: one row per batch header, without a look at the records."""

from typing import Final

import numpy as np
import pyarrow as pa

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
# By the three bits of the attributes; null: no codec has that number.
_CODECS: Final = pa.array([*(codec.name.lower() for codec in Codec), *[None] * 3], pa.string())


def scan(buffer: Buffer) -> pa.RecordBatch:
    """One row per whole batch of `buffer`, in SCAN_SCHEMA; a last batch cut short is left out.

    codec: none, gzip, snappy, lz4, zstd; null for a number that names no codec. Times are null for
    -1, and base_timestamp is the delete horizon where the cleaner has set one. Sizes are those of
    whole batches, so a batch of more than 2**31 - 1 bytes, which no broker takes, is capped.
    Neither records nor CRCs are read. About 1 µs a batch.
    Raises CorruptBatchError for bytes that are no header.
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
        "position": pa.array(np.array(walked.positions, np.int64)),
        "size": pa.array(np.minimum(size, 2**31 - 1).astype(np.int32)),
        "last_offset": pa.array(base + headers["last_offset_delta"]),
        "codec": _CODECS.take(pa.array(attributes & CODEC_MASK)),
        "timestamp_type": pa.array(((attributes & LOG_APPEND_TIME) != 0).astype(np.int32)),
        "transactional": pa.array((attributes & TRANSACTIONAL) != 0),
        "control": pa.array((attributes & CONTROL) != 0),
        "crc": pa.array(headers["crc"].astype(np.int64)),
    }
    for name in ("base_timestamp", "max_timestamp"):
        times = headers[name]
        columns[name] = pa.array(times, mask=times == NO_TIMESTAMP).view(_TIME)
    for name in SCAN_SCHEMA.names:
        if name not in columns:
            columns[name] = pa.array(np.ascontiguousarray(headers[name]))
    return pa.RecordBatch.from_arrays([columns[n] for n in SCAN_SCHEMA.names], schema=SCAN_SCHEMA)
