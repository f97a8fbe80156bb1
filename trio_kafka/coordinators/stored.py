"""Records of internal topics: from messages to the key and value of a record, and back.

A key begins with the type of the record, a value with its version, both int16. Versions that are
written are Kafka's: a value has the highest one whose encoding old brokers can read.
"""

from collections.abc import Callable, Mapping
from functools import cache, lru_cache
from struct import Struct
from types import ModuleType
from typing import Any, Final

from trio_kafka.coordinators.effects import LATEST, CoordinatorRecord
from trio_kafka.protocol.compiler import decoder, encoder
from trio_kafka.protocol.errors import DecodeError
from trio_kafka.protocol.primitives import Buffer
from trio_kafka.protocol.schema import message_of
from trio_kafka.protocol.stored.groups import classic, consumer, share, streams

_INT16: Final = Struct(">h")
_INT32: Final = Struct(">i")
_PLACES: Final = 4096  # of groups in topics, whose keys are kept but for the partition
# Where it is not the newest: GroupMetadataValue stays in its last version that is not flexible.
WRITTEN: Final[Mapping[type[Any], int]] = {classic.GroupMetadataValue: 3}


class UnknownTypeError(DecodeError):
    """A record of a type that is not known here: somebody newer has written it."""


def _types(*modules: ModuleType) -> dict[int, tuple[type[Any], type[Any]]]:
    keys: dict[int, type[Any]] = {}
    values: dict[int, type[Any]] = {}
    for module in modules:
        for name, found in vars(module).items():
            message = getattr(found, "__message__", None)
            if message is not None and message.key is not None:
                (keys if name.endswith("Key") else values)[message.key] = found
    return {number: (keys[number], values[number]) for number in keys}


# Classes of key and value by the record's type, in `__consumer_offsets`.
GROUP_RECORDS: Final = _types(classic, consumer, share, streams)


def encode_record(record: CoordinatorRecord) -> tuple[bytes, bytes | None]:
    """Key and value. Raises EncodeError."""
    key, value = record.key, record.value
    if type(key) is classic.OffsetCommitKey:  # nearly always: by what it has in common with others
        name = _place(key.group, key.topic) + _INT32.pack(key.partition)
    else:
        name = _encode_key(type(key))(key)  # type: ignore[arg-type]  # is hashable
    if value is None:
        return name, None
    encode = _encode_value(type(value), record.version)  # type: ignore[arg-type]  # as above
    return name, encode(value)


def decode_record(key: Buffer, value: Buffer | None) -> CoordinatorRecord:
    """Raises UnknownTypeError for a type that no release here knows, DecodeError for a version that
    is not known, and for bytes that are no such record.
    """
    if len(key) < _INT16.size:
        raise DecodeError(f"a record's key of {len(key)} bytes: want 2 for its type")
    number = _INT16.unpack_from(key)[0]
    if number not in GROUP_RECORDS:
        raise UnknownTypeError(f"a record of unknown type {number}")
    key_class, value_class = GROUP_RECORDS[number]
    decoded, _ = decoder(key_class, 0)(key, _INT16.size)
    if value is None:
        return CoordinatorRecord(decoded)
    if len(value) < _INT16.size:
        raise DecodeError(f"a value of {len(value)} bytes: want 2 for its version")
    version = _INT16.unpack_from(value)[0]
    found, _ = decoder(value_class, version)(value, _INT16.size)
    return CoordinatorRecord(decoded, found, version)


@cache
def _encode_key(cls: type[Any]) -> Callable[[Any], bytes]:
    number = message_of(cls).key
    if number is None:
        raise TypeError(f"{cls.__name__} is no stored key")
    return _encoder(cls, 0, number)


@lru_cache(maxsize=_PLACES)
def _place(group: str, topic: str) -> bytes:
    """The key of an offset, up to the partition that it ends in."""
    encode = _encode_key(classic.OffsetCommitKey)
    return encode(classic.OffsetCommitKey(group, topic, 0))[: -_INT32.size]


@cache
def _encode_value(cls: type[Any], version: int) -> Callable[[Any], bytes]:
    if version == LATEST:
        version = WRITTEN.get(cls, message_of(cls).versions[1])
    return _encoder(cls, version, version)


def _encoder(cls: type[Any], version: int, number: int) -> Callable[[Any], bytes]:
    begin, encode = _INT16.pack(number), encoder(cls, version)

    def whole(message: Any) -> bytes:
        pieces = [begin]
        encode(message, pieces.append)
        return b"".join(pieces)

    return whole
