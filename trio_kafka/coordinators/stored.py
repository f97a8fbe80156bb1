"""Records of internal topics: from messages to the key and value of a record, and back.

A key begins with the type of the record, a value with its version, both int16. Versions that are
written are Kafka's: a value has the highest one whose encoding old brokers can read.
"""

from collections.abc import Callable, Mapping
from functools import cache, lru_cache
from struct import Struct
from types import ModuleType
from typing import Any, Final, TypeAlias

from trio_kafka.coordinators.effects import LATEST, CoordinatorRecord
from trio_kafka.protocol.compiler import decoder, encoder
from trio_kafka.protocol.errors import DecodeError
from trio_kafka.protocol.primitives import Buffer
from trio_kafka.protocol.schema import message_of
from trio_kafka.protocol.stored.groups import classic, consumer

# What a key or value begins with, and what writes the rest of it.
Encoder: TypeAlias = tuple[bytes, Callable[[Any, Callable[[Any], object]], None]]
_INT16: Final = Struct(">h")
_INT32: Final = Struct(">i")
_OffsetKey: Final = classic.OffsetCommitKey
_PARTITION: Final = _INT32.pack
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
_SERVED: Final = _types(classic, consumer)


@cache
def group_records() -> Mapping[int, tuple[type[Any], type[Any]]]:
    """Classes of key and value by the record's type: all that Kafka has in `__consumer_offsets`.

    Those of groups that are not served here are imported when the first one is met: 37 classes
    that no other start needs.
    """
    from trio_kafka.protocol.stored.groups import share, streams  # noqa: PLC0415 - as the docstring says

    return {**_SERVED, **_types(share, streams)}


def encode_record(record: CoordinatorRecord) -> tuple[bytes, bytes | None]:
    """Key and value. Raises EncodeError."""
    key, value = record.key, record.value
    if type(key) is _OffsetKey:  # nearly always: by what it has in common with others
        name = _place(key.group, key.topic) + _PARTITION(key.partition)
    else:
        begin, encode = _key_encoder(type(key))  # type: ignore[arg-type]  # is hashable
        pieces = [begin]
        encode(key, pieces.append)
        name = b"".join(pieces)
    if value is None:
        return name, None
    begin, encode = _value_encoder(type(value), record.version)  # type: ignore[arg-type]  # as above
    pieces = [begin]
    encode(value, pieces.append)
    return name, b"".join(pieces)


def decode_record(key: Buffer, value: Buffer | None) -> CoordinatorRecord:
    """Raises UnknownTypeError for a type that no release here knows, DecodeError for a version that
    is not known, and for bytes that are no such record.
    """
    if len(key) < _INT16.size:
        raise DecodeError(f"a record's key of {len(key)} bytes: want 2 for its type")
    number = _INT16.unpack_from(key)[0]
    classes = _SERVED.get(number) or group_records().get(number)
    if classes is None:
        raise UnknownTypeError(f"a record of unknown type {number}")
    key_class, value_class = classes
    decoded, _ = decoder(key_class, 0)(key, _INT16.size)
    if value is None:
        return CoordinatorRecord(decoded)
    if len(value) < _INT16.size:
        raise DecodeError(f"a value of {len(value)} bytes: want 2 for its version")
    version = _INT16.unpack_from(value)[0]
    found, _ = decoder(value_class, version)(value, _INT16.size)
    return CoordinatorRecord(decoded, found, version)


@lru_cache(maxsize=_PLACES)
def _place(group: str, topic: str) -> bytes:
    """The key of an offset, up to the partition that it ends in."""
    begin, encode = _key_encoder(classic.OffsetCommitKey)
    pieces = [begin]
    encode(classic.OffsetCommitKey(group, topic, 0), pieces.append)
    return b"".join(pieces)[: -_INT32.size]


@cache
def _key_encoder(cls: type[Any]) -> Encoder:
    number = message_of(cls).key
    if number is None:
        raise TypeError(f"{cls.__name__} is no stored key")
    return _INT16.pack(number), encoder(cls, 0)


@cache
def _value_encoder(cls: type[Any], version: int) -> Encoder:
    if version == LATEST:
        version = WRITTEN.get(cls, message_of(cls).versions[1])
    return _INT16.pack(version), encoder(cls, version)
