"""A query finds the same through Spark's own Kafka connector and through ours.

The short form takes each value of each axis at least once, the long one all pairs of the first four
axes.
"""

import itertools
import json
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Final

import pytest

from tests.trio_kafka_spark.source.equal import (
    FORMATS,
    OURS,
    THEIRS,
    Conditions,
    Options,
    Source,
    as_offsets,
    batch_rows,
    both,
    committed,
    condition_of,
    conditions_of,
    in_order,
    stream_rows,
    write_checkpoint,
)
from tests.trio_kafka_spark.source.kit import (
    FIRST_MS,
    Record,
    add_partitions,
    create_topic,
    delete_topic,
    numbered,
    peculiar,
    produce,
)
from tests.trio_kafka_spark.source.test_options import REFUSED
from trio_kafka.model import TopicPartition
from trio_kafka.testing.processes import BrokerProcess

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, Row, SparkSession

pytestmark = pytest.mark.spark

CHOSEN: Final = ("subscribe", "subscribePattern", "assign")
POSITIONS: Final = (
    "earliest to latest",
    "offsets to offsets",
    "earliest and offsets to latest and offsets",
    "timestamp to timestamp",
    "timestamps to timestamps",
    "offsets to timestamp",
    "too late, strategy latest",
    "too late, strategy error",
)
MODES: Final = ("batch", "available now", "processing time")
DATA: Final = (
    "plain",
    "gzip",
    "snappy",
    "lz4",
    "zstd",
    "peculiar",
    "compacted",
    "transactional",
    "committed",
)
AXES: Final = (CHOSEN, POSITIONS, MODES, DATA)
Case = tuple[str, str, str, str]


def each_value() -> list[Case]:
    """As few cases as have each value once."""
    longest = max(map(len, AXES))
    turns = zip(*(itertools.islice(itertools.cycle(axis), longest) for axis in AXES), strict=True)
    return [(a, b, c, d) for a, b, c, d in turns]


def all_pairs() -> list[Case]:
    """Cases in which each value meets each value of the other axes; found greedily."""
    every = [(a, b, c, d) for a, b, c, d in itertools.product(*AXES)]
    missing = {pair for case in every for pair in pairs_of(case)}
    taken = []
    while missing:
        best = max(every, key=lambda case: len(missing & pairs_of(case)))
        taken.append(best)
        missing -= pairs_of(best)
    return taken


def pairs_of(case: Case) -> set[tuple[str, str]]:
    return set(itertools.combinations(case, 2))


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    if "case" in metafunc.fixturenames:
        long = metafunc.config.getoption("--sizes") == "long"
        cases = all_pairs() if long else each_value()
        metafunc.parametrize("case", cases, ids=[", ".join(case) for case in cases])


@pytest.fixture(scope="module")
def bootstrap(sampled_broker: BrokerProcess) -> str:
    """The broker's address; topics of each kind of data are made on first use."""
    return sampled_broker.bootstrap


@pytest.fixture(scope="module")
def partitions(bootstrap: str) -> Callable[[str], list[TopicPartition]]:
    """Partitions with one kind of data."""
    partitions_by_data: dict[str, list[TopicPartition]] = {}

    def make(data: str) -> list[TopicPartition]:
        if data not in partitions_by_data:
            partitions_by_data[data] = make_data(bootstrap, data)
        return partitions_by_data[data]

    return make


def make_data(bootstrap: str, data: str) -> list[TopicPartition]:
    if data == "compacted":
        return [TopicPartition("compacted", 0)]
    if data in ("transactional", "committed"):
        return [TopicPartition("txn", 0)]
    result = []
    for name, count in ((f"eq-{data}-a", 2), (f"eq-{data}-b", 1)):
        create_topic(bootstrap, name, partitions=count)
        records = numbered(40, partitions=count)
        if data == "peculiar":
            records += [r for r in peculiar() if r.partition < count]
        codec = "none" if data in ("plain", "peculiar") else data
        produce(bootstrap, name, records, compression_type=codec)
        result += [TopicPartition(name, number) for number in range(count)]
    return result


