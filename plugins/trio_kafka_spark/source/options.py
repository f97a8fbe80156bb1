"""Options of a read, as Spark hands them over, to frozen values: pure, without Spark or sockets.

Names, defaults and refusals are those of Spark's own Kafka connector. Two things differ: an unknown
option is an error, and `pushdown` exists. What begins with `kafka.` is the client's to judge.
"""

import difflib
import logging
import math
import re
from collections.abc import Mapping
from enum import Enum, auto
from typing import Final

import attrs

from trio_kafka.attributes import frozen
from trio_kafka_spark.client.errors import OptionError, SourceError
from trio_kafka_spark.client.settings import ClientSettings
from trio_kafka_spark.source.offsets import (
    EARLIEST,
    LATEST,
    Offsets,
    listed,
    parse_offsets,
    parse_timestamps,
)
from trio_kafka_spark.source.topics import TOPIC_OPTIONS, Topics, parse_topics

log: Final = logging.getLogger(__name__)

OPTIONS: Final = (
    *TOPIC_OPTIONS,
    "startingOffsets",
    "startingTimestamp",
    "startingOffsetsByTimestamp",
    "startingOffsetsByTimestampStrategy",
    "endingOffsets",
    "endingTimestamp",
    "endingOffsetsByTimestamp",
    "failOnDataLoss",
    "minPartitions",
    "maxRecordsPerPartition",
    "maxOffsetsPerTrigger",
    "minOffsetsPerTrigger",
    "maxTriggerDelay",
    "includeHeaders",
    "groupIdPrefix",
    "kafkaConsumer.pollTimeoutMs",
    "fetchOffset.numRetries",
    "fetchOffset.retryIntervalMs",
    "pushdown",
)
# Options of the writing half: one dictionary may serve both, as with the connector.
OF_WRITES: Final = ("topic", "exactlyOnce", "transactionTimeoutMs", "transactionalIdPrefix")
_BOOTSTRAP: Final = "kafka.bootstrap.servers"
_DURATION: Final = re.compile(r"(-?[0-9]+)\s*([a-z]+)?")
_SECONDS: Final[Mapping[str, float]] = {
    "us": 1e-6,
    "ms": 1e-3,
    "s": 1.0,
    "m": 60.0,
    "min": 60.0,
    "h": 3600.0,
    "d": 86400.0,
}


class Mode(Enum):
    """Batch or stream; EITHER: not known yet."""

    BATCH = auto()
    STREAM = auto()
    EITHER = auto()


class At(Enum):
    """Form in which a position is given."""

    EARLIEST = auto()
    LATEST = auto()
    OFFSETS = auto()
    TIMESTAMP = auto()
    TIMESTAMPS = auto()


@frozen(kw_only=True)
class Position:
    """Start or end of a read; `numbers` by partition, or one `timestamp` for all."""

    at: At
    numbers: Offsets = attrs.field(factory=dict)
    timestamp: int = 0


@frozen(kw_only=True)
class ReadOptions:
    """One read. Settings of the client are not shown: some are passwords."""

    topics: Topics
    start: Position
    end: Position
    latest_if_no_match: bool = False
    fail_on_data_loss: bool = True
    min_partitions: int | None = None
    max_records_per_partition: int | None = None
    max_offsets_per_trigger: int | None = None
    min_offsets_per_trigger: int | None = None
    max_trigger_delay_s: float = 900.0
    include_headers: bool = False
    group_id: str | None = None
    group_id_prefix: str | None = None
    offset_attempts: int = 3
    offset_retry_s: float = 1.0
    pushdown: bool = False
    client: ClientSettings = attrs.field(repr=False)


def parse(values: Mapping[str, str], mode: Mode) -> ReadOptions:
    """Return the options of a read in `mode`.

    Raises OptionError, which names the option, for one that is unknown, refused, missing or wrong.
    Raises SourceError with the connector's condition where a start and an end contradict.
    """
    options = _Options(values)
    options.refuse_unknown()
    start = _position(options, "starting", At.LATEST if mode is Mode.STREAM else At.EARLIEST)
    end = _position(options, "ending", At.LATEST)
    if mode is Mode.BATCH:
        _check_batch(start, end)
    elif mode is Mode.STREAM:
        _check_stream(options)
    least = options.whole("minOffsetsPerTrigger")
    most = options.whole("maxOffsetsPerTrigger")
    if least is not None and most is not None and least > most:
        raise OptionError(
            "minOffsetsPerTrigger", f"found {least}, which is above maxOffsetsPerTrigger={most}"
        )
    if mode is Mode.BATCH:
        for name in ("maxOffsetsPerTrigger", "minOffsetsPerTrigger", "maxTriggerDelay"):
            options.warn_unused(name, "a batch reads everything at once")
    if _BOOTSTRAP not in options.lower:
        raise OptionError(_BOOTSTRAP, "missing; expected host:port of at least one broker")
    options.whole("kafkaConsumer.pollTimeoutMs")
    return ReadOptions(
        topics=parse_topics(options.text),
        start=start,
        end=end,
        latest_if_no_match=options.choice("startingOffsetsByTimestampStrategy", "error", "latest")
        == "latest",
        fail_on_data_loss=options.flag("failOnDataLoss", True),
        min_partitions=options.positive("minPartitions"),
        max_records_per_partition=options.positive("maxRecordsPerPartition"),
        max_offsets_per_trigger=most,
        min_offsets_per_trigger=least,
        max_trigger_delay_s=options.duration("maxTriggerDelay", 900.0),
        include_headers=options.flag("includeHeaders", False),
        group_id=options.text("kafka.group.id"),
        group_id_prefix=options.text("groupIdPrefix"),
        offset_attempts=max(options.whole("fetchOffset.numRetries", 3) or 0, 1),
        offset_retry_s=(options.whole("fetchOffset.retryIntervalMs", 1000) or 0) / 1000.0,
        pushdown=options.flag("pushdown", False),
        client=ClientSettings.from_options(options.lower),
    )


