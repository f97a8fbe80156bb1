"""Spark through `format("trio-kafka")` beside Spark's own Kafka connector: one broker, one query.

    python -m tests.benchmarks.spark [--rows read,stream,write] [--scale 0.1] [--check]

Both formats run in one session in turn, after runs that warm the JVM; a figure is the best of its
runs. CPU is that of the JVM with its Python workers, the broker's stands beside it. `tuned` is the
connector with larger fetches, by hand, and `floor` the smallest stream that a source in Python can
be: both are figures and not part of a bound. With --check the exit status tells whether every bound
holds.
"""

import argparse
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory
from typing import Any, Final

from attrs import evolve, frozen
from confluent_kafka import Producer

from tests.benchmarks.brokers import Broker, started, unwind_on_sigterm
from tests.benchmarks.server import cpu_with_children_s
from tests.benchmarks.topics import client_settings, temporary_topic

JARS: Final = Path(__file__).parents[1] / "trio_kafka_spark" / "jars" / "fetch.sh"
OURS, OFFICIAL, TUNED, FLOOR = "trio-kafka", "kafka", "tuned", "floor"
PARTITIONS: Final = 2
RUNS: Final = 4
WARM_UP: Final = 2
VALUES: Final = 1000  # distinct values of a topic
_TUNED: Final[Mapping[str, object]] = {
    "kafka.max.partition.fetch.bytes": 8 << 20,
    "kafka.fetch.max.bytes": 50 << 20,
    "kafka.max.poll.records": 20_000,
    "kafka.check.crcs": "false",
    "kafka.receive.buffer.bytes": 1 << 20,
}


@frozen
class Cost:
    """Seconds of one run: by the wall, of CPU in Spark, of CPU in the broker."""

    wall_s: float
    spark_s: float
    broker_s: float


@frozen(kw_only=True)
class Row:
    """One comparison. most_cpu, most_wall: times the connector at its defaults; None: a figure."""

    name: str
    group: str
    records: int
    size: int
    codec: str = "none"
    most_cpu: float | None = None
    most_wall: float | None = None


ROWS: Final = (
    Row(
        name="read 100 B", group="read", records=1_500_000, size=100, most_cpu=0.8, most_wall=2 / 3
    ),
    Row(name="read 1 KiB", group="read", records=200_000, size=1024, most_cpu=1.2, most_wall=1.2),
    Row(
        name="read 100 B, zstd",
        group="read",
        records=1_500_000,
        size=100,
        codec="zstd",
        most_cpu=1.2,
        most_wall=1.2,
    ),
    Row(
        name="read 100 B, lz4",
        group="read",
        records=1_500_000,
        size=100,
        codec="lz4",
        most_cpu=1.2,
        most_wall=1.2,
    ),
    Row(name="stream of 20 slices", group="stream", records=2_000_000, size=100, most_wall=1.0),
    Row(name="warm restart", group="stream", records=0, size=100, most_wall=1.0),
    Row(name="write 100 B", group="write", records=400_000, size=100, most_wall=1.5),
    Row(
        name="write 100 B, lz4",
        group="write",
        records=400_000,
        size=100,
        codec="lz4",
        most_wall=1.5,
    ),
)


@frozen
class Bench:
    """A session and a broker. jvm: the process of the driver; workers are below it."""

    spark: Any
    jvm: int
    broker: Broker

    def cost(self, action: Callable[[], object]) -> Cost:
        spark_s, broker_s = cpu_with_children_s(self.jvm), self.broker.server.cpu_s()
        began = time.perf_counter()
        action()
        wall_s = time.perf_counter() - began
        spark_s = cpu_with_children_s(self.jvm) - spark_s
        return Cost(wall_s, spark_s, self.broker.server.cpu_s() - broker_s)

    def in_turn(self, kinds: Iterable[str], action: Callable[[str], object]) -> dict[str, Cost]:
        """The best of each figure of RUNS runs, after some that warm up."""
        costs: dict[str, list[Cost]] = {kind: [] for kind in kinds}
        for number in range(WARM_UP + RUNS):
            for kind, result in costs.items():
                cost = self.cost(lambda kind=kind: action(kind))  # type: ignore[misc]
                if number >= WARM_UP:
                    result.append(cost)
        return {kind: best(runs) for kind, runs in costs.items()}

    def options(self, kind: str) -> dict[str, object]:
        more = _TUNED if kind == TUNED else {}
        return {"kafka.bootstrap.servers": self.broker.bootstrap, **more}


