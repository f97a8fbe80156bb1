"""Kafka's types of settings: text to values and back.

A value in Python is bool, int, float, str, or a tuple of str for a list. Text is trimmed first.
Source: ConfigDef of Apache Kafka 4.4.0; types have their numbers of DescribeConfigs (KIP-569).
"""

import re
from collections.abc import Callable
from enum import IntEnum
from math import inf
from sys import float_info
from typing import Final


class Kind(IntEnum):
    """The type of a setting, by its number on the wire."""

    BOOLEAN = 1
    STRING = 2
    INT = 3
    SHORT = 4
    LONG = 5
    DOUBLE = 6
    LIST = 7
    CLASS = 8
    PASSWORD = 9


MAX_INT: Final = 2**31 - 1
MAX_LONG: Final = 2**63 - 1
MAX_DOUBLE: Final = float_info.max
Value = bool | int | float | str | tuple[str, ...] | None

_INTEGER: Final = re.compile(r"[+-]?[0-9]{1,19}")
# Clients choose values: no two parts that follow each other may match the same text, or a long one
# takes quadratic time.
_DOUBLE: Final = re.compile(r"[+-]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]+)?")
_BITS: Final = {Kind.SHORT: 16, Kind.INT: 32, Kind.LONG: 64}


def parse(kind: Kind, text: str) -> Value:
    """Return the value of `text`. Raises ValueError, whose text never has a password."""
    return _PARSERS[kind](text.strip())


def show(kind: Kind, value: Value) -> str | None:
    """Return the text of a value, as Kafka shows it; None for an unset value."""
    if value is None:
        return None
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, tuple):
        return ",".join(value)
    if kind is Kind.DOUBLE:
        return _show_double(float(value))
    return str(value)


def _boolean(text: str) -> bool:
    if text.lower() not in ("true", "false"):
        raise ValueError(f"{text!r} is not a boolean: want true or false")
    return text.lower() == "true"


def _integer(kind: Kind) -> Callable[[str], int]:
    limit = 1 << (_BITS[kind] - 1)

    def parse_integer(text: str) -> int:
        if not _INTEGER.fullmatch(text):
            raise ValueError(f"{text!r} is not a whole number")
        value = int(text)
        if not -limit <= value < limit:
            raise ValueError(f"{text} is out of range: want {-limit} to {limit - 1}")
        return value

    return parse_integer


def _double(text: str) -> float:
    if not _DOUBLE.fullmatch(text):
        raise ValueError(f"{text!r} is not a number")
    if abs(value := float(text)) == inf:
        raise ValueError(f"{text} is out of range: want at most {MAX_DOUBLE:g}")
    return value


def _list(text: str) -> tuple[str, ...]:
    return tuple(item.strip() for item in text.split(",")) if text else ()


def _show_double(value: float) -> str:
    """Return a number as Java writes it: an exponent below 0.001 and from ten million on."""
    if value == 0 or 1e-3 <= abs(value) < 1e7:
        return repr(value)
    # The shortest text that reads back as the same number: 17 digits always do.
    shortest = next(t for n in range(17) if float(t := f"{value:.{n}e}") == value)
    digits, _, exponent = shortest.partition("e")
    return f"{digits if '.' in digits else digits + '.0'}E{int(exponent)}"


_PARSERS: Final[dict[Kind, Callable[[str], Value]]] = {
    Kind.BOOLEAN: _boolean,
    Kind.STRING: str,
    Kind.INT: _integer(Kind.INT),
    Kind.SHORT: _integer(Kind.SHORT),
    Kind.LONG: _integer(Kind.LONG),
    Kind.DOUBLE: _double,
    Kind.LIST: _list,
    Kind.CLASS: str,
    Kind.PASSWORD: str,
}
