"""Producer for users. See `opening.open_producer`.

`send` waits for metadata and memory, never for a broker's answer.
"""

from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from typing import TYPE_CHECKING, Final, Generic, TypeVar

import trio
from attrs import field

from trio_kafka.attributes import define
from trio_kafka.clients.client import Client
from trio_kafka.clients.errors import ClosedError
from trio_kafka.clients.producer.accumulator import Accumulator
from trio_kafka.clients.producer.batch import OBJECT_BYTES
from trio_kafka.clients.producer.bulk import BulkSends, Column
from trio_kafka.clients.producer.bulk_receipt import BulkReceipt
from trio_kafka.clients.producer.partitioner import PartitionChoice
from trio_kafka.clients.producer.preparation import RecordPreparation
from trio_kafka.clients.producer.receipt import Receipt, wait_end
from trio_kafka.clients.producer.record import ProducerRecord
from trio_kafka.clients.producer.sender import Sender
from trio_kafka.clients.producer.waits import topic_nowait, wait_memory, wait_topic
from trio_kafka.clients.settings.producer import ProducerSettings
from trio_kafka.introspect.tree import Figures
from trio_kafka.records.batch import Record
from trio_kafka.telemetry.metric import MetricName

if TYPE_CHECKING:  # most producers have no transactions
    from trio_kafka.clients.producer.transactions.transaction import Transaction, Transactions

K = TypeVar("K")
V = TypeVar("V")
_PAUSE_AFTER: Final = 64  # records between two pauses of tasks that send without waiting


