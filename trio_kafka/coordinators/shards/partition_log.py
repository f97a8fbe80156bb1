"""Log of a shard: a partition that is led here, in one leader epoch.

The records of one event are one batch, or part of an accumulated one. Errors are those of a
coordinator: COORDINATOR_NOT_AVAILABLE while the partition cannot be written, NOT_COORDINATOR once
it is led elsewhere.
"""

from collections.abc import Callable, Iterable, Sequence
from typing import Final, TypeAlias

from trio_kafka.attributes import define
from trio_kafka.coordinators.shards.effects import CoordinatorRecord, Origin
from trio_kafka.coordinators.shards.open_batch import LARGEST_VARINTS, EncodedBatch
from trio_kafka.coordinators.shards.record_codec import RecordCodec
from trio_kafka.errors import ErrorCode, KafkaError
from trio_kafka.introspect.waits import Wait
from trio_kafka.log.append import Appended
from trio_kafka.log.transaction_checks import AppendCheck
from trio_kafka.purgatory import Purgatory
from trio_kafka.records.batch import BatchBody, ProducerFields, batch_of_one, close_batch
from trio_kafka.records.compression import Codec
from trio_kafka.records.control import encode_marker
from trio_kafka.records.header import HEADER_SIZE, TRANSACTIONAL, BatchHeader
from trio_kafka.replication.append_queue import Queued
from trio_kafka.replication.isr import ACKS_ALL, check_enough
from trio_kafka.replication.leader.append import append_own
from trio_kafka.replication.leader.append_waits import append_waits
from trio_kafka.replication.leader.produce_wait import acknowledged
from trio_kafka.replication.partition import Partition
from trio_kafka.replication.roles import Leading
from trio_kafka.scheduling.chunked_work import Steps

Batch: TypeAlias = tuple[memoryview, BatchHeader]
# Kafka's coordinators write this sequence, although there is no producer.
_PRODUCER: Final = ProducerFields(base_sequence=0)
_A_STEP: Final = 100  # records encoded in one step: 1 ms
_LOOSE: Final = 256 << 10  # bytes of a batch that need not be a single one
_COMPRESSED: Final = 64 << 10  # bytes compressed in one step: 2 ms
_GROWN: Final = 64  # incompressible bytes grow by less than 1/64
# Errors of a coordinator by the errors of its log.
_COORDINATOR_ERRORS: Final = {
    ErrorCode.UNKNOWN_TOPIC_OR_PARTITION: ErrorCode.COORDINATOR_NOT_AVAILABLE,
    ErrorCode.NOT_ENOUGH_REPLICAS: ErrorCode.COORDINATOR_NOT_AVAILABLE,
    ErrorCode.NOT_ENOUGH_REPLICAS_AFTER_APPEND: ErrorCode.COORDINATOR_NOT_AVAILABLE,
    ErrorCode.REQUEST_TIMED_OUT: ErrorCode.COORDINATOR_NOT_AVAILABLE,
    ErrorCode.NOT_LEADER_OR_FOLLOWER: ErrorCode.NOT_COORDINATOR,
    ErrorCode.FENCED_LEADER_EPOCH: ErrorCode.NOT_COORDINATOR,
    ErrorCode.UNKNOWN_LEADER_EPOCH: ErrorCode.NOT_COORDINATOR,
    ErrorCode.KAFKA_STORAGE_ERROR: ErrorCode.NOT_COORDINATOR,
    ErrorCode.MESSAGE_TOO_LARGE: ErrorCode.UNKNOWN_SERVER_ERROR,
    ErrorCode.RECORD_LIST_TOO_LARGE: ErrorCode.UNKNOWN_SERVER_ERROR,
}


class PartlyWrittenError(Exception):
    """Some batches of one event are in the log, and the others were refused."""


def as_coordinator(error: KafkaError) -> KafkaError:
    """Return the error that clients of a coordinator get. Source: GroupCoordinatorService."""
    code = _COORDINATOR_ERRORS.get(error.code)
    return error if code is None else KafkaError(code, error.message)


@define(eq=False)
class AppendReceipt:
    """Result of an append, or its place in the queue of a slow directory."""

    result: Appended | Queued


