"""Figures of partitions, counted from their files."""

from collections import Counter
from typing import Final

from attrs import field

from trio_kafka.attributes import define
from trio_kafka.cli.log.batches import Batch, Gap, read_batches
from trio_kafka.cli.log.places import Folder, Kind, LogFile
from trio_kafka.cli.log.transaction_checks import Transactions
from trio_kafka.cli.log.words import size_text, time_text
from trio_kafka.errors import KafkaError
from trio_kafka.records.batch import Record
from trio_kafka.records.header import NO_PRODUCER_ID, NO_TIMESTAMP
from trio_kafka.world.blocking_file import open_reader


@define(kw_only=True)
class Content:
    """Figures of decoded records. plain: bytes of keys, values and headers."""

    records: int = 0
    key_bytes: int = 0
    value_bytes: int = 0
    header_bytes: int = 0
    null_keys: int = 0
    null_values: int = 0
    largest: int = 0
    stored: int = 0
    undecodable: int = 0

    def see(self, record: Record) -> None:
        """Count a record of a client."""
        key, value = len(record.key or b""), len(record.value or b"")
        headers = sum(len(name.encode()) + len(text or b"") for name, text in record.headers)
        self.records += 1
        self.key_bytes += key
        self.value_bytes += value
        self.header_bytes += headers
        self.null_keys += record.key is None
        self.null_values += record.value is None
        self.largest = max(self.largest, key + value + headers)

    def add(self, other: "Content") -> None:
        """Add the figures of another partition."""
        for name in _SUMS:
            setattr(self, name, getattr(self, name) + getattr(other, name))
        self.largest = max(self.largest, other.largest)

    @property
    def plain(self) -> int:
        return self.key_bytes + self.value_bytes + self.header_bytes

    def as_data(self) -> dict[str, object]:
        """Return the figures for JSON."""
        return {
            **{name: getattr(self, name) for name in _SUMS if name not in ("records", "stored")},
            "plain_bytes": self.plain,
            "largest_record": self.largest,
            "stored_to_plain": round(self.stored / self.plain, 3) if self.plain else None,
        }

    def as_text(self) -> str:
        """Return one line."""
        mean = self.plain / self.records if self.records else 0
        ratio = f"{self.stored / self.plain:.2f}" if self.plain else "-"
        return (
            f"content {size_text(self.plain)} (stored/content {ratio}): keys"
            f" {size_text(self.key_bytes)}, values {size_text(self.value_bytes)}, headers"
            f" {size_text(self.header_bytes)}; mean {mean:.0f} B, largest {self.largest} B;"
            f" {self.null_keys} without key, {self.null_values} without value,"
            f" {self.undecodable} damaged batches"
        )


_SUMS: Final = (
    "records",
    "key_bytes",
    "value_bytes",
    "header_bytes",
    "null_keys",
    "null_values",
    "stored",
    "undecodable",
)