def options_of(bootstrap: str, case: Case, tps: Sequence[TopicPartition]) -> dict[str, str]:
    """Options of one case for a batch; a stream takes those of the start."""
    chosen, positions, mode, data = case
    topics = sorted({tp.topic for tp in tps})
    options = {"includeHeaders": "true"}
    if chosen == "subscribe":
        options[chosen] = ",".join(topics)
    elif chosen == "subscribePattern":
        options[chosen] = f"^{topics[0][:-1]}" if len(topics) > 1 else f"^{topics[0]}$"
    else:
        by_topic = {name: [tp.partition for tp in tps if tp.topic == name] for name in topics}
        options[chosen] = json.dumps(by_topic)
    if data == "committed":
        options["kafka.isolation.level"] = "read_committed"
    options |= positions_of(positions, tps)
    if mode != "batch":
        options = {name: value for name, value in options.items() if not name.startswith("ending")}
    return options


def positions_of(positions: str, tps: Sequence[TopicPartition]) -> dict[str, str]:
    """Starting and ending options."""
    spread = list(enumerate(tps))
    match positions:
        case "earliest to latest":
            return {"startingOffsets": "earliest", "endingOffsets": "latest"}
        case "offsets to offsets":
            return {
                "startingOffsets": as_offsets({tp: 2 + n for n, tp in spread}),
                "endingOffsets": as_offsets({tp: 19 - n for n, tp in spread}),
            }
        case "earliest and offsets to latest and offsets":
            return {
                "startingOffsets": as_offsets({tp: -2 if n % 2 else 3 for n, tp in spread}),
                "endingOffsets": as_offsets({tp: 14 if n % 2 else -1 for n, tp in spread}),
            }
        case "timestamp to timestamp":
            return {
                "startingTimestamp": str(FIRST_MS + 5),
                "endingTimestamp": str(FIRST_MS + 22),
            }
        case "timestamps to timestamps":
            return {
                "startingOffsetsByTimestamp": as_offsets({tp: FIRST_MS + n for n, tp in spread}),
                "endingOffsetsByTimestamp": as_offsets({tp: FIRST_MS + 9 + n for n, tp in spread}),
            }
        case "offsets to timestamp":
            return {
                "startingOffsets": as_offsets({tp: 1 for _, tp in spread}),
                "endingTimestamp": str(FIRST_MS + 10**12),
            }
    return {
        "startingTimestamp": str(FIRST_MS + 10**12),
        "startingOffsetsByTimestampStrategy": positions.rpartition(" ")[2],
    }


def test_a_query_finds_the_rows_and_commits_the_offsets_of_the_official_connector(
    spark: "SparkSession",
    bootstrap: str,
    partitions: Callable[[str], list[TopicPartition]],
    tmp_path: Path,
    case: Case,
) -> None:
    tps = partitions(case[3])
    options = options_of(bootstrap, case, tps)

    theirs, ours = (
        rows_or_refusal(source, options, case[2], tmp_path) for source in both(spark, bootstrap)
    )

    assert ours == theirs
    if case[1].endswith("strategy error"):
        assert ours == "refused"
    elif not case[1].startswith("too late") and len(tps) > 1:
        assert theirs[0]  # markers of transactions are so late that times find little in samples


def rows_or_refusal(
    source: Source, options: Options, mode: str, directory: Path
) -> tuple[list[str], list[object]] | str:
    try:
        if mode == "batch":
            return batch_rows(source, options), []
        checkpoint = directory / source.format
        return stream_rows(source, options, checkpoint, available_now=mode == "available now")
    except Exception as error:
        if "no record of" in str(error) or "No offset matched" in str(error):
            return "refused"
        raise


def test_tasks_of_a_batch_have_the_offsets_of_the_official_connector(
    spark: "SparkSession",
    bootstrap: str,
    partitions: Callable[[str], list[TopicPartition]],
) -> None:
    topics = ",".join(sorted({tp.topic for tp in partitions("plain")}))

    theirs, ours = (
        in_order(tasks(source.batch({"subscribe": topics, "minPartitions": "7"})).collect())
        for source in both(spark, bootstrap)
    )

    assert ours == theirs


def test_a_limited_stream_has_the_tasks_and_batches_of_the_official_connector(
    spark: "SparkSession",
    bootstrap: str,
    partitions: Callable[[str], list[TopicPartition]],
    tmp_path: Path,
) -> None:
    options = {
        "subscribe": ",".join(sorted({tp.topic for tp in partitions("plain")})),
        "startingOffsets": "earliest",
        "minPartitions": "9",
        "maxRecordsPerPartition": "15",
        "maxOffsetsPerTrigger": "66",
    }

    theirs, ours = (
        stream_rows(source, options, tmp_path / source.format, available_now=True, select=tasks)
        for source in both(spark, bootstrap)
    )

    assert ours == theirs
    assert len(ours[0]) > 6
    assert len(ours[1]) == 2


