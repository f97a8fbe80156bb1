"""Parsers of option values: text to number, flag, choice, list; errors say what was expected."""

import re
from collections.abc import Callable
from typing import Final

from trio_kafka.model import Endpoint

Parser = Callable[[str], object]
"""The value of a text. Raises ValueError, whose text says what was expected."""

LARGEST_INT: Final = (1 << 31) - 1
LARGEST_LONG: Final = (1 << 63) - 1
_ENDPOINT: Final = re.compile(
    r"(?:[A-Za-z][A-Za-z0-9+.-]*://)?(?:\[(?P<ip6>[0-9A-Fa-f:.%a-z]+)\]|(?P<host>[^\s:/\[\]]+)):(?P<port>\d+)"
)


def integer(low: int = 0, high: int = LARGEST_INT) -> Parser:
    """A whole number within bounds, both allowed."""

    def parse(text: str) -> int:
        try:
            value = int(text.strip())
        except ValueError:
            raise ValueError(f"{text!r} is no whole number") from None
        if not low <= value <= high:
            raise ValueError(f"{value} is out of range: want {low} to {high}")
        return value

    return parse


def flag(text: str) -> bool:
    """A boolean as Kafka reads it: true or false, in any case."""
    flags = {"true": True, "false": False}
    value = flags.get(text.strip().lower())
    if value is None:
        raise ValueError(f"{text!r}: want true or false")
    return value


def choice(*names: str) -> Parser:
    """One of these words, in any case; the value is the word as it stands here."""
    choices = {name.lower(): name for name in names}

    def parse(text: str) -> str:
        word = choices.get(text.strip().lower())
        if word is None:
            raise ValueError(f"{text!r}: want {' or '.join(names)}")
        return word

    return parse


def text(value: str) -> str:
    """Any text, as it is."""
    return value


def words(value: str) -> tuple[str, ...]:
    """A list, separated by commas; empty items are left out."""
    return tuple(filter(None, (word.strip() for word in value.split(","))))


def endpoints(value: str) -> tuple[Endpoint, ...]:
    """A list of HOST:PORT, with [...] around an IPv6 address."""
    addresses = []
    for address in words(value):
        match = _ENDPOINT.fullmatch(address)
        if match is None or not 0 < int(match["port"]) <= 65535:
            raise ValueError(f"{address!r} is no address: want HOST:PORT[,HOST:PORT...]")
        addresses.append(Endpoint(match["ip6"] or match["host"], int(match["port"])))
    if not addresses:
        raise ValueError("the list is empty: want HOST:PORT[,HOST:PORT...]")
    return tuple(addresses)
