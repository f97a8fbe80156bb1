"""Columns of decoded records: exactly Spark's types for a Kafka source."""

from collections.abc import Sequence
from typing import Final

import pyarrow as pa

HEADERS: Final = pa.list_(pa.struct([("key", pa.string()), ("value", pa.binary())]))
TIMESTAMP: Final = pa.timestamp("us", tz="UTC")
_TYPES: Final[dict[str, pa.DataType]] = {
    "key": pa.binary(),
    "value": pa.binary(),
    "topic": pa.string(),
    "partition": pa.int32(),
    "offset": pa.int64(),
    "timestamp": TIMESTAMP,
    "timestampType": pa.int32(),
    "headers": HEADERS,
}
COLUMNS: Final = tuple(_TYPES)


def arrow_schema(columns: Sequence[str] = COLUMNS) -> pa.Schema:
    """Return the schema of `columns`, in their order; each column is nullable, as in Spark.

    Raises ValueError for an unknown or repeated name.
    """
    for number, name in enumerate(columns):
        if name not in _TYPES:
            raise ValueError(f"column {name!r}, want some of {', '.join(COLUMNS)}")
        if name in columns[:number]:
            raise ValueError(f"column {name!r} is named twice")
    return pa.schema([(name, _TYPES[name]) for name in columns])
