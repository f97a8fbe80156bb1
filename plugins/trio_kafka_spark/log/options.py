"""Options of `format("trio-kafka-log")`: from text to values, with errors that name the option.

Names are case-insensitive. Names and JSON forms are those of Spark's own Kafka connector wherever
it has the option.
"""

import difflib
import json
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, Self

from trio_kafka.attributes import frozen
from trio_kafka.model import TopicPartition
from trio_kafka_spark.client.errors import OptionError
from trio_kafka_spark.client.values import choice, flag, integer, words

EARLIEST: Final = -2
LATEST: Final = -1
VIEWS: Final = ("records", "batches", "segments", "errors")
_MIB: Final = 1 << 20
_ENDS: Final = {"earliest": EARLIEST, "latest": LATEST}
_LARGEST_SPLIT: Final = 1 << 40

Offsets = int | Mapping[TopicPartition, int]
"""EARLIEST or LATEST for all partitions, or an offset (or one of these) for each one named."""


@frozen(kw_only=True)
class LogOptions:
    """Log directories to read, and the part of them. At most one of three selections is given.

    window_bytes: bytes of a segment that a task reads at once. permissive: damaged places are
    skipped. read_committed: records of aborted and open transactions are left out.
    """

    path: tuple[str, ...]
    view: str = "records"
    subscribe: tuple[str, ...] = ()
    subscribe_pattern: re.Pattern[str] | None = None
    assign: tuple[TopicPartition, ...] = ()
    starting_offsets: Offsets = EARLIEST
    ending_offsets: Offsets = LATEST
    split_bytes: int = 32 * _MIB
    window_bytes: int = 4 * _MIB
    permissive: bool = False
    read_committed: bool = False
    fail_on_data_loss: bool = False
    include_headers: bool = False
    uncompressed: bool = False

    @classmethod
    def from_options(cls, options: Mapping[str, str]) -> Self:
        """Parse the options of a reader. Raises OptionError."""
        values: dict[str, Any] = {}
        for name, value in options.items():
            entry = OPTIONS.get(name.lower())
            if entry is None:
                raise OptionError(name, _unknown(name))
            attribute, parse = entry
            try:
                values[attribute] = parse(value)
            except ValueError as error:
                raise OptionError(name, str(error)) from None
        if not values.get("path"):
            raise OptionError("path", "is missing: want the log.dirs of a broker, comma separated")
        parsed = cls(**values)
        _check(parsed)
        return parsed

    @property
    def selects(self) -> bool:
        """True if the options say which topics or partitions to read."""
        return bool(self.subscribe or self.subscribe_pattern or self.assign)

    def wants(self, at: TopicPartition) -> bool:
        """Return whether a partition is selected; without a selection all are."""
        if self.subscribe:
            return at.topic in self.subscribe
        if self.subscribe_pattern is not None:
            return self.subscribe_pattern.fullmatch(at.topic) is not None
        return at in self.assign if self.assign else True


def _check(options: LogOptions) -> None:
    selections = (options.subscribe, options.subscribe_pattern, options.assign)
    count = sum(bool(selection) for selection in selections)
    if count > 1:
        raise OptionError("subscribe", f"want one of {_SELECTIONS}, found {count} of them")
    if not count and options.view == "records":
        raise OptionError("subscribe", f"want one of {_SELECTIONS}, found none of them")
    if options.starting_offsets == LATEST:
        raise OptionError("startingOffsets", "latest leaves nothing to read: want earliest or JSON")
    if options.ending_offsets == EARLIEST:
        raise OptionError("endingOffsets", "earliest leaves nothing to read: want latest or JSON")
    if options.uncompressed and options.view != "batches":
        raise OptionError("uncompressed", f"is an option of view=batches, found {options.view}")
    if options.include_headers and options.view != "records":
        raise OptionError("includeHeaders", f"is an option of view=records, found {options.view}")