def tasks(records: "DataFrame") -> "DataFrame":
    """The range of offsets that each task has read."""
    from pyspark.sql import functions as f

    grouped = records.groupBy(f.spark_partition_id(), "topic", "partition")
    ranges = grouped.agg(f.min("offset").alias("offset"), f.max("offset").alias("last"))
    return ranges.select("topic", "partition", "offset", "last")


def test_a_running_stream_finds_new_records_and_partitions_as_the_official_connector(
    spark: "SparkSession", bootstrap: str, tmp_path: Path
) -> None:
    """New records, a new partition and a new topic; then a topic is deleted, which is allowed."""
    names = [f"eq-live-{name}" for name in "abc"]
    for name in names[:2]:
        create_topic(bootstrap, name, partitions=1)
        produce(bootstrap, name, numbered(5, partitions=1))
    options = {"subscribePattern": "^eq-live-", "failOnDataLoss": "false"}
    result: dict[str, list[Row]] = {name: [] for name in FORMATS}
    queries = [
        source.stream(options)
        .writeStream.foreachBatch(partial(keep, result[source.format]))
        .option("checkpointLocation", str(tmp_path / source.format))
        .start()
        for source in both(spark, bootstrap)
    ]

    def catch_up() -> None:
        for query in queries:
            query.processAllAvailable()

    try:
        catch_up()
        produce(bootstrap, names[0], numbered(4, partitions=1, first=100))
        catch_up()
        add_partitions(bootstrap, names[0], 2)
        create_topic(bootstrap, names[2], partitions=1)
        produce(bootstrap, names[0], numbered(6, first=200))
        produce(bootstrap, names[2], numbered(3, partitions=1, first=300))
        catch_up()
        delete_topic(bootstrap, names[1])
        produce(bootstrap, names[2], numbered(2, partitions=1, first=400))
        catch_up()
    finally:
        for query in queries:
            query.stop()

    theirs, ours = (in_order(result[name]) for name in FORMATS)
    assert ours == theirs
    assert len(ours) == 4 + 6 + 3 + 2
    theirs_end, ours_end = (committed(tmp_path / each)[-1] for each in FORMATS)
    assert ours_end == theirs_end
    assert set(ours_end) == {names[0], names[2]}


def keep(rows: "list[Row]", batch: "DataFrame", _: int) -> None:
    rows += batch.collect()


# --- error conditions


@pytest.fixture(scope="module")
def conditions(connector_jars: list[Path]) -> Conditions:
    return conditions_of(connector_jars)


BATCHES: Final = {
    "MISMATCHED_TOPIC_PARTITIONS_BETWEEN_START_OFFSET_AND_END_OFFSET": {
        "startingOffsets": '{"eq-plain-a":{"0":1,"1":1}}',
        "endingOffsets": '{"eq-plain-a":{"0":2}}',
    },
    "UNRESOLVED_START_OFFSET_GREATER_THAN_END_OFFSET": {
        "startingOffsets": '{"eq-plain-a":{"0":9,"1":1}}',
        "endingOffsets": '{"eq-plain-a":{"0":2,"1":3}}',
    },
    "RESOLVED_START_OFFSET_GREATER_THAN_END_OFFSET": {
        "startingOffsets": '{"eq-plain-a":{"0":99,"1":1}}',
    },
    "KAFKA_START_OFFSET_DOES_NOT_MATCH_ASSIGNED": {
        "startingOffsets": '{"eq-plain-a":{"0":1}}',
    },
    "KAFKA_TIMESTAMP_OFFSET_DOES_NOT_MATCH_ASSIGNED": {
        "startingOffsetsByTimestamp": '{"eq-plain-a":{"0":1}}',
    },
    "KAFKA_DATA_LOSS.COULD_NOT_READ_OFFSET_RANGE": {
        "subscribe": "trimmed",
        "startingOffsets": '{"trimmed":{"0":3}}',
    },
}


@pytest.mark.parametrize("condition", BATCHES)
def test_batches_fail_with_the_error_condition_of_the_official_connector(
    spark: "SparkSession",
    bootstrap: str,
    partitions: Callable[[str], list[TopicPartition]],
    conditions: Conditions,
    condition: str,
) -> None:
    partitions("plain")
    options = {"subscribe": "eq-plain-a", **BATCHES[condition]}

    for source in both(spark, bootstrap):
        assert condition_of(partial(batch_rows, source, options), conditions) == condition


