"""What a task does: fetch the batches of one range, and decode them to Arrow as they come.

The next fetch is in flight while one is decoded. Offsets that the partition does not hold are data
loss, except before the earliest record of a range that starts there.
"""

from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

from trio_kafka.errors import KafkaError
from trio_kafka.model import TopicPartition
from trio_kafka_spark.client.errors import CORRUPT, OffsetOutOfRangeError, SourceError
from trio_kafka_spark.client.fetch import fetch
from trio_kafka_spark.source.loss import LossPolicy
from trio_kafka_spark.source.options import ReadOptions
from trio_kafka_spark.source.plan import TopicRange

if TYPE_CHECKING:
    import pyarrow as pa

# Batches of 10,000 to 50,000 rows cost least between Python and the JVM (docs/design/spark.md).
ROWS: Final = 20_000


def read_range(
    options: ReadOptions, columns: tuple[str, ...], planned: TopicRange
) -> Iterator["pa.RecordBatch"]:
    """Yield the records of a range, in order of offset.

    Raises SourceError: data loss where it is not allowed, a broker that does not answer, or records
    that are damaged.
    """
    tp = TopicPartition(planned.topic, planned.partition)
    loss = LossPolicy(options.fail_on_data_loss)
    at, may_begin_later = planned.start, planned.from_earliest
    while at < planned.stop:
        try:
            yield from _read(options, columns, tp, at, planned.stop)
            return
        except OffsetOutOfRangeError as error:
            held = f"offsets {error.log_start} to {error.high_watermark}"
            later = error.offset < error.log_start
            if not (later and may_begin_later and error.offset == planned.start):
                loss.not_read(tp, error.offset, planned.stop, held)
            if not later:
                return
            at = error.log_start


def _read(
    options: ReadOptions, columns: tuple[str, ...], tp: TopicPartition, start: int, stop: int
) -> Iterator["pa.RecordBatch"]:
    from trio_kafka.records.columnar import decode  # noqa: PLC0415 - numpy, in workers alone

    for fetched in fetch(options.client, tp, start, stop):
        try:
            yield from decode(
                fetched.buffer,
                topic=tp.topic,
                partition=tp.partition,
                start=start,
                stop=stop,
                columns=columns,
                aborted=fetched.aborted,
                check_crcs=options.client.check_crcs,
                rows=ROWS,
            )
        except KafkaError as error:
            raise SourceError(
                CORRUPT, f"records of {tp} before offset {fetched.next_offset}: {error}"
            ) from error
