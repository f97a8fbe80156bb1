"""Arguments that say where a job writes records, and the write itself."""

from argparse import ArgumentParser
from collections.abc import Sequence
from typing import Any, Final

from pyspark.sql import DataFrame, Observation
from pyspark.sql import functions as sf

from trio_kafka.attributes import frozen
from trio_kafka.cli.broker_options import declare_cluster
from trio_kafka.cli.output import declare_json, print_json_line
from trio_kafka_spark.cli.clusters import kafka_options
from trio_kafka_spark.cli.inputs import pairs, refused
from trio_kafka_spark.client.cluster import Cluster
from trio_kafka_spark.client.errors import OptionError
from trio_kafka_spark.client.settings import ClientSettings

_FORMAT: Final = "trio-kafka"
_FIELDS: Final = ("to_bootstrap", "to_topic", "to_option")


@frozen(kw_only=True)
class Output:
    """Values of the arguments that `declare_writing` declares."""

    to_bootstrap: str
    to_topic: str | None = None
    to_option: Sequence[str] = ()

    @classmethod
    def taken(cls, arguments: dict[str, Any]) -> "Output":
        """Take the arguments of a write out of a command's arguments. Raises CommandFailedError."""
        output = cls(**{name: arguments.pop(name) for name in _FIELDS})
        with refused():
            pairs(output.to_option)
        return output

    @property
    def options(self) -> dict[str, str]:
        """Options of the sink. Raises OptionError."""
        cluster = kafka_options(self.to_bootstrap, for_writing=True)
        return {**cluster, "timestampColumn": "timestamp", **pairs(self.to_option)}

    def partitions(self) -> int:
        """Return how many partitions the topic has. Raises OptionError, SourceError."""
        settings = ClientSettings.from_options(self.options, for_writing=True)
        topic = str(self.to_topic)
        with Cluster(settings) as cluster:
            partitions = cluster.topics([topic]).get(topic, [])
        if not partitions:
            raise OptionError("to-topic", f"there is no topic {topic}: create it first")
        return len(partitions)

    def write(self, frame: DataFrame, **more: str) -> int:
        """Write records and return how many. Raises OptionError, SourceError, PySparkException."""
        observed = Observation("written")
        counted = frame.observe(observed, sf.count(sf.lit(1)).alias("records"))
        options = self.options | more
        counted.write.format(_FORMAT).options(**options).mode("append").save()
        return int(observed.get["records"])


def declare_writing(parser: ArgumentParser, *, topic_required: bool) -> None:
    """Declare where a job writes."""
    place = parser.add_argument_group("where it is written")
    declare_cluster(place, prefix="to-", purpose="the broker to write to")
    place.add_argument(
        "--to-topic",
        required=topic_required,
        metavar="TOPIC",
        help="the topic" if topic_required else "the topic, if not the one of the same name",
    )
    place.add_argument(
        "--to-option",
        action="append",
        default=[],
        metavar="NAME=VALUE",
        help="an option of the writer, such as kafka.compression.type=zstd; may be repeated",
    )
    declare_json(parser, "one JSON object: `records`, `topic`, `partitions` where known")


def print_written(
    records: int, topic: str | None, *, json: bool, partitions: int | None = None
) -> None:
    """Print how many records a job wrote."""
    if json:
        summary = {"records": records, "topic": topic, "partitions": partitions}
        print_json_line({name: value for name, value in summary.items() if value is not None})
        return
    place = "" if topic is None else f" to {topic}"
    if partitions is not None:
        place = f" to {partitions} partitions of {topic}"
    print(f"{records} records written{place}")
