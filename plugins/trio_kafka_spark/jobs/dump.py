"""Records as text: what DumpLogSegments prints, as columns."""

from typing import Final

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as sf

_LONGEST: Final = 1 << 20


def dump(records: DataFrame, longest: int = _LONGEST) -> DataFrame:
    """Return one row a record, in the order of the log.

    records: rows with topic, partition, offset, timestamp, timestampType, key, value, and headers
        if they are wanted. longest: characters of a text that are shown.
    Columns: topic, partition, offset, timestamp, timestamp_type (CreateTime or LogAppendTime),
    key, value (text; `0x` and hexadecimal digits where the bytes are no UTF-8; null as it is),
    key_bytes, value_bytes (-1: null), and headers (array of `name=value`), if there are any.
    """
    columns: list[Column | str] = [
        "topic",
        "partition",
        "offset",
        "timestamp",
        sf.when(sf.col("timestampType") == 1, "LogAppendTime")
        .otherwise("CreateTime")
        .alias("timestamp_type"),
        as_text(sf.col("key"), longest).alias("key"),
        as_text(sf.col("value"), longest).alias("value"),
        sf.coalesce(sf.octet_length("key"), sf.lit(-1)).alias("key_bytes"),
        sf.coalesce(sf.octet_length("value"), sf.lit(-1)).alias("value_bytes"),
    ]
    if "headers" in records.columns:
        shown = sf.transform("headers", lambda header: _header(header, longest))
        columns.append(sf.coalesce(shown, sf.array()).alias("headers"))
    return records.orderBy("topic", "partition", "offset").select(*columns)


def as_text(data: Column, longest: int = _LONGEST) -> Column:
    """Return bytes as text: UTF-8, or else hexadecimal digits behind `0x`."""
    text = data.cast("string")
    digits = sf.concat(sf.lit("0x"), sf.lower(sf.hex(data)))
    return sf.substring(sf.when(sf.is_valid_utf8(text), text).otherwise(digits), 1, longest)


def _header(header: Column, longest: int) -> Column:
    value = sf.coalesce(as_text(header["value"], longest), sf.lit("null"))
    return sf.concat(header["key"], sf.lit("="), value)
