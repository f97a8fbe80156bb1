"""Values of a rule's fields as users write them: errors by name, ranges as lists or tuples."""

from collections.abc import Sequence
from difflib import get_close_matches
from math import inf
from typing import TypeGuard

from trio_kafka.controls.api_names import ApiName
from trio_kafka.errors import ErrorCode


class RuleError(ValueError):
    """Invalid rule; the message names the field and the reason."""


def error_of(value: ErrorCode | str | int | None) -> ErrorCode | None:
    """Return an error code by its name or number. Raises RuleError."""
    if value is None or isinstance(value, ErrorCode):
        return value
    if isinstance(value, int) and not isinstance(value, bool):
        try:
            return ErrorCode(value)
        except ValueError:
            raise RuleError(f"error: {value} is not the number of a Kafka error") from None
    code = ErrorCode.__members__.get(value) if isinstance(value, str) else None
    if code is None:
        near = get_close_matches(str(value), ErrorCode.__members__, n=1, cutoff=0.5)
        hint = f"; did you mean {near[0]}?" if near else ""
        raise RuleError(f"error: {value!r} is not the name of a Kafka error{hint}")
    return code


def apis_of(value: ApiName | Sequence[ApiName] | None) -> ApiName | tuple[ApiName, ...] | None:
    """Return the APIs of a rule, several as a tuple. Raises RuleError."""
    if value is None or _is_api(value):
        return value
    if isinstance(value, list | tuple) and all(_is_api(name) for name in value):
        return tuple(value)
    raise RuleError(f"api: {value!r}, want the name, key or class of an API, or a list of them")


def version_of(value: int | Sequence[int] | None) -> int | tuple[int, int] | None:
    """Return a version, or the first and the last of a range. Raises RuleError."""
    if value is None or is_whole(value):
        return value
    if isinstance(value, list | tuple) and len(value) == 2 and all(map(is_whole, value)):
        return value[0], value[1]
    raise RuleError(f"version: {value!r}, want a version, or the first and the last")


def delay_of(value: float | Sequence[float]) -> float | tuple[float, float]:
    """Return a delay in seconds, or the least and the most. Raises RuleError."""
    if is_number(value):
        return value
    if isinstance(value, list | tuple) and len(value) == 2 and all(map(is_number, value)):
        return value[0], value[1]
    raise RuleError(f"delay_s: {value!r}, want a number, or the least and the most")


def window_of(value: Sequence[float]) -> tuple[float, float]:
    """Return begin and end of a rule, in seconds; without an end it lasts. Raises RuleError."""
    if isinstance(value, list | tuple) and len(value) in (1, 2) and all(map(is_number, value)):
        return value[0], value[1] if len(value) == 2 else inf
    raise RuleError(f"window_s: {value!r}, want [begin] or [begin, end]")


def is_whole(value: object) -> TypeGuard[int]:
    """Return whether a value is a whole number; a bool is none."""
    return isinstance(value, int) and not isinstance(value, bool)


def is_number(value: object) -> TypeGuard[float]:
    """Return whether a value is a number; a bool is none."""
    return isinstance(value, int | float) and not isinstance(value, bool)


def _is_api(value: object) -> TypeGuard[ApiName]:
    return isinstance(value, str | type) or is_whole(value)