def test_a_timestamp_beyond_microseconds_fails_as_with_the_official_connector(
    spark: "SparkSession", bootstrap: str, conditions: Conditions
) -> None:
    late = {"message.timestamp.after.max.ms": str(2**63 - 1)}
    create_topic(bootstrap, "eq-nanoseconds", partitions=1, config=late)
    produce(bootstrap, "eq-nanoseconds", [Record(value=b"x", timestamp=FIRST_MS * 1_000_000)])

    for source in both(spark, bootstrap):
        options = {"subscribe": "eq-nanoseconds"}
        condition = condition_of(partial(batch_rows, source, options), conditions)
        assert condition == "KAFKA_MALFORMED_RECORD_TIMESTAMP"


PLANNED: Final = {
    "KAFKA_DATA_LOSS.INITIAL_OFFSET_NOT_FOUND_FOR_PARTITIONS": (
        {"eq-plain-a": {"0": 5, "1": 5}},
        {"eq-plain-a": {"0": 9, "1": 9}, "eq-gone": {"0": 4}},
    ),
    "KAFKA_DATA_LOSS.PARTITIONS_DELETED": (
        {"eq-plain-a": {"0": 5, "1": 5}, "eq-gone": {"0": 4}},
        {"eq-plain-a": {"0": 9, "1": 9}},
    ),
    "KAFKA_DATA_LOSS.PARTITIONS_DELETED_AND_GROUP_ID_CONFIG_PRESENT": (
        {"eq-plain-a": {"0": 5, "1": 5}, "eq-gone": {"0": 4}},
        {"eq-plain-a": {"0": 9, "1": 9}},
    ),
    "KAFKA_DATA_LOSS.PARTITION_OFFSET_CHANGED": (
        {"eq-plain-a": {"0": 9, "1": 5}},
        {"eq-plain-a": {"0": 5, "1": 9}},
    ),
    "KAFKA_DATA_LOSS.ADDED_PARTITION_DOES_NOT_START_FROM_OFFSET_ZERO": (
        {"eq-plain-a": {"0": 5, "1": 5}},
        {"eq-plain-a": {"0": 9, "1": 9}, "trimmed": {"0": 30}},
    ),
    "KAFKA_DATA_LOSS.COULD_NOT_READ_OFFSET_RANGE": (
        {"eq-plain-a": {"0": 5, "1": 5}, "trimmed": {"0": 3}},
        {"eq-plain-a": {"0": 9, "1": 9}, "trimmed": {"0": 30}},
    ),
}


# Those whose rows are compared in the short form, too.
SHORT: Final = ("KAFKA_DATA_LOSS.PARTITIONS_DELETED",)


@pytest.mark.parametrize("condition", PLANNED)
def test_data_loss_in_a_stream_has_the_condition_or_rows_of_the_official_connector(
    spark: "SparkSession",
    bootstrap: str,
    partitions: Callable[[str], list[TopicPartition]],
    conditions: Conditions,
    size: Callable[[int, int], int],
    tmp_path: Path,
    condition: str,
) -> None:
    """The checkpoint has a batch that was planned before the data were lost."""
    with_rows = size(condition in SHORT, True)
    partitions("plain")
    options = {"subscribePattern": "^(eq-plain-a|trimmed|eq-gone)$"}
    if condition.endswith("PRESENT"):
        options["kafka.group.id"] = "mine"
    results = []
    for source in both(spark, bootstrap):
        strict, lenient = (tmp_path / f"{source.format}-{kind}" for kind in ("strict", "lenient"))
        for checkpoint in (strict, lenient):
            write_checkpoint(checkpoint, *PLANNED[condition])
        run = partial(run_nowhere, source, options, strict)

        assert condition_of(run, conditions) == condition
        if with_rows:
            allowed = {**options, "failOnDataLoss": "false"}
            results.append(stream_rows(source, allowed, lenient, available_now=True))

    assert results[:1] == results[1:]


def run_nowhere(source: Source, options: Options, checkpoint: Path) -> None:
    writer = source.stream(options).writeStream.format("noop").trigger(availableNow=True)
    writer.option("checkpointLocation", str(checkpoint)).start().awaitTermination()


