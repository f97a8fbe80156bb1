"""Interceptors of producers: before a record is serialized, and at its end (KIP-42)."""

from typing import Generic, TypeVar

import trio
from attrs import field

from trio_kafka.attributes import define
from trio_kafka.clients.errors import ClientError
from trio_kafka.clients.interceptors import InterceptorChain
from trio_kafka.clients.producer.batch import ProducerBatch
from trio_kafka.clients.producer.bulk import Column, pairs
from trio_kafka.clients.producer.bulk_receipt import BulkReceipt
from trio_kafka.clients.producer.producer import Producer
from trio_kafka.clients.producer.receipt import Receipt
from trio_kafka.clients.producer.record import ProducerRecord, RecordMetadata
from trio_kafka.model import TopicPartition

K = TypeVar("K")
V = TypeVar("V")


class ProducerInterceptor(Generic[K, V]):
    """Base of interceptors; each method may be overridden. None of them may wait."""

    def on_send(self, record: ProducerRecord[K, V]) -> ProducerRecord[K, V]:
        """Return the record to send, before it is serialized."""
        return record

    def on_acknowledgement(
        self, metadata: RecordMetadata | None, error: ClientError | None
    ) -> None:
        """Learn of the end of a record: of its place, or of its error."""

    def close(self) -> None:
        """Learn of the end of the producer."""


@define(eq=False, kw_only=True)
class RecordEnds:
    """Records whose interceptors have not learned of their ends."""

    chain: InterceptorChain[ProducerInterceptor[object, object]]
    _receipts: dict[TopicPartition, dict[ProducerBatch, list[Receipt]]] = field(
        factory=dict, init=False
    )

    def track(self, receipt: Receipt) -> None:
        """Tell the interceptors of the end of a record when it comes."""
        batch = receipt.batch
        if receipt.is_done:
            self._tell(receipt)
            return
        self._receipts.setdefault(batch.place, {}).setdefault(batch, []).append(receipt)

    def note_end(self, batch: ProducerBatch) -> None:
        """Tell the interceptors of the records of a batch that has ended, or of a part of one."""
        batches = self._receipts.get(batch.place, {})
        for origin in [batch] if batch in batches else list(batches):
            receipts = batches.pop(origin)
            pending = [receipt for receipt in receipts if not receipt.is_done]
            if pending:
                batches[origin] = pending
            for receipt in receipts:
                if receipt.is_done:
                    self._tell(receipt)
        if not batches:
            self._receipts.pop(batch.place, None)

    def failed(self, error: ClientError) -> None:
        """Tell the interceptors of a record that was not queued."""
        self.chain.tell(lambda interceptor: interceptor.on_acknowledgement(None, error))

    def _tell(self, receipt: Receipt) -> None:
        metadata, failure = None, None
        try:
            metadata = receipt.result()
        except ClientError as error:
            failure = error
        self.chain.tell(lambda interceptor: interceptor.on_acknowledgement(metadata, failure))


@define(eq=False, kw_only=True)
class InterceptedProducer(Producer[K, V]):
    """Producer with interceptors. A class of its own: without them a record pays nothing."""

    ends: RecordEnds

    async def send(self, record: ProducerRecord[K, V]) -> Receipt:
        """See `Producer.send`."""
        record = self._intercepted(record)
        try:
            receipt = await super().send(record)
        except ClientError as error:
            self.ends.failed(error)
            raise
        self.ends.track(receipt)
        return receipt

    def send_nowait(self, record: ProducerRecord[K, V]) -> Receipt:
        """See `Producer.send_nowait`. A record that would have to wait is intercepted again."""
        record = self._intercepted(record)
        try:
            receipt = super().send_nowait(record)
        except ClientError as error:
            self.ends.failed(error)
            raise
        self.ends.track(receipt)
        return receipt

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
        """Send one by one: an interceptor may change each record, its topic too."""
        await trio.lowlevel.checkpoint()
        for value, key in pairs(values, keys):
            single = await self.send(
                ProducerRecord(
                    topic, value, key=key, partition=partition, timestamp_ms=timestamp_ms
                )
            )
            receipt.note(single.batch, single.number, (receipt.next_position,))

    def _intercepted(self, record: ProducerRecord[K, V]) -> ProducerRecord[K, V]:
        self.check_open()
        return self.ends.chain.passed(record, _on_send)


def _on_send(
    interceptor: ProducerInterceptor[object, object], record: ProducerRecord[K, V]
) -> ProducerRecord[K, V]:
    return interceptor.on_send(record)  # type: ignore[arg-type,return-value]
