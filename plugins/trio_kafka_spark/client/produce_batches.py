"""Arrow records to encoded batches: collected until a batch is full, checked for size, split.

The encoder is trio_kafka.records.columnar; this module decides when it runs and on what.
"""

from typing import Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
from attrs import field

from trio_kafka.attributes import define, frozen
from trio_kafka.model import TopicPartition
from trio_kafka.records.batch import ProducerFields
from trio_kafka.records.columnar import EncodedBatch, decode, encode
from trio_kafka.records.compression import Codec
from trio_kafka_spark.client.errors import SourceError

TOO_LARGE: Final = "KAFKA_RECORD_TOO_LARGE"
_AROUND: Final = 21  # bytes of a record around key, value and headers, at most
_AROUND_HEADER: Final = 10
_BATCH_HEAD: Final = 61
_WHOLE: Final = (1 << 31) - 1
_ENCODED: Final = ("key", "value", "headers", "timestamp")


@frozen(kw_only=True)
class Encoding:
    """Settings of the batches of one producer."""

    codec: Codec
    level: int | None
    batch_bytes: int
    largest_request: int
    producer_id: int = -1
    producer_epoch: int = -1
    transactional: bool = False

    def encoded(
        self, records: pa.RecordBatch, sequence: int, timestamp_ms: int, *, whole: bool = False
    ) -> list[EncodedBatch]:
        """Return the batches of these records. whole: one batch, however large."""
        return encode(
            records,
            codec=self.codec,
            level=self.level,
            timestamp_ms=timestamp_ms,
            batch_bytes=_WHOLE if whole else self.batch_bytes,
            producer=ProducerFields(self.producer_id, self.producer_epoch, sequence),
            transactional=self.transactional,
        )

    def halves(
        self, where: TopicPartition, data: bytes, count: int, *, sequence: int
    ) -> list[EncodedBatch]:
        """Return the `count` records of a batch as two batches, with the same sequences."""
        decoded = decode(data, at=where, columns=_ENCODED, check_crcs=False, rows=count)
        records = pa.concat_batches(list(decoded))
        middle = records.num_rows // 2
        parts: list[EncodedBatch] = []
        for half in (records.slice(0, middle), records.slice(middle)):
            parts += self.encoded(half, sequence, 0, whole=True)
            sequence = (sequence + half.num_rows) % (1 << 31)
        return parts

    def check(self, where: TopicPartition, records: pa.RecordBatch) -> None:
        """Raise SourceError for a record that no request can carry."""
        sizes = sizes_of(records)
        if not len(sizes) or int(sizes.max()) + _BATCH_HEAD <= self.largest_request:
            return
        row = int(sizes.argmax())
        raise SourceError(
            TOO_LARGE,
            f"RecordTooLarge: a record for {where} has {sizes[row] + _BATCH_HEAD} bytes when"
            f" serialized, more than kafka.max.request.size, which is {self.largest_request};"
            " write smaller records, or raise that option and the topic's max.message.bytes",
        )


@define
class Collected:
    """Records of one partition that wait until they fill a batch."""

    parts: list[pa.RecordBatch] = field(factory=list)
    size: int = 0

    def fits(self, records: pa.RecordBatch) -> bool:
        """True if these records can follow those that wait: their columns are the same."""
        return not self.parts or self.parts[0].schema.equals(records.schema)

    def add(self, records: pa.RecordBatch) -> None:
        """Append records, whose columns must fit."""
        self.parts.append(records)
        self.size += records.nbytes

    def take(self) -> pa.RecordBatch:
        """Return all that waits, as one; nothing waits any more. There must be some."""
        parts, self.parts, self.size = self.parts, [], 0
        return parts[0] if len(parts) == 1 else pa.concat_batches(parts)


def sizes_of(records: pa.RecordBatch) -> npt.NDArray[np.int64]:
    """Return the most bytes that each record has in a batch without compression."""
    sizes = np.full(records.num_rows, _AROUND, np.int64)
    names = records.schema.names
    for name in ("key", "value"):
        if name in names:
            sizes += _lengths(records.column(name))
    if "headers" in names:
        headers = records.column("headers")
        entries = headers.flatten()
        each = _lengths(entries.field("key")) + _lengths(entries.field("value")) + _AROUND_HEADER
        ends = np.concatenate([np.zeros(1, np.int64), np.cumsum(each)])
        counts = np.asarray(pc.list_value_length(headers).fill_null(0), np.int64)
        stops = np.cumsum(counts)
        sizes += ends[stops] - ends[stops - counts]
    return sizes


def _lengths(column: pa.Array) -> npt.NDArray[np.int64]:
    return np.asarray(pc.binary_length(column).fill_null(0), np.int64)
