"""Writers of `format("trio-kafka")`: each task writes its rows with one idempotent producer.

At least once: a task that runs again writes its rows again, as with Spark's own connector. A commit
does nothing, and an abort cannot take records back. With `exactlyOnce` each task leaves a
transaction open, which the driver commits or aborts (see epochs). Rows arrive as Arrow batches.
"""

import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Final
from uuid import uuid4

import attrs
import pyarrow as pa
from attrs import field
from pyspark.sql.datasource import (
    DataSourceArrowWriter,
    DataSourceStreamArrowWriter,
    WriterCommitMessage,
)

from trio_kafka.attributes import define, frozen
from trio_kafka.model import TopicPartition
from trio_kafka_spark.client.coordinator import Transaction
from trio_kafka_spark.client.producer import Producer
from trio_kafka_spark.sink.commits import abort_epoch, abort_write, commit_epoch, commit_write
from trio_kafka_spark.sink.epochs import Run
from trio_kafka_spark.sink.options import SinkOptions, check_columns, check_mode
from trio_kafka_spark.sink.routing import Router, TopicPartitions
from trio_kafka_spark.sink.tasks import abort_soon, beginner, current_run, current_task

if TYPE_CHECKING:
    from pyspark.sql.types import StructType

_SLICES_PER_S: Final = 10  # of a paced write: records go out this often


@frozen(kw_only=True)
class Written(WriterCommitMessage):
    """Result of one task: rows written, and the last offset of each partition as `topic-partition`.

    Records of other producers may stand between them. run, transaction: with `exactlyOnce`; a task
    without rows has no transaction.
    """

    rows: int
    last_offsets: dict[str, int] = field(factory=dict)
    run: Run | None = None
    transaction: Transaction | None = None


