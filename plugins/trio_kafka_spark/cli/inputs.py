"""Arguments that say what a job reads, checked before Spark starts, and the DataFrames they name.

A session takes seconds to start: a mistake in the arguments is told before.
"""

from argparse import ArgumentParser
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, Final

from pyspark.sql import DataFrame, SparkSession

from trio_kafka.attributes import frozen
from trio_kafka.cli import FAILED, CommandFailedError
from trio_kafka.cli.broker_options import declare_cluster, default_bootstrap
from trio_kafka_spark.cli.clusters import kafka_options
from trio_kafka_spark.client.errors import OptionError, SourceError
from trio_kafka_spark.log.options import LogOptions
from trio_kafka_spark.source.options import Mode, parse

FROM_LOG: Final = "trio-kafka-log"
FROM_BROKER: Final = "trio-kafka"
_FIELDS: Final = (
    "path",
    "bootstrap",
    "topic",
    "pattern",
    "starting_offsets",
    "ending_offsets",
    "option",
)


@frozen
class Reading:
    """Checked options of one of the two readers."""

    kind: str
    options: Mapping[str, str]

    def load(self, spark: SparkSession) -> DataFrame:
        """Return the DataFrame of the view that the arguments name."""
        return spark.read.format(self.kind).options(**self.options).load()


@frozen(kw_only=True)
class Input:
    """Values of the arguments that `declare_input` declares."""

    path: str | None = None
    bootstrap: str | None = None
    topic: Sequence[str] = ()
    pattern: str | None = None
    starting_offsets: str | None = None
    ending_offsets: str | None = None
    option: Sequence[str] = ()

    @classmethod
    def taken(cls, arguments: dict[str, Any]) -> "Input":
        """Take the arguments of an input out of a command's arguments."""
        fields = {name: arguments.pop(name) for name in _FIELDS if name in arguments}
        return cls(**fields)

    def records(self, **more: str) -> Reading:
        """Return a reading of records, from --path or from a broker. Raises CommandFailedError."""
        with refused():
            if self.path is not None and self.bootstrap is not None:
                raise OptionError("path", "found --path and --bootstrap; give one of them")
            options = self._selection() | self._offsets() | more | pairs(self.option)
            if self.path is not None:
                return _checked(FROM_LOG, {"path": self.path, **options})
            cluster = kafka_options(self.bootstrap or default_bootstrap(), for_writing=False)
            return _checked(FROM_BROKER, cluster | options)

    def view(self, view: str, **more: str) -> Reading:
        """Return a reading of a view of log directories. Raises CommandFailedError."""
        with refused():
            if self.path is None:
                raise OptionError("path", "this job reads log directories; name them with --path")
            place = {"path": self.path, "view": view}
            options = self._selection() | self._offsets() | more | pairs(self.option)
            return _checked(FROM_LOG, place | options)

    def _selection(self) -> dict[str, str]:
        if self.topic and self.pattern:
            raise OptionError("topic", "found --topic and --pattern; give one of them")
        if self.topic:
            return {"subscribe": ",".join(self.topic)}
        return {"subscribePattern": self.pattern} if self.pattern else {}

    def _offsets(self) -> dict[str, str]:
        options = {"startingOffsets": self.starting_offsets, "endingOffsets": self.ending_offsets}
        return {name: value for name, value in options.items() if value is not None}


def _checked(kind: str, options: Mapping[str, str]) -> Reading:
    """Return a reading whose options are right in themselves. Raises OptionError, SourceError."""
    if kind == FROM_LOG:
        LogOptions.from_options(options)
    else:
        parse(options, Mode.BATCH)
    return Reading(kind, options)


@contextmanager
def refused() -> Iterator[None]:
    """Turn an error in the arguments into a failure of the command."""
    try:
        yield
    except (OptionError, SourceError) as error:
        raise CommandFailedError(str(error), FAILED) from error


def declare_input(parser: ArgumentParser, *, broker: bool) -> None:
    """Declare where a job reads. broker: it may read topics of a running broker, too."""
    place = parser.add_argument_group("what is read")
    place.add_argument(
        "--path",
        metavar="DIRS",
        required=not broker,
        help="log directories, comma separated: log.dirs of a broker, running or not, or a copy",
    )
    if broker:
        declare_cluster(place, purpose="or a broker", keep_none=True)
    place.add_argument(
        "--topic", action="append", default=[], help="only this topic; may be repeated"
    )
    place.add_argument("--pattern", metavar="REGEX", help="only topics that match")
    place.add_argument("--starting-offsets", metavar="OFFSETS", help="earliest, or JSON")
    place.add_argument("--ending-offsets", metavar="OFFSETS", help="latest, or JSON")
    place.add_argument(
        "--option",
        action="append",
        default=[],
        metavar="NAME=VALUE",
        help="an option of the reader, such as mode=permissive; may be repeated",
    )
    declare_spark(parser)


def declare_spark(parser: ArgumentParser) -> None:
    """Declare where Spark runs."""
    parser.add_argument(
        "--master", metavar="URL", help="Spark's master (local[2], unless spark-submit gave one)"
    )


def pairs(arguments: Sequence[str]) -> dict[str, str]:
    """Return NAME=VALUE arguments as a mapping. Raises OptionError."""
    values: dict[str, str] = {}
    for argument in arguments:
        name, equals, value = argument.partition("=")
        if not equals or not name:
            raise OptionError("option", f"found {argument!r}; expected NAME=VALUE")
        values[name] = value
    return values
