"""A stream whose first batch failed goes on from where it began, as with Spark's own connector.

The short form has each trigger and each change once, the long one every pair.
"""

import itertools
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import pytest
from attrs import define

from tests.trio_kafka_spark.source.equal import (
    FORMATS,
    OURS,
    THEIRS,
    Conditions,
    Options,
    Source,
    both,
    committed,
    condition_of,
    conditions_of,
    in_order,
    offsets_of,
    stream_rows,
)
from tests.trio_kafka_spark.source.kit import (
    FIRST_MS,
    add_partitions,
    create_topic,
    delete_records,
    numbered,
    produce,
)
from trio_kafka.testing.processes import BrokerProcess

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

pytestmark = pytest.mark.spark

TRIGGERS: Final[Mapping[str, dict[str, Any]]] = {
    "default": {},
    "processing time": {"processingTime": "1 second"},
    "available now": {"availableNow": True},
    "once": {"once": True},
}
LATEST, EARLIEST = {"startingOffsets": "latest"}, {"startingOffsets": "earliest"}
TOO_LATE: Final = {
    "startingTimestamp": str(FIRST_MS + 10**12),
    "startingOffsetsByTimestampStrategy": "latest",
}


def grow(bootstrap: str, topic: str) -> None:
    add_partitions(bootstrap, topic, 3)
    produce(bootstrap, topic, numbered(6, partitions=3, first=100))


def add_records(bootstrap: str, topic: str) -> None:
    produce(bootstrap, topic, numbered(3, partitions=1, first=100))


def expire(bootstrap: str, topic: str) -> None:
    add_records(bootstrap, topic)
    delete_records(bootstrap, topic, 2)


# What the options say of the start, and what happens between the failure and the next start.
CHANGES: Final[Mapping[str, tuple[Options, Callable[[str, str], None]]]] = {
    "latest, more records": (LATEST, add_records),
    "earliest, more partitions": (EARLIEST, grow),
    "earliest, fewer records": (EARLIEST, expire),
    "a time that is too late, more records": (TOO_LATE, add_records),
}
SHORT: Final = set(zip(TRIGGERS, CHANGES, strict=True))


@define
class Sink:
    """Fails until it is mended, then keeps the rows."""

    rows: list[Any]
    is_down: bool = True

    def take(self, batch: "DataFrame", _: int) -> None:
        result = batch.select("topic", "partition", "offset").collect()
        if self.is_down:
            raise RuntimeError("the sink is down")
        self.rows += result


def run(
    source: Source, options: Options, checkpoint: Path, sink: Sink, trigger: dict[str, Any]
) -> None:
    """Run a query until it has read all that there is, or fails."""
    writer = source.stream(options).writeStream.foreachBatch(sink.take)
    writer = writer.option("checkpointLocation", str(checkpoint))
    query = (writer.trigger(**trigger) if trigger else writer).start()
    try:
        if trigger.keys() & {"availableNow", "once"}:
            query.awaitTermination()
        else:
            query.processAllAvailable()
    finally:
        query.stop()


@pytest.fixture(scope="module")
def conditions(connector_jars: list[Path]) -> Conditions:
    return conditions_of(connector_jars)


@pytest.mark.parametrize(
    ("trigger", "change"),
    [
        pytest.param(*case, marks=[] if case in SHORT else [pytest.mark.long])
        for case in itertools.product(TRIGGERS, CHANGES)
    ],
)
def test_a_stream_whose_first_batch_failed_reads_as_the_official_connector(
    spark: "SparkSession",
    sampled_broker: BrokerProcess,
    conditions: Conditions,
    tmp_path: Path,
    trigger: str,
    change: str,
) -> None:
    bootstrap = sampled_broker.bootstrap
    start, alter = CHANGES[change]
    # One topic for each format, of the same contents: the connector goes first.
    ends = []
    for source in both(spark, bootstrap):
        topic = f"first-{source.format}-{trigger}-{change}".replace(" ", "-").replace(",", "")
        create_topic(bootstrap, topic, partitions=1)
        produce(bootstrap, topic, numbered(5, partitions=1))
        options, sink = {"subscribe": topic, **start}, Sink([])
        checkpoint = tmp_path / source.format
        with pytest.raises(Exception, match="the sink is down"):
            run(source, options, checkpoint, sink, TRIGGERS[trigger])
        first = offsets_of(checkpoint, 0)
        alter(bootstrap, topic)
        sink.is_down = False

        again = partial(run, source, options, checkpoint, sink, TRIGGERS[trigger])
        condition = condition_of(again, conditions) or condition_of(again, conditions)

        read = [row.replace(topic, "topic") for row in in_order(sink.rows)]
        offsets = [list(each.values()) for each in (first, *committed(checkpoint))]
        ends.append((condition, read, offsets))

    theirs, ours = ends
    assert ours == theirs
    if alter is expire:
        assert ours[0] == "KAFKA_DATA_LOSS.COULD_NOT_READ_OFFSET_RANGE"
    else:
        assert (ours[0], len(ours[1])) == (None, 11 if alter is grow else 3)


def test_the_official_connector_continues_after_a_first_batch_of_this_format(
    spark: "SparkSession", sampled_broker: BrokerProcess, tmp_path: Path
) -> None:
    bootstrap = sampled_broker.bootstrap
    topic = create_topic(bootstrap, "first-then-theirs")
    options = {"subscribe": topic, "startingOffsets": "earliest"}
    sources = dict(zip(FORMATS, both(spark, bootstrap), strict=True))
    read = []
    for number, each in enumerate((OURS, THEIRS, OURS)):
        produce(bootstrap, topic, numbered(10, first=10 * number))

        rows, _ = stream_rows(sources[each], options, tmp_path / "moved", available_now=True)

        read.append(len(rows))

    assert read == [10, 10, 10]
    assert len(committed(tmp_path / "moved")) == 3


def test_a_restart_without_new_records_after_the_first_batch_adds_no_batch(
    spark: "SparkSession", sampled_broker: BrokerProcess, tmp_path: Path
) -> None:
    bootstrap = sampled_broker.bootstrap
    topic = create_topic(bootstrap, "first-and-only")
    produce(bootstrap, topic, numbered(4))
    source = Source(spark=spark, bootstrap=bootstrap, format=OURS)
    options = {"subscribe": topic, "startingOffsets": "earliest"}
    for _ in range(2):
        stream_rows(source, options, tmp_path / "idle", available_now=True)

    assert len(committed(tmp_path / "idle")) == 1
