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
    EqualTo: lambda value, bound: value == bound,
    GreaterThan: lambda value, bound: value > bound,
    GreaterThanOrEqual: lambda value, bound: value >= bound,
    LessThan: lambda value, bound: value < bound,
    LessThanOrEqual: lambda value, bound: value <= bound,
    In: lambda value, values: value in values,
    StringStartsWith: lambda value, prefix: value.startswith(prefix),
    StringEndsWith: lambda value, suffix: value.endswith(suffix),
    StringContains: lambda value, part: part in value,
}


@define(kw_only=True)
class Bounds:
    """Bounds that the filters of a query set: partitions, start <= offset < stop, a time."""

    start: int = 0
    stop: int = _HIGHEST
    since_ms: int = 0
    tests: list[tuple[str, Filter]] | None = None

    def push(self, filters: Sequence[Filter]) -> list[Filter]:
        """Take what can be taken of `filters`; return those that Spark must check itself."""
        return [filter_ for filter_ in filters if not self._take(filter_)]

    def admits(self, tp: TopicPartition) -> bool:
        """Return whether records of a partition can pass the filters."""
        return all(
            _passes(filter_, tp.topic if column == "topic" else tp.partition)
            for column, filter_ in self.tests or ()
        )

    def _take(self, filter_: Filter) -> bool:
        column, value = _column_and_value(filter_)
        if isinstance(filter_, IsNotNull):
            return column in _NEVER_NULL
        if column in ("topic", "partition") and _can_test(
            filter_, str if column == "topic" else int
        ):
            self.tests = [*(self.tests or ()), (column, filter_)]
            return True
        if column == "offset":
            return self._take_offset(filter_, value)
        if column == "timestamp" and isinstance(value, datetime):
            self._take_timestamp(filter_, value)
        return False

    def _take_offset(self, filter_: Filter, value: Any) -> bool:
        if isinstance(filter_, In) and value and all(type(each) is int for each in value):
            self._narrow(min(value), max(value) + 1)
            return False  # there may be others between
        if type(value) is not int:
            return False
        if isinstance(filter_, EqualTo):
            self._narrow(value, value + 1)
        elif isinstance(filter_, GreaterThan):
            self._narrow(value + 1, _HIGHEST)
        elif isinstance(filter_, GreaterThanOrEqual):
            self._narrow(value, _HIGHEST)
        elif isinstance(filter_, LessThan):
            self._narrow(0, value)
        elif isinstance(filter_, LessThanOrEqual):
            self._narrow(0, value + 1)
        else:
            return False
        return True

    def _narrow(self, start: int, stop: int) -> None:
        self.start, self.stop = max(self.start, start), min(self.stop, stop)

    def _take_timestamp(self, filter_: Filter, value: datetime) -> None:
        if (
            isinstance(filter_, (EqualTo, GreaterThan, GreaterThanOrEqual))
            and value.tzinfo is not None
        ):
            microseconds = (value - _EPOCH) // _EPOCH.resolution
            self.since_ms = max(self.since_ms, microseconds // 1000)


def _column_and_value(filter_: Filter) -> tuple[str, Any]:
    inner = filter_.child if isinstance(filter_, Not) else filter_
    path: tuple[str, ...] = getattr(inner, "attribute", ())
    value = None if isinstance(filter_, Not) else getattr(inner, "value", None)
    return (path[0] if len(path) == 1 else ""), value


def _can_test(filter_: Filter, kind: type) -> bool:
    inner = filter_.child if isinstance(filter_, Not) else filter_
    if type(inner) not in _TESTS:
        return False
    value = getattr(inner, "value", None)
    if isinstance(inner, In):
        return isinstance(value, (tuple, list)) and all(type(each) is kind for each in value)
    return type(value) is kind


def _passes(filter_: Filter, value: str | int) -> bool:
    if isinstance(filter_, Not):
        return not _passes(filter_.child, value)
    return _TESTS[type(filter_)](value, getattr(filter_, "value", None))
