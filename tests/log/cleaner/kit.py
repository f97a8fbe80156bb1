"""Logs to clean, in memory, and a plain model of what cleaning leaves of them."""

from collections.abc import Mapping, Sequence

from attrs import evolve, field

from trio_kafka.attributes import define, frozen
from trio_kafka.log.cleaner.cleaning import clean
from trio_kafka.log.cleaner.job import (
    CleaningJob,
    CleaningResult,
    CleaningRules,
    LastRecord,
    SealedFile,
    in_worker,
)
from trio_kafka.log.cleaner.rebuilding import rebuilt
from trio_kafka.log.files.names import LOG, TRANSACTION_INDEX, offset_file
from trio_kafka.log.index.aborted_transactions import AbortedTransaction
from trio_kafka.log.index.transaction import ENTRY
from trio_kafka.model import TopicPartition
from trio_kafka.records.batch import (
    NO_PRODUCER,
    ProducerFields,
    Record,
    encode_batch,
    iterate_headers,
    read_records,
)
from trio_kafka.records.compression import Codec
from trio_kafka.records.control import ControlType, control_record
from trio_kafka.records.header import (
    CONTROL,
    HEADER_SIZE,
    LOG_APPEND_TIME,
    TRANSACTIONAL,
    BatchHeader,
    check_crc,
)
from trio_kafka.scheduling.chunked_work import whole
from trio_kafka.world.in_memory import MemoryDisk
from trio_kafka.world.protocols import Directory

PARTITION = TopicPartition("compacted", 0)


def new_directory() -> Directory:
    return MemoryDisk().directory("/compacted-0", create=True)


def rules(now_ms: int = 1_000_000, **changes: object) -> CleaningRules:
    """Rules with Kafka's defaults, and small buffers."""
    defaults = CleaningRules(
        partition=PARTITION,
        now_ms=now_ms,
        delete_retention_ms=1000,
        dedupe_buffer_bytes=1 << 20,
        load_factor=0.9,
        io_buffer_bytes=4096,
        segment_bytes=1 << 20,
        segment_index_bytes=1 << 20,
        index_interval_bytes=4096,
    )
    return evolve(defaults, **changes)


def write_segments(
    directory: Directory, segments: Mapping[int, Sequence[bytes]]
) -> tuple[SealedFile, ...]:
    """Write segments, by base offset, and return what a job must know about them."""
    files = []
    for base_offset, batches in sorted(segments.items()):
        name = offset_file(base_offset, LOG)
        file = directory.open(name) if directory.exists(name) else directory.create(name)
        file.truncate(0)
        content = b"".join(batches)
        if content:
            file.append((content,))
        file.close()
        files.append(
            SealedFile(base_offset=base_offset, size=len(content), index_size=0, time_index_size=0)
        )
    return tuple(files)


def run(directory: Directory, job: CleaningJob) -> CleaningResult:
    """Run a job to its end."""
    return whole(in_worker(clean(directory, job)))


def read_file(directory: Directory, name: str) -> bytes:
    file = directory.open(name)
    buffer = bytearray(file.size)
    if buffer:
        assert file.try_read(0, buffer) == len(buffer)
    file.close()
    return bytes(buffer)


def cleaned_batches(directory: Directory, job: CleaningJob, done: CleaningResult) -> list[bytes]:
    """All batches of all new segments."""
    batches = []
    for group in done.groups:
        content = read_file(directory, job.name(group.base_offset, LOG))
        assert len(content) == group.size
        for position, header in iterate_headers(content):
            check_crc(content, position, header)
            assert header.base_offset >= group.base_offset
            batches.append(content[position : position + header.size])
    return batches


def cleaned_transactions(
    directory: Directory, job: CleaningJob, done: CleaningResult
) -> list[AbortedTransaction]:
    """All entries of all new transaction indexes."""
    transactions = []
    for group in done.groups:
        name = job.name(group.base_offset, TRANSACTION_INDEX)
        assert directory.exists(name) == (group.transactions > 0)
        if group.transactions:
            entries = list(ENTRY.iter_unpack(read_file(directory, name)))
            assert len(entries) == group.transactions
            transactions += [
                AbortedTransaction(
                    producer_id=entry[1],
                    first_offset=entry[2],
                    last_offset=entry[3],
                    last_stable_offset=entry[4],
                )
                for entry in entries
            ]
    return transactions


@define(eq=False)
class Transaction:
    """A transaction of the model. marker: the offset of its end."""

    producer_id: int
    first_offset: int
    aborted: bool = False
    marker: int = -1


