"""Rows for jobs, and DataFrames of log directories."""

from datetime import UTC, datetime
from pathlib import Path

RECORD = (
    "topic string, partition int, offset bigint, timestamp timestamp, timestampType int,"
    " key binary, value binary, headers array<struct<key:string,value:binary>>"
)


def at(seconds: float) -> datetime:
    """A time in 2026."""
    return datetime.fromtimestamp(1_780_000_000 + seconds, UTC)


def record(
    offset: int,
    key: bytes | None = b"k",
    value: bytes | None = b"v",
    *,
    topic: str = "t",
    partition: int = 0,
    seconds: float | None = None,
    headers: list[tuple[str, bytes | None]] | None = None,
) -> tuple:
    time = at(offset if seconds is None else seconds)
    return (topic, partition, offset, time, 0, key, value, headers)


def records(spark, *rows):
    return spark.createDataFrame(list(rows), RECORD)


def view(spark, root: Path, name: str, **options):
    return spark.read.format("trio-kafka-log").options(path=root, view=name, **options).load()


def tuples(frame, *columns: str) -> list[tuple]:
    """Rows as tuples, of some columns."""
    chosen = frame.select(*columns) if columns else frame
    return [tuple(row) for row in chosen.collect()]
