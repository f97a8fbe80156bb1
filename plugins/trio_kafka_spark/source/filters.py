"""Filters on offset, partition, topic and timestamp that bound what is read, where they allow it.

Spark offers predicates of one column and one literal. Those on topic and partition choose
partitions, and comparisons of the offset cut the range: Spark need not check them again. A lower
bound of the timestamp moves the start to the first record that is so late; as later records may
carry earlier timestamps, Spark checks it again, and an upper bound is left to Spark altogether.
"""

from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any, Final

from pyspark.sql.datasource import (
    EqualTo,
    Filter,
    GreaterThan,
    GreaterThanOrEqual,
    In,
    IsNotNull,
    LessThan,
    LessThanOrEqual,
    Not,
    StringContains,
    StringEndsWith,
    StringStartsWith,
)

from trio_kafka.attributes import define
from trio_kafka.model import TopicPartition

_NEVER_NULL: Final = ("topic", "partition", "offset", "timestamp")
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_HIGHEST: Final = 2**63 - 1

_TESTS: Final[Mapping[type[Filter], Callable[[Any, Any], bool]]] = {
    EqualTo: lambda found, wanted: found == wanted,
    GreaterThan: lambda found, wanted: found > wanted,
    GreaterThanOrEqual: lambda found, wanted: found >= wanted,
    LessThan: lambda found, wanted: found < wanted,
    LessThanOrEqual: lambda found, wanted: found <= wanted,
    In: lambda found, wanted: found in wanted,
    StringStartsWith: lambda found, wanted: found.startswith(wanted),
    StringEndsWith: lambda found, wanted: found.endswith(wanted),
    StringContains: lambda found, wanted: wanted in found,
}


@define
class Bounds:
    """Bounds that the filters of a query set: partitions, start <= offset < stop, a time."""

    start: int = 0
    stop: int = _HIGHEST
    since_ms: int = 0
    tests: list[tuple[str, Filter]] | None = None

    def push(self, filters: Sequence[Filter]) -> list[Filter]:
        """Take what can be taken of `filters`; return those that Spark must check itself."""
        return [one for one in filters if not self._take(one)]

    def admits(self, tp: TopicPartition) -> bool:
        """Return whether records of a partition can pass the filters."""
        return all(
            _passes(one, tp.topic if column == "topic" else tp.partition)
            for column, one in self.tests or ()
        )

    def _take(self, one: Filter) -> bool:
        column, value = _column_and_value(one)
        if isinstance(one, IsNotNull):
            return column in _NEVER_NULL
        if column in ("topic", "partition") and _can_test(one, str if column == "topic" else int):
            self.tests = [*(self.tests or ()), (column, one)]
            return True
        if column == "offset":
            return self._take_offset(one, value)
        if column == "timestamp" and isinstance(value, datetime):
            self._take_timestamp(one, value)
        return False

    def _take_offset(self, one: Filter, value: Any) -> bool:
        if isinstance(one, In) and value and all(type(each) is int for each in value):
            self._narrow(min(value), max(value) + 1)
            return False  # there may be others between
        if type(value) is not int:
            return False
        if isinstance(one, EqualTo):
            self._narrow(value, value + 1)
        elif isinstance(one, GreaterThan):
            self._narrow(value + 1, _HIGHEST)
        elif isinstance(one, GreaterThanOrEqual):
            self._narrow(value, _HIGHEST)
        elif isinstance(one, LessThan):
            self._narrow(0, value)
        elif isinstance(one, LessThanOrEqual):
            self._narrow(0, value + 1)
        else:
            return False
        return True

    def _narrow(self, start: int, stop: int) -> None:
        self.start, self.stop = max(self.start, start), min(self.stop, stop)

    def _take_timestamp(self, one: Filter, value: datetime) -> None:
        if isinstance(one, (EqualTo, GreaterThan, GreaterThanOrEqual)) and value.tzinfo is not None:
            microseconds = (value - _EPOCH) // _EPOCH.resolution
            self.since_ms = max(self.since_ms, microseconds // 1000)


def _column_and_value(one: Filter) -> tuple[str, Any]:
    inner = one.child if isinstance(one, Not) else one
    path: tuple[str, ...] = getattr(inner, "attribute", ())
    value = None if isinstance(one, Not) else getattr(inner, "value", None)
    return (path[0] if len(path) == 1 else ""), value


def _can_test(one: Filter, kind: type) -> bool:
    inner = one.child if isinstance(one, Not) else one
    if type(inner) not in _TESTS:
        return False
    value = getattr(inner, "value", None)
    if isinstance(inner, In):
        return isinstance(value, (tuple, list)) and all(type(each) is kind for each in value)
    return type(value) is kind


def _passes(one: Filter, found: str | int) -> bool:
    if isinstance(one, Not):
        return not _passes(one.child, found)
    return _TESTS[type(one)](found, getattr(one, "value", None))
