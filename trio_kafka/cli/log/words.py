"""Records, times and sizes in words, for tables.

Texts from files are escaped. A long key or value is cut, unless all of it is asked for.
"""

import re
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from enum import IntEnum
from typing import Final

from trio_kafka.cli.log.decoders import Decoded
from trio_kafka.coordinators.groups.consumer.member import MemberState
from trio_kafka.metadata.image import ConfigResourceType, RecoveryState
from trio_kafka.protocol.texts import printable
from trio_kafka.records.batch import Headers, Record
from trio_kafka.security.operations import Operation
from trio_kafka.security.resources import ResourceType

SHOWN: Final = 100  # characters of a key or value
_ITEMS: Final = 20  # of an array
_HUMP: Final = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")
_TIME: Final = re.compile(r".*[tT]imestamp(Ms)?")
_FIRST_YEAR_MS: Final = 0
_LAST_YEAR_MS: Final = 253_402_300_799_999  # of year 9999

# Numbers in words, by the class of the record (or ""), and the field.
_TRANSACTION_STATES: Final = (
    "empty",
    "ongoing",
    "prepare commit",
    "prepare abort",
    "complete commit",
    "complete abort",
    "dead",
    "prepare epoch fence",
)
_SEGMENT_STATES: Final = ("copy started", "copy finished", "delete started", "delete finished")


def _names(kind: type[IntEnum]) -> dict[int, str]:
    return {int(member): member.name.replace("_", " ").lower() for member in kind}


_NUMBERS: Final[Mapping[tuple[str, str], Mapping[int, str]]] = {
    ("TransactionLog", "transactionStatus"): dict(enumerate(_TRANSACTION_STATES)),
    ("ConfigRecord", "resourceType"): _names(ConfigResourceType),
    ("AccessControlEntryRecord", "resourceType"): _names(ResourceType),
    ("AccessControlEntryRecord", "operation"): _names(Operation),
    ("AccessControlEntryRecord", "permissionType"): {2: "deny", 3: "allow"},
    ("AccessControlEntryRecord", "patternType"): {3: "literal", 4: "prefixed"},
    ("ConsumerGroupCurrentMemberAssignment", "state"): _names(MemberState),
    ("", "leaderRecoveryState"): _names(RecoveryState),
    ("", "remoteLogSegmentState"): dict(enumerate(_SEGMENT_STATES)),
    ("", "mechanism"): {1: "SCRAM-SHA-256", 2: "SCRAM-SHA-512"},
}


def time_text(milliseconds: int) -> str:
    """Return a time stamp in UTC with milliseconds; the number itself where it is no date."""
    if milliseconds == -1:
        return "-"
    if not _FIRST_YEAR_MS <= milliseconds <= _LAST_YEAR_MS:
        return str(milliseconds)
    seconds, rest = divmod(milliseconds, 1000)
    return f"{datetime.fromtimestamp(seconds, UTC):%Y-%m-%d %H:%M:%S}.{rest:03}"


def bytes_text(content: bytes | None, most: int | None = SHOWN) -> str:
    """Return bytes as escaped text, or in hex if they are none. most: characters; None: all."""
    if content is None:
        return "null"
    cut = "" if most is None or len(content) <= most else f"… ({len(content)} bytes)"
    try:
        text = content.decode()
    except UnicodeDecodeError:
        text = None
    if text is None or any(character < " " and character not in "\n\r\t" for character in text):
        return f"0x{content[: most and most // 2].hex()}{cut}"
    return f"{printable(text[:most])!r}{cut}"


def record_words(record: Record, most: int | None = SHOWN) -> str:
    """Return key, value and headers of a record of clients."""
    parts = [f"key={bytes_text(record.key, most)}", f"value={bytes_text(record.value, most)}"]
    if record.headers:
        parts.append(f"headers: {_headers_words(record.headers, most)}")
    return "  ".join(parts)


def _headers_words(headers: Headers, most: int | None) -> str:
    return " ".join(f"{printable(name)}={bytes_text(value, most)}" for name, value in headers)


def decoded_words(decoded: Decoded, most: int | None = SHOWN) -> str:
    """Return a decoded record: its name, its key, and the fields of its value."""
    name = _words_of(decoded.name)
    key = " ".join(_fields(decoded.name, decoded.key or {}, most))
    if decoded.value is None:
        return f"{name} {key}: deleted"
    value = " ".join(_fields(decoded.name, decoded.value, most))
    return f"{name} {key}: {value}".rstrip(": ") if key else f"{name}: {value}".rstrip(": ")


def _words_of(name: str) -> str:
    """Return the name of a record's class in words: OffsetCommit is "offset commit"."""
    if name.isupper():
        return name.replace("_", " ").lower()
    return " ".join(_HUMP.split(name.removesuffix("Record"))).lower()


def _fields(owner: str, data: Mapping[str, object], most: int | None) -> Iterator[str]:
    for field, value in data.items():
        yield f"{_HUMP.sub('_', field).lower()}={_value_words(owner, field, value, most=most)}"


def _value_words(owner: str, field: str, value: object, *, most: int | None) -> str:
    match value:
        case None | bool():
            return "null" if value is None else str(value).lower()
        case int():
            return _number_words(owner, field, value)
        case str():
            text = printable(value if most is None else value[:most])
            text += "" if most is None or len(value) <= most else "…"
            return text if text and " " not in text else repr(text)
        case dict():
            return f"({' '.join(_fields(owner, value, most))})"
        case list():
            shown = value if most is None else value[:_ITEMS]
            items = [_value_words(owner, field, item, most=most) for item in shown]
            if len(shown) < len(value):
                items.append(f"and {len(value) - len(shown)} more")
            return f"[{', '.join(items)}]"
    return str(value)


def _number_words(owner: str, field: str, value: int) -> str:
    words = _NUMBERS.get((owner, field)) or _NUMBERS.get(("", field))
    if words is not None:
        return repr(words[value]) if value in words else str(value)
    return f"'{time_text(value)}'" if _TIME.fullmatch(field) else str(value)


def size_text(size: float) -> str:
    """Return a number of bytes in the unit that suits it."""
    for unit in ("B", "KiB", "MiB", "GiB"):
        if size < 1024:
            return f"{size:.0f} {unit}" if unit == "B" else f"{size:.1f} {unit}"
        size /= 1024
    return f"{size:.1f} TiB"
