"""Verify log directories: batches, their order, and the indexes that point to them.

Findings are rows: all cores share the segments, and the findings can be kept as a table. No row:
everything agrees. `log/check.py` has the checks.
"""

from collections.abc import Callable, Iterable, Iterator
from functools import lru_cache
from pathlib import Path
from typing import Final

import pyarrow as pa
from pyspark.sql import DataFrame

from trio_kafka.model import TopicPartition
from trio_kafka_spark.log.check import check_segment
from trio_kafka_spark.log.directories import SegmentFile, list_segments
from trio_kafka_spark.log.schemas import ddl

FINDINGS: Final = pa.schema(
    [
        ("topic", pa.string()),
        ("partition", pa.int32()),
        ("file", pa.string()),
        ("position", pa.int64()),
        ("kind", pa.string()),
        ("error", pa.string()),
    ]
)
_DIRECTORIES: Final = 64  # listings that a task keeps


def verify(segments: DataFrame) -> DataFrame:
    """Return one row a finding, in no order: to sort them would check everything twice.

    segments: rows with topic, partition, file and base_offset (view=segments), whose files the
        machines that run tasks can read.
    Columns: topic, partition, file (a log or an index), position (bytes from its begin), kind
    (`batch`, `order`, `offset index`, `time index`, `transaction index`), error.
    """
    files = segments.select("topic", "partition", "file", "base_offset").repartition("file")
    return files.mapInArrow(checked, ddl(FINDINGS))


def checked(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Yield the findings for batches of segments; those that vanished have none."""
    listed = lru_cache(_DIRECTORIES)(_segments_of)
    for batch in batches:
        for row in batch.to_pylist():
            findings = list(_findings(row, listed))
            if findings:
                yield pa.RecordBatch.from_pylist(findings, schema=FINDINGS)


def _findings(
    row: dict[str, object], listed: Callable[[str], dict[str, SegmentFile]]
) -> Iterator[dict[str, object]]:
    file = str(row["file"])
    segment = listed(str(Path(file).parent)).get(file)
    if segment is None:
        return
    at = TopicPartition(str(row["topic"]), int(str(row["partition"])))
    for finding in check_segment(at, segment):
        yield {
            "topic": at.topic,
            "partition": at.partition,
            "file": finding.file,
            "position": finding.position,
            "kind": finding.kind,
            "error": finding.error,
        }


def _segments_of(directory: str) -> dict[str, SegmentFile]:
    return {segment.path: segment for segment in list_segments(Path(directory))}
