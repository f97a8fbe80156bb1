r"""Formats of kcat's option `-f`, such as `%t-%p %o: %k = %s\n`.

%s value, %S its length, %k key, %K its length (-1: null), %h headers, %T timestamp in ms, %t topic,
%p partition, %o offset, %R length of the value as 4 bytes, %%. Null keys and values are empty.
Source: the manual of kcat 1.7.
"""

from collections.abc import Mapping
from struct import Struct
from typing import TYPE_CHECKING, Final

from trio_kafka.cli.records.escapes import unescape
from trio_kafka.cli.records.record_json import RecordBytes

if TYPE_CHECKING:
    from trio_kafka.clients.consumer.values import ConsumerRecord

_LENGTH: Final = Struct(">i")


def _size(data: bytes | None) -> int:
    return -1 if data is None else len(data)


def _headers(record: "ConsumerRecord[bytes | None, bytes | None]") -> bytes:
    return b",".join(
        name.encode() + b"=" + (b"NULL" if value is None else value)
        for name, value in record.headers
    )


_PARTS: Final[Mapping[str, RecordBytes]] = {
    "s": lambda record: record.value or b"",
    "S": lambda record: b"%d" % _size(record.value),
    "R": lambda record: _LENGTH.pack(_size(record.value)),
    "k": lambda record: record.key or b"",
    "K": lambda record: b"%d" % _size(record.key),
    "T": lambda record: b"%d" % record.timestamp_ms,
    "h": _headers,
    "t": lambda record: record.topic.encode(),
    "p": lambda record: b"%d" % record.partition,
    "o": lambda record: b"%d" % record.offset,
}


def record_format(text: str) -> RecordBytes:
    """Return a function from a ConsumerRecord to its bytes. Raises ValueError."""
    parts: list[RecordBytes] = []
    literal = ""

    def end_literal() -> None:
        if literal:
            data = unescape(literal)
            parts.append(lambda _: data)

    letters = iter(text)
    for letter in letters:
        if letter != "%":
            literal += letter
            continue
        name = next(letters, "")
        if name == "%":
            literal += "%"
        elif name in _PARTS:
            end_literal()
            literal = ""
            parts.append(_PARTS[name])
        else:
            names = ", ".join(f"%{name}" for name in (*_PARTS, "%"))
            raise ValueError(f"unknown %{name} in the format: want one of {names}")
    end_literal()
    return lambda record: b"".join([part(record) for part in parts])
