"""Interceptors of consumers: of records that are handed out, and of offsets that are committed.

They see what `poll`, the loop over records and the tasks of partitions get, not whole batches.
Source: KIP-42.
"""

from collections import deque
from collections.abc import Mapping, Sequence
from typing import Generic, TypeVar

from attrs import field

from trio_kafka.attributes import define
from trio_kafka.clients.consumer.partition_state import PartitionState
from trio_kafka.clients.consumer.reading import RecordReader
from trio_kafka.clients.consumer.values import ConsumerRecord, OffsetAndMetadata
from trio_kafka.clients.interceptors import InterceptorChain
from trio_kafka.model import TopicPartition

K = TypeVar("K")
V = TypeVar("V")


class ConsumerInterceptor(Generic[K, V]):
    """Base of interceptors; each method may be overridden. None of them may wait."""

    def on_consume(self, records: Sequence[ConsumerRecord[K, V]]) -> Sequence[ConsumerRecord[K, V]]:
        """Return the records to hand out: others, fewer or more. Positions move as without it."""
        return records

    def on_commit(self, offsets: Mapping[TopicPartition, OffsetAndMetadata]) -> None:
        """Learn of offsets that were committed."""

    def close(self) -> None:
        """Learn of the end of the consumer."""


@define(eq=False, kw_only=True)
class InterceptedReader(RecordReader[K, V]):
    """Reader whose records pass through interceptors."""

    chain: InterceptorChain[ConsumerInterceptor[object, object]]
    _further: deque[ConsumerRecord[K, V]] = field(factory=deque, init=False)

    def read(self) -> list[ConsumerRecord[K, V]]:
        """See `RecordReader.read`."""
        return self._intercepted(super().read())

    def read_partition(self, state: PartitionState) -> list[ConsumerRecord[K, V]]:
        """See `RecordReader.read_partition`."""
        return self._intercepted(super().read_partition(state))

    def next(self) -> ConsumerRecord[K, V] | None:
        """See `RecordReader.next`."""
        while not self._further:
            record = super().next()
            if record is None:
                return None
            self._further.extend(self._intercepted([record]))
        return self._further.popleft()

    def _intercepted(self, records: list[ConsumerRecord[K, V]]) -> list[ConsumerRecord[K, V]]:
        if not records:
            return records
        return self.chain.passed(records, _on_consume)


def _on_consume(
    interceptor: ConsumerInterceptor[object, object], records: list[ConsumerRecord[K, V]]
) -> list[ConsumerRecord[K, V]]:
    return list(interceptor.on_consume(records))  # type: ignore[arg-type]