class PartitionLog:
    """Implements `ShardLog`."""

    def __init__(
        self,
        partition: Partition,
        *,
        leader_epoch: int,
        purgatory: Purgatory,
        codec: RecordCodec,
        compression: Codec,
    ) -> None:
        """purgatory: marked by partitions that change. codec: of the topic's records."""
        self.partition = partition
        self.leader_epoch = leader_epoch
        self._encode_record = codec.encode
        self._compression = compression
        self._is_plain = compression is Codec.NONE
        self._purgatory = purgatory
        self._changed: Callable[[], None] | None = None
        self._watched: list[object] = []

    @property
    def is_calm(self) -> bool:
        """See `ShardLog`."""
        log = self.partition.leading
        return log is not None and log.latency.calm and not log.writer.blocked_by

    def append(self, records: Sequence[CoordinatorRecord], now_ms: int) -> AppendReceipt | None:
        """See `ShardLog`."""
        if len(records) == 1 and self._is_plain:  # nearly always
            key, value = self._encode_record(records[0])
            if value is not None:
                batch, header = batch_of_one(key, value, now_ms, _PRODUCER)
                return self._append(self._checked(batch, header), now_ms)
        body = BatchBody()
        for record in records:
            body.add_pair(*self._encode_record(record), now_ms)
        return self._append(self._closed(body), now_ms)

    def _append(
        self, encoded: Batch, now_ms: int | None = None, check: AppendCheck | None = None
    ) -> AppendReceipt | None:
        """now_ms: time of the append, maybe later than that of the records. check: made now, and
        again at the turn of a queued append.
        """
        partition, (batch, header) = self.partition, encoded
        try:
            if check is not None and (log := partition.leading) is not None:
                check(log.producers, header)
            result = append_own(
                partition,
                batch,
                header,
                acks=ACKS_ALL,
                leader_epoch=self.leader_epoch,
                now_ms=now_ms,
                check=check,
            )
        except KafkaError as error:
            raise as_coordinator(error) from error
        role = partition.role
        if (
            type(result) is Appended
            and type(role) is Leading
            and result.last_offset < role.log.high_watermark
        ):
            return None  # no replica and no sync to wait for
        return AppendReceipt(result)

    def append_for(
        self, origin: Origin, records: Sequence[CoordinatorRecord], now_ms: int
    ) -> Steps[AppendReceipt | None]:
        """See `ShardLog`."""
        if origin.marker is not None:
            marker, header = encode_marker(
                origin.marker,
                producer_id=origin.producer_id,
                producer_epoch=origin.producer_epoch,
                timestamp=now_ms,
            )
            batch = memoryview(marker)
        else:
            body = BatchBody()
            for number, record in enumerate(records, 1):
                body.add_pair(*self._encode_record(record), now_ms)
                if not number % _A_STEP:
                    yield
            producer = ProducerFields(origin.producer_id, origin.producer_epoch, 0)
            batch, header = self._closed(body, producer, TRANSACTIONAL)
        return self._append((batch, header), now_ms, origin.check)

    def open(self) -> EncodedBatch[AppendReceipt]:
        """See `ShardLog`."""
        partition = self.partition
        try:
            partition.local_log(self.leader_epoch)
            check_enough(len(partition.isr), partition.minimum)
        except KafkaError as error:
            raise as_coordinator(error) from error
        room = min(self._limit, _LOOSE)
        if not self._is_plain:
            room = min(self._limit - self._limit // _GROWN, _COMPRESSED)
        return EncodedBatch(room, self._encode_record, self._append_open)

    def _append_open(self, body: BatchBody, now_ms: int) -> AppendReceipt | None:
        return self._append(self._closed(body), now_ms)

    def encode(
        self, records: Sequence[CoordinatorRecord], now_ms: int, *, atomic: bool = True
    ) -> Steps[list[Batch]]:
        """See `ShardLog`. Return batches within `max.message.bytes`."""
        limit = self._limit
        batches: list[Batch] = []
        body, size = BatchBody(), HEADER_SIZE
        for number, record in enumerate(records, 1):
            key, value = self._encode_record(record)
            grown = size + len(key) + len(value or b"") + LARGEST_VARINTS
            if not atomic and body.count and grown > min(limit, _LOOSE):
                batches.append(self._closed(body))
                body, grown = BatchBody(), grown - size + HEADER_SIZE
            size = grown
            body.add_pair(key, value, now_ms)
            if not number % _A_STEP:
                yield
        batches.append(self._closed(body))
        return batches

    def _closed(
        self, body: BatchBody, producer: ProducerFields = _PRODUCER, attributes: int = 0
    ) -> Batch:
        batch, header = close_batch(
            body, codec=self._compression, producer=producer, attributes=attributes
        )
        return self._checked(batch, header)

    def _checked(self, batch: bytearray, header: BatchHeader) -> Batch:
        """Return a batch that is not too large. Raises KafkaError."""
        limit = self.partition.settings.limits.max_message_bytes
        if len(batch) > limit:
            text = f"records of {len(batch)} bytes: expected at most {limit} (max.message.bytes)"
            raise as_coordinator(KafkaError(ErrorCode.MESSAGE_TOO_LARGE, text))
        return memoryview(batch), header

    @property
    def _limit(self) -> int:
        return self.partition.settings.limits.max_message_bytes

    def write(self, encoded: Iterable[Batch]) -> Steps[AppendReceipt | None]:
        """See `ShardLog`. The commit of the last batch is the commit of all.

        Raises PartlyWrittenError if a later batch is refused: the log then holds a part of the
        event.
        """
        written = None
        for number, each in enumerate(encoded):
            yield  # a batch may have a megabyte
            try:
                written = self._append(each)
            except KafkaError as error:
                if not number:
                    raise
                raise PartlyWrittenError(str(error)) from error
        return written

    def committed(self, written: AppendReceipt) -> bool:
        """See `ShardLog`."""
        result = written.result
        if isinstance(result, Queued):
            if result.result is None:
                return False
            if isinstance(result.result, KafkaError):
                raise as_coordinator(result.result)
            result = written.result = result.result
        try:
            return acknowledged(self.partition, result.last_offset + 1)
        except KafkaError as error:
            raise as_coordinator(error) from error

    def waits(self, written: AppendReceipt, now: float) -> tuple[Wait, ...]:
        """See `ShardLog`."""
        return append_waits(self.partition, written.result, ACKS_ALL, now)

    # Watching

    def watch(self, written: AppendReceipt, changed: Callable[[], None]) -> None:
        """See `ShardLog`."""
        self.unwatch()
        self._changed = changed
        self._watched = [self.partition]
        if isinstance(written.result, Queued):
            self._watched.append(written.result)
        for key in self._watched:
            self._purgatory.attach(key, self)

    def unwatch(self) -> None:
        """See `ShardLog`."""
        for key in self._watched:
            self._purgatory.detach(key, self)
        self._watched, self._changed = [], None

    def marked(self, key: object = None) -> None:
        """Implements the purgatory's watcher. The caller is amid its own work."""
        del key
        if self._changed is not None:
            self._changed()
