"""Filters of records by key, value and headers: regular expressions of RE2, on bytes."""

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from trio_kafka.cli import CommandFailedError

if TYPE_CHECKING:
    from trio_kafka.clients.consumer.values import ConsumerRecord

    Filter = Callable[[ConsumerRecord[bytes | None, bytes | None]], bool]

_Matches = Callable[[bytes | None], bool]


def record_filter(key: str | None, value: str | None, headers: Sequence[str]) -> "Filter | None":
    """Return whether a record passes; None: all pass. An expression may match anywhere.

    headers: NAME, or NAME=REGEX. A null matches no expression. Raises CommandFailedError.
    """
    checks: list[Filter] = []
    if key is not None:
        matches_key = _expression("--key", key)
        checks.append(lambda record: matches_key(record.key))
    if value is not None:
        matches_value = _expression("--value", value)
        checks.append(lambda record: matches_value(record.value))
    checks += [_header_filter(header) for header in headers]
    if not checks:
        return None
    return lambda record: all(check(record) for check in checks)


def _header_filter(text: str) -> "Filter":
    name, equals, regex = text.partition("=")
    if not equals:
        return lambda record: any(other == name for other, _ in record.headers)
    matches = _expression("--header", regex)
    return lambda record: any(
        other == name and matches(content) for other, content in record.headers
    )


def _expression(option: str, regex: str) -> _Matches:
    from trio_kafka.coordinators.groups.consumer.regex_pattern import (  # noqa: PLC0415 - filters
        compiled,
    )
    from trio_kafka.errors import KafkaError  # noqa: PLC0415 - as above

    try:
        search = compiled(regex).search
    except KafkaError as error:
        reason = str(error).rpartition("is not a valid regular expression: ")[2]
        raise CommandFailedError(f"{option} {regex}: not an expression of RE2: {reason}") from error
    return lambda data: data is not None and search(data) is not None