@define
class Pacer:
    """Slices of batches at so many rows a second, counted from the first; the first goes at once.

    A task that falls behind does not catch up by more than one slice.
    """

    rows_per_s: float
    now: Callable[[], float] = time.monotonic
    sleep: Callable[[float], object] = time.sleep

    def paced(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Yield the rows of all batches, each slice no earlier than its time."""
        most = max(1, int(self.rows_per_s / _SLICES_PER_S))
        due = self.now()
        for batch in batches:
            for begin in range(0, batch.num_rows, most):
                wait = due - self.now()
                if wait > 0:
                    self.sleep(wait)
                part = batch.slice(begin, most)
                yield part
                due = max(due, self.now() - 1 / _SLICES_PER_S) + part.num_rows / self.rows_per_s


@define
class _Topics:
    """Partitions of the topics in use, asked once for each."""

    producer: Producer
    partitions_of: dict[str, TopicPartitions] = field(factory=dict)

    def look_up(self, topic: str) -> TopicPartitions:
        partitions = self.partitions_of.get(topic)
        if partitions is None:
            numbers = self.producer.partitions(topic)
            partitions = self.partitions_of[topic] = TopicPartitions(
                max(numbers, default=-1) + 1, numbers
            )
        return partitions


def write_rows(
    options: SinkOptions, batches: Iterable[pa.RecordBatch], run: Run | None = None
) -> Written:
    """Write all rows and wait until the brokers have them. Raises SourceError.

    run: with `exactlyOnce`, what the task belongs to.
    """
    if options.transactions is None or run is None:
        with Producer(options.client) as producer:
            return _write(options, producer, batches)
    begin = beginner(options.transactions, run, current_task())
    with Producer(options.client, begin=begin) as producer:
        try:
            written = _write(options, producer, batches)
        except BaseException:
            if producer.transaction is not None:
                abort_soon(options.client, producer.transaction)
            raise
        return attrs.evolve(written, run=run, transaction=producer.transaction)


def _write(options: SinkOptions, producer: Producer, batches: Iterable[pa.RecordBatch]) -> Written:
    writing = options.client.writing
    count = 0
    router = Router(
        partitions_of=_Topics(producer).look_up,
        topic=options.topic,
        timestamp_column=options.timestamp_column,
        sticky_bytes=writing.batch_bytes,
        ignore_keys=writing.ignore_keys,
    )
    rate = options.records_per_second
    for batch in batches if rate is None else Pacer(rate).paced(batches):
        count += batch.num_rows
        for where, records in router.route(batch):
            producer.send(where, records)
        if rate is not None:
            producer.flush()
    last = producer.flush()
    return Written(rows=count, last_offsets=_named(last))


def _named(last: dict[TopicPartition, int]) -> dict[str, int]:
    return {str(where): offset for where, offset in last.items()}


class BatchWriter(DataSourceArrowWriter):
    """Writer of a batch query; built on the driver, and pickled with each task."""

    def __init__(self, options: SinkOptions) -> None:
        self.options = options
        self.run = Run(uuid4().hex, "write")  # of this write alone

    def write(self, iterator: Iterator[pa.RecordBatch]) -> Written:
        """Write the rows of one task."""
        return write_rows(self.options, iterator, self.run)

    def commit(self, messages: Sequence[WriterCommitMessage | None]) -> None:
        """Commit the transactions of all tasks, if there are any. Raises SourceError."""
        if self.options.transactions is not None:
            prepared = _transactions(messages)
            commit_write(
                self.options.client, self.options.transactions, self.run, prepared=prepared
            )

    def abort(self, messages: Sequence[WriterCommitMessage | None]) -> None:  # noqa: ARG002
        """Abort the transactions of all tasks, if there are any. Raises SourceError."""
        if self.options.transactions is not None:
            abort_write(self.options.client, self.options.transactions, self.run)


class StreamWriter(DataSourceStreamArrowWriter):
    """Writer of a streaming query; every output mode is written alike, as the connector does."""

    def __init__(self, options: SinkOptions) -> None:
        self.options = options

    def write(self, iterator: Iterator[pa.RecordBatch]) -> Written:
        """Write the rows of one task of a micro-batch."""
        run = None if self.options.transactions is None else current_run()
        return write_rows(self.options, iterator, run)

    def commit(self, messages: Sequence[WriterCommitMessage | None], batchId: int) -> None:  # noqa: N803
        """Commit an epoch, if it is written in transactions. Raises SourceError."""
        run = _run_of(messages)
        if self.options.transactions is not None and run is not None:
            commit_epoch(
                self.options.client,
                self.options.transactions,
                run,
                number=batchId,
                prepared=_transactions(messages),
            )

    def abort(self, messages: Sequence[WriterCommitMessage | None], batchId: int) -> None:  # noqa: N803
        """Abort what was written of an epoch, unless it is decided. Raises SourceError."""
        run = _run_of(messages)
        if self.options.transactions is not None and run is not None:
            abort_epoch(self.options.client, self.options.transactions, run, number=batchId)


def _transactions(messages: Iterable[WriterCommitMessage | None]) -> list[Transaction]:
    return [
        message.transaction
        for message in messages
        if isinstance(message, Written) and message.transaction is not None
    ]


def _run_of(messages: Iterable[WriterCommitMessage | None]) -> Run | None:
    """Return the run that tasks belong to; None: no task has said, so none has written."""
    return next(
        (message.run for message in messages if isinstance(message, Written) and message.run), None
    )


def batch_writer(options: dict[str, str], schema: "StructType", *, overwrite: bool) -> BatchWriter:
    """Return the writer of a batch query. Raises OptionError and SourceError."""
    check_mode(overwrite=overwrite)
    parsed = SinkOptions.from_options(options)
    check_columns(schema, parsed)
    return BatchWriter(parsed)


def stream_writer(options: dict[str, str], schema: "StructType") -> StreamWriter:
    """Return the writer of a streaming query. Raises OptionError and SourceError."""
    parsed = SinkOptions.from_options(options)
    check_columns(schema, parsed)
    return StreamWriter(parsed)
