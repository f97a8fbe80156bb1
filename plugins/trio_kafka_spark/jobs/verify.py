"""Verify log directories: batches, their order, and the indexes that point to them.

Findings are rows, so that a thousand segments are verified by all cores and a table of them can be
kept. No row: everything agrees.
"""

from collections.abc import Iterable, Iterator
from typing import Final

import pyarrow as pa
from pyspark.sql import DataFrame

from trio_kafka.model import TopicPartition
from trio_kafka_spark.log.check import check_segment
from trio_kafka_spark.log.directories import SegmentFile, list_segments, next_segments
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
