"""Batches of one partition from one response: for users who read batches instead of records."""

from collections.abc import Iterator, Sequence
from typing import Generic, TypeVar

from trio_kafka.attributes import define
from trio_kafka.clients.consumer.fetched import FetchedData
from trio_kafka.clients.consumer.partition_state import PartitionState
from trio_kafka.clients.consumer.reading import RecordReader
from trio_kafka.clients.consumer.values import ConsumerRecord

K = TypeVar("K")
V = TypeVar("V")
_STEP = 128  # records decoded at once


@define(eq=False, kw_only=True)
class PartitionBatch(Generic[K, V]):
    """Batches of a partition from one Fetch response; records are decoded on demand.

    first_offset: of the first record. next_offset: offset after the last one, aborted ones too.
    """

    topic: str
    partition: int
    first_offset: int
    next_offset: int
    _state: PartitionState
    _data: FetchedData
    _reader: RecordReader[K, V]

    def records(self) -> Iterator[ConsumerRecord[K, V]]:
        """Yield the records, once. Raises KafkaError(CORRUPT_MESSAGE), SerializationError."""
        while True:
            raw, header = self._data.read(_STEP)
            if header is None:
                return
            yield from self._reader.decode(self._state, raw, header)

    def values(self) -> Iterator[list[bytes | None]]:
        """Yield the values as bytes, many at once: faster than `records`. Raises as that."""
        for values in self._data.values():
            self._reader.consumed.value += len(values)
            yield values

    def columns(self, names: Sequence[str] | None = None) -> Iterator[object]:
        """Yield the records as `pyarrow.RecordBatch`es, columns; needs the extra [columnar].

        names: of the columns; None: all.
        Raises KafkaError(CORRUPT_MESSAGE), ModuleNotFoundError with a hint.
        """
        from trio_kafka.records.columnar import COLUMNS, decode  # noqa: PLC0415 - pyarrow is optional

        for batch in decode(
            self._data.data,
            at=self._state.at,
            start=self.first_offset,
            columns=COLUMNS if names is None else names,
            aborted=self._data.aborted,
            check_crcs=self._data.checks_crc,
        ):
            self._reader.consumed.value += batch.num_rows
            yield batch
