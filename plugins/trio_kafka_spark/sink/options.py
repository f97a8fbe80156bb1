"""Options and columns of a write, checked on the driver before any task starts.

The names, types and errors are those of Spark's own Kafka connector. Where its error has no name of
its own, the name is the one that Spark prints for it. Columns with other names are not written.
Source: KafkaSourceProvider and KafkaWriter of spark-sql-kafka-0-10 4.2.0.
"""

import difflib
from collections.abc import Mapping
from typing import TYPE_CHECKING, Final, Self

from trio_kafka.attributes import frozen
from trio_kafka_spark.client.errors import OptionError, SourceError
from trio_kafka_spark.client.settings import ClientSettings

if TYPE_CHECKING:
    from pyspark.sql.types import StructType

BAD_QUERY: Final = "_LEGACY_ERROR_TEMP_3080"
BAD_MODE: Final = "_LEGACY_ERROR_TEMP_3081"
NULL_TOPIC: Final = "KAFKA_NULL_TOPIC_IN_DATA"

HEADERS: Final = "array<struct<key:string,value:binary>>"
_TYPES: Final[Mapping[str, tuple[str, ...]]] = {
    "topic": ("string",),
    "key": ("string", "binary"),
    "value": ("string", "binary"),
    "headers": (HEADERS,),
    "partition": ("int",),
}
_CASTS: Final[Mapping[str, str]] = {
    "string": "CAST({0} AS STRING)",
    "int": "CAST({0} AS INT)",
    HEADERS: "array(named_struct('key', 'name', 'value', CAST('x' AS BINARY)))",
}
_OURS: Final = ("exactlyOnce", "maxRecordsPerSecond", "timestampColumn", "topic")
# Of the writer of Spark, of the sink of the connector (it has no effect), and of sources: programs
# give one set of options to both.
_IGNORED: Final = (
    "assign",
    "checkpointLocation",
    "endingOffsets",
    "endingOffsetsByTimestamp",
    "endingTimestamp",
    "failOnDataLoss",
    "fetchOffset.numRetries",
    "fetchOffset.retryIntervalMs",
    "groupIdPrefix",
    "includeHeaders",
    "kafkaConsumer.pollTimeoutMs",
    "maxOffsetsPerTrigger",
    "maxRecordsPerPartition",
    "maxTriggerDelay",
    "minOffsetsPerTrigger",
    "minPartitions",
    "outputMode",
    "path",
    "pushdown",
    "queryName",
    "startingOffsets",
    "startingOffsetsByTimestamp",
    "startingOffsetsByTimestampStrategy",
    "startingTimestamp",
    "subscribe",
    "subscribePattern",
)
_OPTIONS: Final = {name.lower(): name for name in (*_OURS, *_IGNORED)}


@frozen(kw_only=True)
class SinkOptions:
    """Options of a write.

    topic: where all records go, whatever the column `topic` says; None: the column decides.
    records_per_second: the most that one task writes; None: no limit.
    timestamp_column: a column whose values become the records' timestamps; None: the time of the
        write.
    """

    client: ClientSettings
    topic: str | None = None
    records_per_second: float | None = None
    timestamp_column: str | None = None

    @classmethod
    def from_options(cls, options: Mapping[str, str]) -> Self:
        """Options of a writer, in any case. Raises OptionError for one that is unknown or wrong."""
        ours: dict[str, str] = {}
        for key, value in options.items():
            lower = key.lower()
            if lower.startswith("kafka."):
                continue
            if lower not in _OPTIONS:
                raise OptionError(key, _unknown(lower))
            ours[lower] = value
        _refuse_exactly_once(ours.get("exactlyonce", "false"))
        return cls(
            client=ClientSettings.from_options(options, for_writing=True),
            topic=ours.get("topic"),
            records_per_second=_rate(ours.get("maxrecordspersecond")),
            timestamp_column=ours.get("timestampcolumn"),
        )


def check_columns(schema: "StructType", options: SinkOptions) -> None:
    """Check the columns of the rows. schema: a StructType of Spark.

    Raises SourceError with the condition of the connector, the column, its type and those wanted.
    """
    kinds = {field.name: field.dataType.simpleString() for field in schema.fields}
    if options.topic is None and "topic" not in kinds:
        raise SourceError(
            BAD_QUERY,
            "topic option required when no 'topic' attribute is present."
            " Use the topic option for setting a topic.",
        )
    if "value" not in kinds:
        raise SourceError(
            BAD_QUERY,
            f"Required attribute 'value' not found: the columns are {', '.join(kinds) or 'none'};"
            " name one of them value, of type string or binary",
        )
    for name, expected in _TYPES.items():
        if name not in kinds or (name == "topic" and options.topic is not None):
            continue
        kind = kinds[name]
        if kind not in expected and not (kind.startswith("string ") and "string" in expected):
            raise SourceError(BAD_QUERY, _wrong_type(name, kind, expected))
    column = options.timestamp_column
    if column is not None and kinds.get(column) != "timestamp":
        raise OptionError(
            "timestampColumn",
            f"column {column} is {kinds.get(column, 'not there')}: want a column of type timestamp",
        )


def check_mode(*, overwrite: bool) -> None:
    """Refuse the save mode `overwrite`, as the connector does. Raises SourceError."""
    if overwrite:
        raise SourceError(
            BAD_MODE,
            "Save mode overwrite not allowed for Kafka: records of a topic are not replaced."
            ' Allowed save mode is append: write.mode("append")',
        )


def _wrong_type(name: str, kind: str, kinds: tuple[str, ...]) -> str:
    want = " or ".join(kinds)
    cast = _CASTS[kinds[0]].format(name)
    return (
        f"{name} attribute unsupported type {kind}. {name} must be a(n) {want};"
        f" for example: {cast} AS {name}"
    )


def _unknown(name: str) -> str:
    near = difflib.get_close_matches(name, _OPTIONS, n=1)
    hint = f"; did you mean {_OPTIONS[near[0]]}?" if near else ""
    return f"is no option of this sink{hint}"


def _refuse_exactly_once(value: str) -> None:
    word = value.strip().lower()
    if word not in ("true", "false"):
        raise OptionError("exactlyOnce", f"{value!r}: want true or false")
    if word == "true":
        raise OptionError(
            "exactlyOnce",
            "is not supported: it needs transactions, which this version does not have."
            " Writes are at least once: a task that runs again writes its records again",
        )


def _rate(value: str | None) -> float | None:
    if value is None:
        return None
    try:
        rate = float(value)
    except ValueError:
        rate = 0.0
    if not 0 < rate < float("inf"):
        raise OptionError("maxRecordsPerSecond", f"{value!r}: want a number above 0")
    return rate