def offsets(value: str) -> Offsets:
    """Parse earliest, latest, or JSON such as {"orders": {"0": 23, "1": -2}}. Raises ValueError."""
    word = value.strip().lower()
    if word in _ENDS:
        return _ENDS[word]
    offsets_of: dict[TopicPartition, int] = {}
    for topic, partitions in _object(value, _OFFSETS_FORM).items():
        if not isinstance(partitions, dict):
            raise ValueError(f"{topic!r} has {partitions!r}: want {_OFFSETS_FORM}")  # noqa: TRY004
        for number, offset in partitions.items():
            if not number.isdecimal() or type(offset) is not int or offset < EARLIEST:
                raise ValueError(f"{topic!r} has {number!r}: {offset!r}, want {_OFFSETS_FORM}")
            offsets_of[TopicPartition(topic, int(number))] = offset
    return offsets_of


def assigned(value: str) -> tuple[TopicPartition, ...]:
    """Parse JSON such as {"orders": [0, 1]}. Raises ValueError."""
    partitions: list[TopicPartition] = []
    for topic, numbers in _object(value, _ASSIGN_FORM).items():
        if not isinstance(numbers, list) or any(
            type(number) is not int or number < 0 for number in numbers
        ):
            raise ValueError(f"{topic!r} has {numbers!r}: want {_ASSIGN_FORM}")
        partitions += [TopicPartition(topic, number) for number in numbers]
    if not partitions:
        raise ValueError(f"no partition in {value!r}: want {_ASSIGN_FORM}")
    return tuple(partitions)


def _object(value: str, form: str) -> dict[str, object]:
    try:
        parsed = json.loads(value)
    except ValueError:
        parsed = None
    if not isinstance(parsed, dict):
        raise ValueError(f"{value!r}: want {form}")  # noqa: TRY004 - text that is not that JSON
    return parsed


def _pattern(value: str) -> re.Pattern[str]:
    try:
        return re.compile(value)
    except re.error as error:
        raise ValueError(f"{value!r} is no regular expression: {error}") from None


def _some(parse: Callable[[str], Sequence[str]]) -> Callable[[str], Sequence[str]]:
    def parsed(value: str) -> Sequence[str]:
        names = parse(value)
        if not names:
            raise ValueError("the list is empty: want names, comma separated")
        return names

    return parsed


def _unknown(name: str) -> str:
    spelled = {spelling.lower(): spelling for spelling in SPELLINGS}
    near = difflib.get_close_matches(name.lower(), spelled, n=1, cutoff=0.5)
    hint = f"did you mean {spelled[near[0]]}?" if near else f"want {', '.join(SPELLINGS)}"
    return f"is unknown to format trio-kafka-log: {hint}"


_OFFSETS_FORM: Final = 'earliest, latest, or JSON such as {"orders": {"0": 23, "1": -2}}'
_ASSIGN_FORM: Final = 'JSON such as {"orders": [0, 1]}'
_SELECTIONS: Final = "subscribe, subscribePattern and assign"
_SPELLED: Final[Mapping[str, tuple[str, Callable[[str], object]]]] = {
    "path": ("path", words),
    "view": ("view", choice(*VIEWS)),
    "subscribe": ("subscribe", _some(words)),
    "subscribePattern": ("subscribe_pattern", _pattern),
    "assign": ("assign", assigned),
    "startingOffsets": ("starting_offsets", offsets),
    "endingOffsets": ("ending_offsets", offsets),
    "splitBytes": ("split_bytes", integer(1, _LARGEST_SPLIT)),
    "windowBytes": ("window_bytes", integer(1, 1 << 30)),
    "mode": ("permissive", lambda value: choice("failfast", "permissive")(value) == "permissive"),
    "isolation": (
        "read_committed",
        lambda value: choice("read_uncommitted", "read_committed")(value) == "read_committed",
    ),
    "failOnDataLoss": ("fail_on_data_loss", flag),
    "includeHeaders": ("include_headers", flag),
    "uncompressed": ("uncompressed", flag),
}
SPELLINGS: Final = tuple(_SPELLED)
OPTIONS: Final = {name.lower(): option for name, option in _SPELLED.items()}
