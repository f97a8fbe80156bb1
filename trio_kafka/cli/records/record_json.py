"""A record as one line of JSON: what `consume --json` prints and `produce --json` reads."""

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Final, TypeAlias

from trio_kafka.attributes import frozen
from trio_kafka.cli.records.encodings import TEXT, from_json, to_json
from trio_kafka.strict_json import dump_json, parse_json

if TYPE_CHECKING:  # importing the clients takes as long as the rest of a command
    from trio_kafka.clients.consumer.values import ConsumerRecord

RecordBytes: TypeAlias = "Callable[[ConsumerRecord[bytes | None, bytes | None]], bytes]"
"""Turns a record into what is printed of it."""

_FIELDS: Final = frozenset(
    {"topic", "partition", "offset", "timestamp_ms", "headers", "key", "value"}
)
Headers = tuple[tuple[str, bytes | None], ...]


@frozen(kw_only=True)
class RecordLine:
    """Record of a line. topic, partition, timestamp_ms: None where the line has none."""

    topic: str | None = None
    partition: int | None = None
    timestamp_ms: int | None = None
    key: bytes | None = None
    value: bytes | None = None
    headers: Headers = ()


def record_writer(
    key_encoding: str = TEXT, value_encoding: str = TEXT, header_encoding: str = TEXT
) -> RecordBytes:
    """Return a function from a ConsumerRecord to its line, with the newline."""

    def write(record: "ConsumerRecord[bytes | None, bytes | None]") -> bytes:
        document = {
            "topic": record.topic,
            "partition": record.partition,
            "offset": record.offset,
            "timestamp_ms": record.timestamp_ms,
            "headers": [[name, to_json(value, header_encoding)] for name, value in record.headers],
            "key": to_json(record.key, key_encoding),
            "value": to_json(record.value, value_encoding),
        }
        return dump_json(document, compact=True).encode() + b"\n"

    return write


def read_record(line: bytes) -> RecordLine:
    """Return the record of a line. Raises ValueError, which says what is wrong where."""
    document = parse_json(line)
    if not isinstance(document, Mapping):
        raise ValueError(  # noqa: TRY004 - as for all wrong lines
            "want a JSON object with `value`, and perhaps `key` and `headers`"
        )
    unknown = sorted(set(document) - _FIELDS)
    if unknown:
        raise ValueError(f"unknown name {unknown[0]!r}: want {', '.join(sorted(_FIELDS))}")
    if "value" not in document:
        raise ValueError('no `value`: write "value": null for a null value')
    timestamp_ms = _number(document, "timestamp_ms")
    return RecordLine(
        topic=_text(document, "topic"),
        partition=_number(document, "partition"),
        timestamp_ms=None if timestamp_ms is None or timestamp_ms < 0 else timestamp_ms,
        key=_bytes(document, "key"),
        value=_bytes(document, "value"),
        headers=_headers(document.get("headers")),
    )


def _text(document: Mapping[str, object], name: str) -> str | None:
    value = document.get(name)
    if value is None or isinstance(value, str):
        return value
    raise ValueError(f"`{name}` is {dump_json(value)[:40]}: want a text")


def _number(document: Mapping[str, object], name: str) -> int | None:
    value = document.get(name)
    if value is None or (isinstance(value, int) and not isinstance(value, bool)):
        return value
    raise ValueError(f"`{name}` is {dump_json(value)[:40]}: want a whole number")


def _bytes(document: Mapping[str, object], name: str) -> bytes | None:
    try:
        return from_json(document.get(name))
    except ValueError as error:
        raise ValueError(f"`{name}`: {error}") from None


def _headers(value: object) -> Headers:
    if value is None:
        return ()
    pairs = list(value.items()) if isinstance(value, Mapping) else value
    if not isinstance(pairs, list):
        raise ValueError("`headers`: want a list of [name, value]")  # noqa: TRY004 - as above
    headers = []
    for pair in pairs:
        match pair:
            case [str(name), content] | (str(name), content):
                headers.append((name, from_json(content)))
            case _:
                raise ValueError(f"`headers`: {dump_json(pair)[:40]}: want [name, value]")
    return tuple(headers)
