"""Options and columns of a write, checked on the driver before any task starts.

The names, types and errors are those of Spark's own Kafka connector. Where its error has no name of
its own, the name is the one that Spark prints for it. Columns with other names are not written.
Source: KafkaSourceProvider and KafkaWriter of spark-sql-kafka-0-10 4.2.0.
"""

import difflib
import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Final, Self

from trio_kafka.attributes import frozen
from trio_kafka_spark.client import values
from trio_kafka_spark.client.errors import OptionError, SourceError
from trio_kafka_spark.client.settings import ClientSettings
from trio_kafka_spark.sink.epochs import Run

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
_OURS: Final = (
    "exactlyOnce",
    "maxRecordsPerSecond",
    "timestampColumn",
    "topic",
    "transactionTimeoutMs",
    "transactionalIdPrefix",
)
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
_PREFIX: Final = re.compile(r"[A-Za-z0-9._-]{1,100}")
_SHORTEST_MS: Final = 1000
_OPTIONS: Final = {name.lower(): name for name in (*_OURS, *_IGNORED)}


@frozen(kw_only=True)
class TransactionOptions:
    """Options of a write in transactions.

    prefix: of transactional ids and of the topic that holds the lists of epochs. timeout_ms: how
        long a transaction may be open, from the first record of a task to the commit of the epoch.
    """

    prefix: str = "trio-kafka-spark"
    timeout_ms: int = 600_000

    def ids_of_query(self, query: str) -> str:
        """Return what the transactional ids of all runs of a query begin with."""
        return f"{self.prefix}-{query}-"

    def ids_of(self, run: Run) -> str:
        """Return what the transactional ids of a run begin with; partition and attempt follow."""
        return f"{self.ids_of_query(run.query)}{run.run}-"

    def end_of(self, run: Run) -> str:
        """Return the transactional id that is known as soon as a run has ended."""
        return f"{self.ids_of(run)}end"


@frozen(kw_only=True)
class SinkOptions:
    """Options of a write.

    topic: where all records go, whatever the column `topic` says; None: the column decides.
    records_per_second: the most that one task writes; None: no limit.
    timestamp_column: a column whose values become the records' timestamps; None: the time of the
        write.
    transactions: None: the write is at least once.
    """

    client: ClientSettings
    topic: str | None = None
    records_per_second: float | None = None
    timestamp_column: str | None = None
    transactions: TransactionOptions | None = None

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
        return cls(
            client=ClientSettings.from_options(options, for_writing=True),
            topic=ours.get("topic"),
            records_per_second=_rate(ours.get("maxrecordspersecond")),
            timestamp_column=ours.get("timestampcolumn"),
            transactions=_transactions(ours),
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


def _transactions(options: Mapping[str, str]) -> TransactionOptions | None:
    """Options of transactions, checked also where `exactlyOnce` is false."""
    default = TransactionOptions()
    prefix = options.get("transactionalidprefix", default.prefix)
    if not _PREFIX.fullmatch(prefix):
        raise OptionError(
            "transactionalIdPrefix",
            f"{prefix!r}: want 1 to 100 letters, digits, dots, underscores or hyphens: it begins"
            " the name of a topic",
        )
    timeout_ms = _parsed("transactionTimeoutMs", values.integer(_SHORTEST_MS), options)
    if not _parsed("exactlyOnce", values.flag, options):
        return None
    if not isinstance(timeout_ms, int):
        timeout_ms = default.timeout_ms
    return TransactionOptions(prefix=prefix, timeout_ms=timeout_ms)


def _parsed(name: str, parse: values.Parser, options: Mapping[str, str]) -> object:
    value = options.get(name.lower())
    if value is None:
        return None
    try:
        return parse(value)
    except ValueError as error:
        raise OptionError(name, str(error)) from None


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