def best(costs: list[Cost]) -> Cost:
    """The best of each figure."""
    return Cost(
        min(cost.wall_s for cost in costs),
        min(cost.spark_s for cost in costs),
        min(cost.broker_s for cost in costs),
    )


def format_of(kind: str) -> str:
    return OFFICIAL if kind == TUNED else kind


def event(size: int, seed: int) -> bytes:
    """A value of JSON with a few fields that differ, and padding up to `size` bytes."""
    chance = Random(seed)
    fields = f'"user":{chance.randrange(10**6)},"item":"{chance.randbytes(4).hex()}"'
    text = f'{{{fields},"price":{chance.randrange(99_999) / 100},"pad":"'
    return text.encode().ljust(size - 2, b"x")[: size - 2] + b'"}'


def fill(bootstrap: str, topic: str, row: Row) -> None:
    """Produce a row's records, as librdkafka batches them at 16 KiB, or 128 KiB if packed."""
    packed = row.codec != "none"
    settings = client_settings(
        bootstrap,
        **{
            "compression.type": row.codec,
            "batch.size": (128 if packed else 16) << 10,
            "linger.ms": 50,
            "queue.buffering.max.messages": 1_000_000,
        },
    )
    producer = Producer(settings)
    values = list(map(partial(event, row.size), range(VALUES)))
    for number in range(row.records):
        while True:
            try:
                producer.produce(
                    topic, values[number % VALUES], b"%d" % number, partition=number % PARTITIONS
                )
                break
            except BufferError:
                producer.poll(0.05)
        if number % 10_000 == 0:
            producer.poll(0)
    if producer.flush(120):
        raise RuntimeError(f"{topic}: records were not delivered")


def read(bench: Bench, row: Row) -> dict[str, Cost]:
    with temporary_topic(bench.broker.bootstrap, PARTITIONS) as topic:
        fill(bench.broker.bootstrap, topic, row)

        def run(kind: str) -> None:
            frame = bench.spark.read.format(format_of(kind)).options(**bench.options(kind))
            frame = frame.option("subscribe", topic).load()
            frame.write.format("noop").mode("overwrite").save()

        return bench.in_turn((OFFICIAL, OURS, TUNED), run)


def stream(bench: Bench, rows: list[Row], directory: Path) -> dict[str, dict[str, Cost]]:
    """A topic in slices by availableNow, and the same query again with nothing new."""
    slices = rows[0]
    result: dict[str, dict[str, list[Cost]]] = {row.name: {} for row in rows}
    with temporary_topic(bench.broker.bootstrap, PARTITIONS) as topic:
        fill(bench.broker.bootstrap, topic, slices)
        source_options = {
            "subscribe": topic,
            "startingOffsets": "earliest",
            "maxOffsetsPerTrigger": slices.records // 20,
        }
        for number in range(3):
            for kind in (OFFICIAL, OURS, FLOOR):
                options = {} if kind == FLOOR else {**bench.options(kind), **source_options}
                frame = bench.spark.readStream.format(format_of(kind)).options(**options)
                run = partial(to_its_end, frame, directory / f"{kind}-{number}")
                for row in rows:
                    for _ in range(1 if row.records else RUNS):
                        cost = bench.cost(run)
                        if number and (kind != FLOOR or not row.records):
                            result[row.name].setdefault(kind, []).append(cost)
    return {name: {k: best(v) for k, v in kinds.items()} for name, kinds in result.items()}


def to_its_end(reader: Any, checkpoint: Path) -> None:
    """Run a stream from its checkpoint to the end of what there is now."""
    query = reader.load().writeStream.format("noop").trigger(availableNow=True)
    query.option("checkpointLocation", str(checkpoint)).start().awaitTermination()


def write(bench: Bench, row: Row) -> dict[str, Cost]:
    text = "a" * (row.size - 9)
    rows = bench.spark.range(0, row.records, 1, 2).selectExpr(
        "cast(cast(id as string) as binary) as key",
        f"cast(concat(lpad(cast(id as string), 9, '0'), '{text}') as binary) as value",
    )
    rows = rows.cache()
    rows.count()
    with temporary_topic(bench.broker.bootstrap, PARTITIONS) as topic:

        def run(kind: str) -> None:
            writer = rows.write.format(format_of(kind)).options(**bench.options(OURS))
            writer = writer.option("kafka.compression.type", row.codec)
            writer.option("topic", topic).mode("append").save()

        try:
            return bench.in_turn((OFFICIAL, OURS), run)
        finally:
            rows.unpersist()