@frozen
class _Options:
    """Options by lower-case name, with the checks that name them."""

    values: Mapping[str, str] = attrs.field(repr=False)
    lower: dict[str, str] = attrs.field(init=False, repr=False)

    def __attrs_post_init__(self) -> None:
        object.__setattr__(self, "lower", {k.lower(): v for k, v in self.values.items()})

    def refuse_unknown(self) -> None:
        spellings = {name.lower(): name for name in (*OPTIONS, *OF_WRITES)}
        for name in self.lower:
            if name in spellings or name.startswith("kafka."):
                continue
            near = difflib.get_close_matches(name, [*spellings, _BOOTSTRAP], n=1, cutoff=0.6)
            hint = f"; did you mean {spellings.get(near[0], near[0])}?" if near else ""
            raise OptionError(name, f"unknown option of format trio-kafka{hint}")

    def text(self, name: str) -> str | None:
        return self.lower.get(name.lower())

    def whole(self, name: str, default: int | None = None) -> int | None:
        number = self.text(name)
        if number is None:
            return default
        if not number.strip().isdecimal() or int(number) >= 2**63:
            raise OptionError(name, f"found {number!r}; expected a whole number, 0 or more")
        return int(number)

    def positive(self, name: str) -> int | None:
        number = self.whole(name)
        if number == 0:
            raise OptionError(name, "found 0; expected a whole number, 1 or more")
        return number

    def flag(self, name: str, default: bool) -> bool:
        return self.choice(name, str(default).lower(), str(not default).lower()) == "true"

    def choice(self, name: str, default: str, other: str) -> str:
        word = (self.text(name) or default).strip().lower()
        if word not in (default, other):
            raise OptionError(name, f"found {self.text(name)!r}; expected {default} or {other}")
        return word

    def duration(self, name: str, default: float) -> float:
        duration = self.text(name)
        if duration is None:
            return default
        parsed = _DURATION.fullmatch(duration.strip().lower())
        unit = (parsed[2] or "ms") if parsed else ""
        if parsed is None or unit not in _SECONDS or int(parsed[1]) < 0:
            raise OptionError(
                name, f"found {duration!r}; expected a duration such as 500ms, 30s, 15m, 1h or 1d"
            )
        return min(int(parsed[1]) * _SECONDS[unit], math.inf)

    def warn_unused(self, name: str, why: str) -> None:
        if self.text(name) is not None:
            log.warning("option %s is ignored: %s", name, why)


def _position(options: _Options, side: str, default: At) -> Position:
    """Return the start or the end: one timestamp wins over several, and those over offsets."""
    timestamp = options.text(f"{side}Timestamp")
    if timestamp is not None:
        return Position(at=At.TIMESTAMP, timestamp=options.whole(f"{side}Timestamp") or 0)
    name = f"{side}OffsetsByTimestamp"
    timestamps = options.text(name)
    try:
        if timestamps is not None:
            return Position(at=At.TIMESTAMPS, numbers=parse_timestamps(timestamps))
        name = f"{side}Offsets"
        offsets = (options.text(name) or default.name).strip()
        if offsets.upper() in (At.EARLIEST.name, At.LATEST.name):
            return Position(at=At[offsets.upper()])
        return Position(at=At.OFFSETS, numbers=parse_offsets(offsets))
    except ValueError as error:
        raise OptionError(name, str(error)) from None


def _check_batch(start: Position, end: Position) -> None:
    if start.at is At.LATEST or LATEST in _offsets(start).values():
        raise OptionError("startingOffsets", "a batch cannot start at the latest offsets")
    if end.at is At.EARLIEST or EARLIEST in _offsets(end).values():
        raise OptionError("endingOffsets", "a batch cannot end at the earliest offsets")
    if start.at is not end.at or start.at not in (At.OFFSETS, At.TIMESTAMPS):
        return
    if start.numbers.keys() != end.numbers.keys():
        raise SourceError(
            "MISMATCHED_TOPIC_PARTITIONS_BETWEEN_START_OFFSET_AND_END_OFFSET",
            f"the start names {listed(start.numbers)} and the end {listed(end.numbers)}; "
            "expected the same partitions",
        )
    kind = "offset" if start.at is At.OFFSETS else "timestamp"
    for tp, first in start.numbers.items():
        if first > end.numbers[tp] >= 0:
            raise SourceError(
                "UNRESOLVED_START_OFFSET_GREATER_THAN_END_OFFSET",
                f"the starting {kind} {first} of {tp} is above its ending {kind} {end.numbers[tp]}",
            )


def _check_stream(options: _Options) -> None:
    for name in ("endingOffsets", "endingOffsetsByTimestamp"):
        if options.text(name) is not None:
            raise OptionError(name, "a stream has no end; expected a batch query")
    options.warn_unused("endingTimestamp", "a stream has no end")


def _offsets(position: Position) -> Offsets:
    return position.numbers if position.at is At.OFFSETS else {}