@frozen(kw_only=True)
class Seen:
    """A batch as a reader sees it. horizon: when its tombstones or its marker may go."""

    base_offset: int
    last_offset: int
    leader_epoch: int
    codec: int
    attributes: int  # transactional, control, time of the append
    producer: tuple[int, int, int]
    horizon: int | None
    max_timestamp: int
    records: tuple[tuple[int, int, bytes | None, bytes | None, tuple[object, ...]], ...]
    transaction: Transaction | None = field(default=None, eq=False)

    @property
    def is_control(self) -> bool:
        return bool(self.attributes & CONTROL)


def seen(batch: bytes, transaction: Transaction | None = None) -> Seen:
    """Read a batch."""
    ((_, header),) = iterate_headers(batch)
    return Seen(
        base_offset=header.base_offset,
        last_offset=header.last_offset,
        leader_epoch=header.leader_epoch,
        codec=header.codec,
        attributes=header.attributes & 0x38,
        producer=(header.producer_id, header.producer_epoch, header.base_sequence),
        horizon=header.delete_horizon,
        max_timestamp=header.max_timestamp,
        records=tuple(
            (record.offset, record.timestamp, record.key, record.value, tuple(record.headers))
            for record in read_records(batch, 0, header)
        ),
        transaction=transaction,
    )


def data_batch(
    base_offset: int,
    records: Sequence[Record],
    *,
    codec: Codec = Codec.NONE,
    producer: ProducerFields = NO_PRODUCER,
    attributes: int = 0,
) -> bytes:
    return encode_batch(
        records, base_offset, 3, codec=codec, producer=producer, attributes=attributes
    )


def marker_batch(base_offset: int, producer: ProducerFields, *, commit: bool, time: int) -> bytes:
    kind = ControlType.COMMIT if commit else ControlType.ABORT
    record = control_record(kind, b"\0\0\0\0\0\1", time)
    fields = ProducerFields(producer.producer_id, producer.producer_epoch, -1)
    return encode_batch(
        [record], base_offset, 3, producer=fields, attributes=CONTROL | TRANSACTIONAL
    )


def header_of(batch: bytes) -> BatchHeader:
    ((_, header),) = iterate_headers(batch)
    return header


def malformed(batch: bytes, at: int = -1, byte: int = 3) -> bytes:
    """A batch with one false byte in its records, and the checksum of that."""
    header = header_of(batch)
    content = bytearray(batch[HEADER_SIZE:])
    content[at] = byte
    fields = {"count": header.count, "max_timestamp": header.max_timestamp}
    return rebuilt(header, bytes(content), **fields)[1]


@define(kw_only=True)
class Model:
    """Return the records that cleaning leaves, by rules that look at the whole log at once."""

    first_dirty: int
    upper_bound: int
    now_ms: int
    delete_retention_ms: int = 1000
    active: Mapping[int, LastRecord] = field(factory=dict)

    def clean(self, batches: Sequence[Seen]) -> list[Seen]:
        latest = {
            key: offset
            for batch in batches
            if not batch.is_control and not (batch.transaction and batch.transaction.aborted)
            for offset, _, key, _, _ in batch.records
            if key is not None and offset >= self.first_dirty
        }
        markers_only = {
            id(batch.transaction)
            for batch in batches
            if batch.is_control
            and not any(
                other.transaction is batch.transaction and not other.is_control for other in batches
            )
        }
        kept = []
        for batch in batches:
            due = batch.horizon is not None and batch.horizon <= self.now_ms
            if batch.is_control:
                begins = id(batch.transaction) in markers_only
                records = () if begins and due else batch.records
            elif batch.transaction and batch.transaction.aborted:
                records = ()
            else:
                records = tuple(
                    record
                    for record in batch.records
                    if record[2] is not None
                    and record[0] >= latest.get(record[2], -1)
                    and (record[3] is not None or not due)
                )
                begins = any(record[3] is None for record in records)
            if records:
                kept.append(self._with(batch, records, begins=begins))
            elif self._stays_empty(batch):
                kept.append(evolve(batch, records=(), horizon=None, codec=0))
        return kept

    def _with(self, batch: Seen, records: tuple[object, ...], *, begins: bool) -> Seen:
        horizon = batch.horizon
        if begins and horizon is None:
            horizon = self.now_ms + self.delete_retention_ms
        max_timestamp = batch.max_timestamp
        if not batch.attributes & LOG_APPEND_TIME and records != batch.records:
            max_timestamp = max(record[1] for record in records)
        return evolve(batch, records=records, horizon=horizon, max_timestamp=max_timestamp)

    def _stays_empty(self, batch: Seen) -> bool:
        if batch.last_offset + 1 == self.upper_bound:
            return True
        producer_id, epoch, _ = batch.producer
        last = self.active.get(producer_id)
        if producer_id < 0 or last is None:
            return False
        if last.last_data_offset is None:
            return batch.is_control and epoch == last.epoch
        return batch.last_offset == last.last_data_offset