def floor() -> type:
    """The smallest stream in Python: it imports pyspark alone. Made here, so that it is pickled."""
    from pyspark.sql.datasource import DataSource, DataSourceStreamReader, InputPartition

    class Reader(DataSourceStreamReader):
        def initialOffset(self):
            return {"row": 0}

        def latestOffset(self):
            return {"row": 1}

        def partitions(self, start, end):
            return [InputPartition(0)]

        def read(self, partition):
            yield (0,)

    class Floor(DataSource):
        @classmethod
        def name(cls):
            return FLOOR

        def schema(self):
            return "row INT"

        def streamReader(self, schema):
            return Reader()

    return Floor


@contextmanager
def benching(directory: Path) -> Iterator[Bench]:
    from trio_kafka_spark.session import session

    stdout = subprocess.run([JARS], check=True, stdout=subprocess.PIPE, text=True).stdout
    jars = ",".join(map(str, sorted(Path(stdout.strip()).glob("*.jar"))))
    settings = {
        "spark.jars": jars,
        "spark.local.dir": directory / "local",
        "spark.sql.streaming.noDataMicroBatches.enabled": "false",
    }
    with started("trio-kafka", directory) as broker:
        spark = session("benchmark", settings=settings)
        try:
            spark.sparkContext.setLogLevel("ERROR")
            spark.dataSource.register(floor())
            yield Bench(spark, spark.sparkContext._gateway.proc.pid, broker)
        finally:
            spark.stop()


def measured(
    bench: Bench, rows: list[Row], directory: Path
) -> Iterator[tuple[Row, dict[str, Cost]]]:
    """Rows with the costs of each kind, as they are measured."""
    streams = [row for row in rows if row.group == "stream"]
    for row in rows:
        if row.group == "read":
            yield row, read(bench, row)
        elif row.group == "write":
            yield row, write(bench, row)
    if streams:
        costs = stream(bench, streams, directory)
        yield from ((row, costs[row.name]) for row in streams)


def judged(row: Row, costs: Mapping[str, Cost]) -> tuple[list[str], bool]:
    """Lines of a row, and whether its bounds hold."""
    official = costs[OFFICIAL]
    ratio_cpu = costs[OURS].spark_s / official.spark_s
    ratio_wall = costs[OURS].wall_s / official.wall_s
    held = ratio_cpu <= (row.most_cpu or ratio_cpu) and ratio_wall <= (row.most_wall or ratio_wall)
    lines = [
        f"{row.name:22} {kind:10} wall {cost.wall_s:6.2f} s  CPU of Spark {cost.spark_s:6.2f} s"
        f"  of the broker {cost.broker_s:5.2f} s"
        for kind, cost in costs.items()
    ]
    bounds = " ".join(
        f"{name} {ratio:.2f}" + ("" if most is None else f" (at most {most:.2f})")
        for name, ratio, most in (
            ("CPU", ratio_cpu, row.most_cpu),
            ("wall", ratio_wall, row.most_wall),
        )
    )
    lines.append(f"{row.name:22} times the connector: {bounds}{'' if held else '  MISSED'}")
    if FLOOR in costs:
        floor = costs[FLOOR]
        cpu, wall = costs[OURS].spark_s / floor.spark_s, costs[OURS].wall_s / floor.wall_s
        lines.append(f"{row.name:22} times the floor of Python: CPU {cpu:.2f} wall {wall:.2f}")
    return lines, held


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--rows", default="read,stream,write", help="groups (%(default)s)")
    parser.add_argument("--scale", type=float, default=1.0, help="times the records of each row")
    parser.add_argument("--check", action="store_true", help="fail for a missed bound")
    options = parser.parse_args(arguments)
    groups = options.rows.split(",")
    rows = [scaled(row, options.scale) for row in ROWS if row.group in groups]
    unwind_on_sigterm()
    all_held = True
    with TemporaryDirectory() as directory, benching(Path(directory)) as bench:
        for row, costs in measured(bench, rows, Path(directory)):
            lines, held = judged(row, costs)
            print("\n".join(lines), flush=True)
            all_held = all_held and held
    return 0 if all_held or not options.check else 1


def scaled(row: Row, times: float) -> Row:
    """A row with so many times the records."""
    return evolve(row, records=int(row.records * times))


if __name__ == "__main__":
    sys.exit(main())
