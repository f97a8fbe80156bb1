"""Rows of an Arrow batch, split by the topic and partition that each goes to.

The column `partition` wins, then the key, then the sticky partition. Rows keep their order within a
partition. All of it is done on whole columns; rows are copied only where a batch has more than one
destination.
"""

from collections.abc import Callable, Iterator, Sequence
from typing import Any, Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from attrs import field

from trio_kafka.attributes import define, frozen
from trio_kafka.model import TopicPartition
from trio_kafka_spark.client.errors import SourceError
from trio_kafka_spark.client.produce_batches import sizes_of
from trio_kafka_spark.sink.options import NULL_TOPIC
from trio_kafka_spark.sink.partitioner import Ints, Sticky, key_partitions

BAD_PARTITION: Final = "KAFKA_INVALID_PARTITION"
_HEADERS: Final = pa.list_(pa.struct([("key", pa.string()), ("value", pa.binary())]))


@frozen
class TopicPartitions:
    """Partitions of a topic: how many there are, and which have a leader."""

    count: int
    available: Sequence[int]


@define(kw_only=True)
class Router:
    """Topic and partition of each row.

    topic: where all rows go; None: the column `topic` says. partitions_of: looks a topic up.
    sticky_bytes: after so many bytes without a key the next partition is used.
    """

    partitions_of: Callable[[str], TopicPartitions]
    topic: str | None = None
    timestamp_column: str | None = None
    sticky_bytes: int = 16 << 10
    ignore_keys: bool = False
    _sticky: dict[str, Sticky] = field(factory=dict, init=False)

    def route(self, rows: pa.RecordBatch) -> Iterator[tuple[TopicPartition, pa.RecordBatch]]:
        """Yield the records for each partition, in the order of the rows.

        Raises SourceError for a null topic and for a partition that the topic does not have.
        """
        if not rows.num_rows:
            return
        records = records_of(rows, self.timestamp_column)
        for topic, some, partition in self._by_topic(rows, records):
            for number, part in _grouped(self._partitions(topic, some, partition), some):
                yield TopicPartition(topic, number), part

    def _by_topic(
        self, rows: pa.RecordBatch, records: pa.RecordBatch
    ) -> Iterator[tuple[str, pa.RecordBatch, pa.Array | None]]:
        """Yield each topic with its records and what the column `partition` says of them."""
        partition = rows.column("partition") if "partition" in rows.schema.names else None
        if self.topic is not None:
            yield self.topic, records, partition
            return
        topics = rows.column("topic")
        if topics.null_count:
            raise SourceError(
                NULL_TOPIC,
                "The Kafka message data sent to the producer contains a null topic."
                " Use the `topic` option for setting a default topic.",
            )
        named = topics.dictionary_encode()
        names = named.dictionary.to_pylist()
        if len(names) == 1:
            yield names[0], records, partition
            return
        if partition is not None:
            records = records.append_column("partition", partition)
        for code, some in _grouped(np.asarray(named.indices, np.int64), records):
            if partition is None:
                yield names[code], some, None
            else:
                yield names[code], some.drop_columns(["partition"]), some.column("partition")

    def _partitions(self, topic: str, records: pa.RecordBatch, partition: pa.Array | None) -> Ints:
        partitions = self.partitions_of(topic)
        chosen = np.full(records.num_rows, -1, np.int64)
        if partition is not None and partition.null_count < len(partition):
            chosen = np.asarray(partition.cast(pa.int64()).fill_null(-1), np.int64).copy()
            _check_partitions(
                topic, chosen, is_set=np.asarray(partition.is_valid()), count=partitions.count
            )
        if "key" in records.schema.names and not self.ignore_keys:
            keys = records.column("key")
            if keys.null_count < len(keys):
                keyed = np.asarray(keys.is_valid()) & (chosen < 0)
                if keyed.any():
                    chosen = np.where(keyed, key_partitions(keys, partitions.count), chosen)
        free = np.flatnonzero(chosen < 0)
        if len(free):
            sticky = self._sticky.get(topic)
            if sticky is None:
                sticky = self._sticky[topic] = Sticky(self.sticky_bytes)
            available = partitions.available or range(partitions.count)
            chosen[free] = sticky.partitions(sizes_of(records)[free], available)
        return chosen


def records_of(rows: pa.RecordBatch, timestamp_column: str | None = None) -> pa.RecordBatch:
    """Return the columns to write: key, value and headers as binary, and timestamps."""
    columns: dict[str, Any] = {}
    for name in ("key", "value"):
        if name in rows.schema.names:
            column = rows.column(name)
            columns[name] = column if pa.types.is_binary(column.type) else column.cast(pa.binary())
    if "headers" in rows.schema.names:
        headers = rows.column("headers")
        if headers.null_count < len(headers):
            columns["headers"] = headers if headers.type == _HEADERS else headers.cast(_HEADERS)
    if timestamp_column is not None:
        columns["timestamp"] = rows.column(timestamp_column)
    return pa.RecordBatch.from_pydict(columns)


def _check_partitions(
    topic: str, chosen: Ints, *, is_set: npt.NDArray[np.bool_], count: int
) -> None:
    wrong = chosen[is_set & ((chosen < 0) | (chosen >= count))]
    if len(wrong):
        raise SourceError(
            BAD_PARTITION,
            f"Invalid partition given with record: {wrong[0]} is not in the range [0...{count})"
            f" of topic {topic}; correct the column partition, or leave it null",
        )


def _grouped(codes: Ints, records: pa.RecordBatch) -> Iterator[tuple[int, pa.RecordBatch]]:
    """Yield the records of each code, ascending; the order within a code is kept."""
    if len(codes) and (codes == codes[0]).all():
        yield int(codes[0]), records
        return
    small = codes.astype(np.uint16) if len(codes) and codes.max() < 1 << 16 else codes
    order = np.argsort(small, kind="stable")  # a radix sort for 16 bits
    ordered = codes[order]
    taken = records.take(pa.array(order))
    begins = np.flatnonzero(np.concatenate([[True], ordered[1:] != ordered[:-1]]))
    ends = [*begins[1:].tolist(), len(ordered)]
    for begin, end in zip(begins.tolist(), ends, strict=True):
        yield int(ordered[begin]), taken.slice(begin, end - begin)
