"""The same query through Spark's own Kafka connector and through ours, and what both say."""

import json
import re
import zipfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from operator import itemgetter
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from attrs import frozen

from trio_kafka.model import TopicPartition

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

THEIRS, OURS = FORMATS = ("kafka", "trio-kafka")
CONDITIONS_FILE: Final = "error/kafka-error-conditions.json"
QUICK: Final = {
    "kafka.fetch.max.wait.ms": "20",
    "kafkaConsumer.pollTimeoutMs": "1000",
    "fetchOffset.retryIntervalMs": "10",
}
Options = Mapping[str, str]
Conditions = Mapping[str, Sequence[str]]


@frozen(kw_only=True)
class Source:
    """One format on one broker."""

    spark: "SparkSession"
    bootstrap: str
    format: str

    def batch(self, options: Options) -> "DataFrame":
        return self.spark.read.format(self.format).options(**self._all(options)).load()

    def stream(self, options: Options) -> "DataFrame":
        return self.spark.readStream.format(self.format).options(**self._all(options)).load()

    def _all(self, options: Options) -> dict[str, str]:
        return {"kafka.bootstrap.servers": self.bootstrap, **QUICK, **options}


def both(spark: "SparkSession", bootstrap: str) -> Iterator[Source]:
    for each in FORMATS:
        yield Source(spark=spark, bootstrap=bootstrap, format=each)


def batch_rows(source: Source, options: Options) -> list[str]:
    return in_order(source.batch(options).collect())


def stream_rows(
    source: Source,
    options: Options,
    checkpoint: Path,
    *,
    available_now: bool,
    select: "Callable[[DataFrame], DataFrame]" = lambda frame: frame,
) -> tuple[list[str], list[Any]]:
    """Rows of a stream that runs until it has read all, and its committed offsets."""
    rows: list[Any] = []

    def keep(batch: "DataFrame", _: int) -> None:
        rows.extend(select(batch).collect())

    writer = source.stream(options).writeStream.foreachBatch(keep)
    writer = writer.option("checkpointLocation", str(checkpoint))
    query = (writer.trigger(availableNow=True) if available_now else writer).start()
    try:
        if available_now:
            query.awaitTermination()
        else:
            query.processAllAvailable()
    finally:
        query.stop()
    return in_order(rows), committed(checkpoint)


def in_order(rows: Sequence[Any]) -> list[str]:
    """Rows as text, in the order of topic, partition and offset."""
    return [repr(row) for row in sorted(rows, key=itemgetter("topic", "partition", "offset"))]


def committed(checkpoint: Path) -> list[Any]:
    """Offsets after each committed batch, without the beginning that ours keeps in the first."""
    batches = sorted(int(file.name) for file in (checkpoint / "commits").glob("[0-9]*"))
    return [offsets_of(checkpoint, batch) for batch in batches]


def offsets_of(checkpoint: Path, batch: int) -> dict[str, Any]:
    """Offsets at the end of a batch, committed or not."""
    written = (checkpoint / "offsets" / str(batch)).read_text().splitlines()[-1]
    return {topic: partitions for topic, partitions in json.loads(written).items() if partitions}


def write_checkpoint(checkpoint: Path, start: object, end: object) -> None:
    """A checkpoint whose last batch is planned, from `start` to `end`, and not committed."""
    metadata = '{"batchWatermarkMs":0,"batchTimestampMs":0,"conf":{}}'
    for name in ("offsets", "commits"):
        (checkpoint / name).mkdir(parents=True)
    (checkpoint / "metadata").write_text('{"id":"00000000-0000-4000-8000-000000000024"}')
    for batch, offsets in enumerate((start, end)):
        text = "\n".join(["v1", metadata, json.dumps(offsets, separators=(",", ":"))])
        (checkpoint / "offsets" / str(batch)).write_text(text)
    (checkpoint / "commits" / "0").write_text('v1\n{"nextBatchWatermarkMs":0}')


def as_offsets(numbers: Mapping[TopicPartition, int]) -> str:
    """Partitions' numbers as the options have them."""
    written: dict[str, dict[str, int]] = {}
    for tp, number in numbers.items():
        written.setdefault(tp.topic, {})[str(tp.partition)] = number
    return json.dumps(written)


def conditions_of(jars: Sequence[Path]) -> Conditions:
    """Each of the connector's error conditions, and the pieces of text by which it is known."""
    (jar,) = [each for each in jars if each.name.startswith("spark-sql-kafka")]
    with zipfile.ZipFile(jar) as archive:
        read = json.loads(archive.read(CONDITIONS_FILE))
    pieces_of = {}
    for name, condition in read.items():
        for kind, inner in condition.get("subClass", {}).items():
            pieces_of[f"{name}.{kind}"] = _pieces(inner["message"])
        if "subClass" not in condition:
            pieces_of[name] = _pieces(condition["message"])
    return pieces_of


def _pieces(message: Sequence[str]) -> list[str]:
    pieces = re.split(r"<\w+>", _one_line(" ".join(message)))
    return [piece for piece in pieces if piece.strip()]


def _one_line(text: str) -> str:
    return " ".join(text.split())


def condition_of(run: Callable[[], object], conditions: Conditions) -> str | None:
    """The connector's condition with which a query fails, in its words or in brackets."""
    try:
        run()
    except Exception as error:
        text = _one_line(_texts_of(error))
    else:
        return None
    named = [name for name in conditions if f"[{name}] " in text]
    meant = [name for name, pieces in conditions.items() if _has_in_order(text, pieces)]
    assert named or meant, f"no condition of the connector: {text}"
    return max(named or meant, key=lambda name: sum(map(len, conditions[name])))


def _has_in_order(text: str, pieces: Sequence[str]) -> bool:
    at = 0
    for piece in pieces:
        at = text.find(piece, at)
        if at < 0:
            return False
        at += len(piece)
    return True


def _texts_of(error: Exception) -> str:
    """The texts of an error and of all its causes in the JVM."""
    texts = [str(error)]
    cause = getattr(error, "java_exception", None) or getattr(error, "_origin", None)
    while cause is not None:
        texts.append(cause.toString())
        cause = cause.getCause()
    return "\n".join(texts)