@define(eq=False, kw_only=True)
class Producer(Generic[K, V]):
    """Sends records. Several tasks may use it at once."""

    client: Client
    settings: ProducerSettings
    accumulator: Accumulator
    sender: Sender
    preparation: RecordPreparation[K, V]
    choice: PartitionChoice
    transactions: "Transactions | None" = None
    is_closed: bool = field(default=False, init=False)
    _since_pause: int = field(default=0, init=False)
    _wall: Callable[[], float] = field(init=False)
    _many: BulkSends[K, V] = field(init=False)

    def __attrs_post_init__(self) -> None:
        self._wall = self.client.world.clock.wall
        self._many = BulkSends(
            sender=self.sender,
            preparation=self.preparation,
            choice=self.choice,
            check=self.check_open,
        )

    async def send(self, record: ProducerRecord[K, V]) -> Receipt:
        """Queue a record, and return its receipt.

        Waits at most `max.block.ms` for the topic's metadata and for memory together. Gives way to
        other tasks after some records only, as a pause for each would cost more than the record.
        If it raises, trio.Cancelled too, the record is not queued and will never be sent. Once it
        has returned, no cancellation takes the record back: see `Receipt.may_be_stored`.
        Raises TimedOutError, BufferExhaustedError, RecordTooLargeError, SerializationError,
        TopicError, AuthorizationError, ClosedError, FatalError.
        """
        self._since_pause += 1
        if self._since_pause >= _PAUSE_AFTER:
            self._since_pause = 0
            await trio.lowlevel.checkpoint()
        else:
            await trio.lowlevel.checkpoint_if_cancelled()
        self.check_open()
        key, value, size = self.preparation.prepare(record)
        began = now = trio.current_time()
        partition = self._partition_nowait(record, key, value, now)
        if partition is None:
            deadline = began + self.settings.max_block_ms / 1000
            topic = await wait_topic(
                self.client.metadata,
                record.topic,
                record.partition,
                deadline=deadline,
                check=self.check_open,
            )
            partition = record.partition
            if partition is None:
                partition = self.choice.choose(topic, key, value)
            now = trio.current_time()
        if not self.accumulator.pool.try_take(size + OBJECT_BYTES):
            deadline = began + self.settings.max_block_ms / 1000
            await wait_memory(
                self.accumulator.pool,
                record.topic,
                size + OBJECT_BYTES,
                deadline=deadline,
                wake=self.sender.wake,
                check=self.check_open,
            )
            now = trio.current_time()
        return self._append(
            record.topic, partition, self._encodable(record, key, value), size=size, now=now
        )

    def send_nowait(self, record: ProducerRecord[K, V]) -> Receipt:
        """Queue a record without waiting. Raises trio.WouldBlock, and as `send`."""
        self.check_open()
        key, value, size = self.preparation.prepare(record)
        now = trio.current_time()
        partition = self._partition_nowait(record, key, value, now)
        if partition is None or not self.accumulator.pool.try_take(size + OBJECT_BYTES):
            raise trio.WouldBlock
        return self._append(
            record.topic, partition, self._encodable(record, key, value), size=size, now=now
        )

    async def send_many(
        self,
        topic: str,
        values: Column[V],
        keys: Column[K | None] | None = None,
        *,
        partition: int | None = None,
        timestamp_ms: int | None = None,
        receipt: BulkReceipt | None = None,
    ) -> BulkReceipt:
        """Queue many records without headers, and return their common receipt.

        Faster than `send`, with the same promises: records of a partition keep their order.
        values, keys: of equal length: sequences, or arrays of pyarrow; keys None: all are null.
        partition, timestamp_ms: of all records; None: as in `send`.
        receipt: counts these records on; None: a new one.
        Waits as `send`, for each 2048 records or 256 KiB anew. If it raises, trio.Cancelled too,
        the records that `receipt` has counted are queued, and the others will never be sent.
        Raises as `send`, with the positions of the records; ValueError for unequal lengths.
        """
        receipt = BulkReceipt() if receipt is None else receipt
        if keys is not None and len(keys) != len(values):
            raise ValueError(f"{len(keys)} keys for {len(values)} values: want as many")
        self.check_open()
        await self._send_many(
            topic, values, keys, partition=partition, timestamp_ms=timestamp_ms, receipt=receipt
        )
        return receipt

    async def flush(self) -> None:
        """Wait until all records that were queued before are stored or have failed.

        Raises nothing for a record that fails: its receipt does.
        """
        await trio.lowlevel.checkpoint()
        self.accumulator.flushes += 1
        self.sender.wake()
        try:
            for batch in list(self.accumulator.incomplete()):
                await wait_end(batch)
        finally:
            self.accumulator.flushes -= 1

    def transaction(self) -> "AbstractAsyncContextManager[Transaction]":
        """Return a transaction: the end of its block commits, an exception aborts.

        Records can be sent in its block only, by any task. Raises AbortableError if a record has
        failed: the transaction was aborted then. Raises TimedOutError if it is not known whether
        the transaction is committed; FatalError if the producer can only be closed; ValueError
        without `transactional.id`.
        """
        if self.transactions is None:
            raise ValueError("no transactions: want the setting transactional.id")
        return self.transactions.run()

    async def partitions(self, topic: str) -> list[int]:
        """Return the partitions of a topic. Waits and raises as `send`."""
        timeout_s = self.settings.max_block_ms / 1000
        metadata = await self.client.metadata.wait_topic(topic, timeout_s=timeout_s)
        return sorted(metadata.partitions)

    async def drain(self) -> None:
        """Accept no more records, and wait for the ends of all; `delivery.timeout.ms` bounds it."""
        self.is_closed = self.accumulator.is_closing = True
        await self.flush()

    def check_open(self) -> None:
        """Raise ClosedError, or the fatal error of the producer, if it takes no more records."""
        if self.is_closed:
            raise ClosedError("the producer is closed")
        if self.sender.delivery.fatal is not None:
            raise self.sender.delivery.fatal.again()
        if self.transactions is not None:
            self.transactions.machine.check_open()

    def metrics(self) -> dict[MetricName, float]:
        """Return the metrics of the producer, by Kafka's names."""
        return self.client.metrics()

    def figures(self) -> Figures:
        """Return the figures of the producer for the tree."""
        waiting, in_flight = self.accumulator.counts()
        pool = self.accumulator.pool
        return {
            "batches": waiting,
            "in_flight": in_flight,
            "memory": pool.total - pool.free,
            "waiting_for_memory": pool.waiting,
            "flushes": self.accumulator.flushes,
        }

    # --- the way of a record

    async def _send_many(
        self,
        topic: str,
        values: Column[V],
        keys: Column[K | None] | None,
        *,
        partition: int | None,
        timestamp_ms: int | None,
        receipt: BulkReceipt,
    ) -> None:
        await self._many.send(
            topic, values, keys, partition=partition, timestamp_ms=timestamp_ms, receipt=receipt
        )

    def _encodable(
        self, record: ProducerRecord[K, V], key: bytes | None, value: bytes | None
    ) -> Record:
        timestamp_ms = record.timestamp_ms
        if timestamp_ms is None:
            timestamp_ms = int(self._wall() * 1000)
        return Record(-1, timestamp_ms, key, value, record.headers)

    def _partition_nowait(
        self, record: ProducerRecord[K, V], key: bytes | None, value: bytes | None, now: float
    ) -> int | None:
        """Return the partition of a record; None if it is not known whether the topic has it."""
        topic = topic_nowait(self.client.metadata, record.topic, record.partition, now)
        if topic is None or record.partition is not None:
            return None if topic is None else record.partition
        return self.choice.choose(topic, key, value)

    def _append(
        self, topic: str, partition: int, record: Record, *, size: int, now: float
    ) -> Receipt:
        """Put a record, whose memory is taken, into a batch. Never waits."""
        queue = self.accumulator.queue_of(topic, partition)
        batch, number = self.accumulator.add(queue, record, size, now)
        self.sender.note_added(batch, now, is_new=not number)
        self.choice.added(topic, partition, size, is_full=batch.is_full)
        return Receipt(batch, number, record.timestamp)