@define(kw_only=True)
class Measure:
    """Figures of one partition, or of all."""

    segments: int = 0
    bytes: int = 0
    index_bytes: int = 0
    other_bytes: int = 0
    batches: int = 0
    records: int = 0
    control_batches: int = 0
    invalid_bytes: int = 0
    start_offset: int | None = None
    end_offset: int = 0
    earliest: int = NO_TIMESTAMP
    latest: int = NO_TIMESTAMP
    largest_batch: int = 0
    codecs: Counter[str] = field(factory=Counter)
    producers: set[int] = field(factory=set)
    epochs: set[int] = field(factory=set)
    transactions: Transactions = field(factory=Transactions)
    committed: int = 0
    aborted: int = 0
    open: int = 0
    content: Content = field(factory=Content)

    def see(self, batch: Batch) -> None:
        """Count a batch."""
        self.batches += 1
        self.largest_batch = max(self.largest_batch, batch.size)
        self.codecs[batch.codec] += 1
        self.latest = max(self.latest, batch.header.max_timestamp)
        begin = batch.header.base_timestamp
        if begin >= 0 and batch.header.delete_horizon is None:
            self.earliest = begin if self.earliest < 0 else min(self.earliest, begin)
        if not batch.is_message:
            self.records += max(batch.header.count, 0)
            self.epochs.add(batch.header.leader_epoch)
        self.control_batches += batch.header.is_control
        if batch.header.producer_id != NO_PRODUCER_ID:
            self.producers.add(batch.header.producer_id)
        self.end_offset = max(self.end_offset, batch.last_offset + 1)
        self.transactions.see(batch)
        self.transactions.aborted.clear()

    def add(self, other: "Measure") -> None:
        """Add the figures of a partition."""
        for name in _TOTALS:
            setattr(self, name, getattr(self, name) + getattr(other, name))
        self.largest_batch = max(self.largest_batch, other.largest_batch)
        self.latest = max(self.latest, other.latest)
        if other.earliest >= 0:
            begin = other.earliest
            self.earliest = begin if self.earliest < 0 else min(self.earliest, begin)
        self.codecs.update(other.codecs)
        self.content.add(other.content)

    def as_data(self, *, records: bool, is_total: bool = False) -> dict[str, object]:
        """Return the figures for JSON."""
        data: dict[str, object] = {name: getattr(self, name) for name in _TOTALS}
        data["earliest_timestamp"] = self.earliest
        data["latest_timestamp"] = self.latest
        data["largest_batch"] = self.largest_batch
        data["codecs"] = dict(self.codecs)
        if not is_total:
            data["start_offset"] = self.start_offset
            data["end_offset"] = self.end_offset
            data["missing_offsets"] = self.missing
            data["producers"] = len(self.producers)
            data["leader_epochs"] = sorted(self.epochs)
        if records:
            data["content"] = self.content.as_data()
        return data

    @property
    def missing(self) -> int:
        """Number of offsets without a record, as after compaction."""
        return self.end_offset - (self.start_offset or 0) - self.records

    def as_cells(self) -> list[str]:
        """Return the cells of a row, without the name."""
        codecs = " ".join(sorted(self.codecs)) or "-"
        transactions = f"{self.committed}/{self.aborted}/{self.open}"
        return [
            str(self.segments),
            size_text(self.bytes),
            str(self.batches),
            str(self.records),
            f"{self.start_offset}-{self.end_offset}" if self.start_offset is not None else "-",
            str(self.missing),
            time_text(self.earliest),
            time_text(self.latest),
            codecs,
            str(len(self.producers)),
            transactions,
        ]


_TOTALS: Final = (
    "segments",
    "bytes",
    "index_bytes",
    "other_bytes",
    "batches",
    "records",
    "control_batches",
    "invalid_bytes",
    "committed",
    "aborted",
    "open",
)
_INDEXES: Final = (Kind.OFFSET_INDEX, Kind.TIME_INDEX, Kind.TRANSACTION_INDEX)


def measure(folder: Folder, *, records: bool) -> Measure | None:
    """Measure a partition; None: the folder has no segment. OSError."""
    logs = folder.of_kind(Kind.SEGMENT)
    if not logs:
        return None
    total = Measure()
    for file in folder.files:
        try:
            size = file.path.stat().st_size
            if file.kind is Kind.SEGMENT and not file.mark:
                _measure_segment(file, total, records=records)
        except FileNotFoundError:
            continue  # deleted meanwhile
        if file.kind is Kind.SEGMENT:
            total.segments += not file.mark
            total.bytes += size
        elif file.kind in _INDEXES:
            total.index_bytes += size
        else:
            total.other_bytes += size
    total.committed, total.aborted = total.transactions.committed, total.transactions.aborts
    total.open = len(total.transactions.open)
    return total


def _measure_segment(file: LogFile, total: Measure, *, records: bool) -> None:
    with open_reader(file.path) as reader:
        if total.start_offset is None:
            total.start_offset = file.offset
        total.end_offset = max(total.end_offset, file.offset)
        for piece in read_batches(reader, check=False):
            if isinstance(piece, Gap):
                total.invalid_bytes += piece.end - piece.position
                continue
            total.see(piece)
            if piece.is_message or (records and not piece.header.is_control):
                _measure_records(piece, total, records=records)


def _measure_records(batch: Batch, total: Measure, *, records: bool) -> None:
    content = total.content
    content.stored += batch.size
    try:
        for record in batch.records():
            content.see(record)
            total.records += batch.is_message
    except KafkaError:
        content.undecodable += 1
    if not records:
        total.content = Content()