@pytest.mark.parametrize(
    ("created_again", "condition"),
    [
        (False, "LOST_TOPIC_PARTITIONS_IN_END_OFFSET_WITH_TRIGGER_AVAILABLENOW"),
        (
            True,
            "END_OFFSET_HAS_GREATER_OFFSET_FOR_TOPIC_PARTITION_THAN_LATEST_WITH_TRIGGER_AVAILABLENOW",
        ),
    ],
)
def test_a_topic_deleted_during_available_now_fails_as_with_the_official_connector(
    spark: "SparkSession",
    bootstrap: str,
    conditions: Conditions,
    tmp_path: Path,
    created_again: bool,
    condition: str,
) -> None:
    for source in both(spark, bootstrap):
        name = f"eq-fleeting-{source.format}-{created_again}".lower()
        create_topic(bootstrap, name, partitions=1)
        produce(bootstrap, name, numbered(10, partitions=1))
        options = {
            "subscribePattern": f"^{name}",
            "startingOffsets": "earliest",
            "maxOffsetsPerTrigger": "5",
        }

        def delete(batch: "DataFrame", name: str = name) -> "DataFrame":
            delete_topic(bootstrap, name)
            if created_again:
                create_topic(bootstrap, name, partitions=1)
            return batch.limit(0)

        run = partial(
            stream_rows, source, options, tmp_path / name, available_now=True, select=delete
        )
        assert condition_of(run, conditions) == condition


# --- options and checkpoints


def test_options_that_the_official_connector_refuses_are_refused(
    spark: "SparkSession",
    bootstrap: str,
    partitions: Callable[[str], list[TopicPartition]],
    size: Callable[[int, int], int],
) -> None:
    """In the short form Spark asks ours about a few only; the tests of the options, about all."""
    partitions("plain")
    theirs, ours = both(spark, bootstrap)
    for options in REFUSED:
        with pytest.raises(Exception, match=r"\w"):
            theirs.batch({"subscribe": "eq-plain-a", **options}).collect()
    for options in REFUSED[:: size(6, 1)]:
        with pytest.raises(Exception, match="option "):
            ours.batch({"subscribe": "eq-plain-a", **options}).collect()


def test_a_stream_continues_from_a_checkpoint_of_the_other_format(
    spark: "SparkSession", bootstrap: str, tmp_path: Path
) -> None:
    name = create_topic(bootstrap, "eq-moving")
    options = {"subscribe": name, "startingOffsets": "earliest"}
    sources = dict(zip(FORMATS, both(spark, bootstrap), strict=True))
    checkpoint = tmp_path / "moved"
    read = []
    for number, each in enumerate((THEIRS, OURS, THEIRS)):
        produce(bootstrap, name, numbered(10, first=10 * number))

        result, _ = stream_rows(sources[each], options, checkpoint, available_now=True)

        read.append(len(result))

    assert read == [10, 10, 10]
    assert committed(checkpoint)[-1] == {name: {"0": 15, "1": 15}}


def test_ranges_are_split_as_by_the_official_connector(spark: "SparkSession") -> None:
    from random import Random

    from trio_kafka_spark.source.ranges import OffsetRange, split

    random = Random(24)
    for _ in range(60):
        ranges = [
            OffsetRange(partition=TopicPartition("t", number), start=7, stop=7 + size)
            for number, size in enumerate(random.choices(range(-2, 1000), k=random.randrange(9)))
        ]
        at_least = random.choice([None, random.randrange(1, 30)])
        each = random.choice([None, random.randrange(1, 300)])

        ours = [
            (piece.partition.partition, piece.start, piece.stop)
            for piece in split(ranges, at_least=at_least, records_each=each)
        ]

        assert ours == list(split_by_connector(spark, ranges, at_least, each))


def split_by_connector(
    spark: "SparkSession", ranges: Sequence[object], at_least: int | None, each: int | None
) -> Iterator[tuple[int, int, int]]:
    jvm = spark._jvm
    package = jvm.org.apache.spark.sql.kafka010
    convert = jvm.scala.jdk.javaapi.CollectionConverters
    listed = jvm.java.util.ArrayList()
    for offset_range in ranges:
        tp = jvm.org.apache.kafka.common.TopicPartition("t", offset_range.partition.partition)
        listed.add(
            package.KafkaOffsetRange(
                tp, offset_range.start, offset_range.stop, jvm.scala.Option.empty()
            )
        )
    settings = jvm.java.util.HashMap()
    for name, value in (("minPartitions", at_least), ("maxRecordsPerPartition", each)):
        if value is not None:
            settings[name] = str(value)
    options = jvm.org.apache.spark.sql.util.CaseInsensitiveStringMap(settings)
    calculator = package.KafkaOffsetRangeCalculator.apply(options)
    none = convert.asScala(jvm.java.util.ArrayList()).toSeq()
    result = calculator.getRanges(convert.asScala(listed).toSeq(), none)
    for offset_range in convert.asJava(result):
        yield offset_range.partition(), offset_range.fromOffset(), offset_range.untilOffset()
