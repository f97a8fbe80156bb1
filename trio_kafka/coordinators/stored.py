"""Conversion of coordinator records to the key and value of a stored record, and back.

A key begins with the record's type, a value with its version, both int16. Written versions are
Kafka's: the newest that old brokers can read.
"""

from collections.abc import Callable, Mapping
from functools import cache
from struct import Struct
from types import ModuleType
from typing import Any, Final, TypeAlias

from trio_kafka.coordinators.effects import LATEST, CoordinatorRecord
from trio_kafka.protocol.compiler import decoder, encoder
from trio_kafka.protocol.errors import DecodeError
from trio_kafka.protocol.primitives import Buffer
from trio_kafka.protocol.schema import message_of
from trio_kafka.protocol.stored.groups import classic, consumer

# First bytes of a key or value, and the function that writes the rest.
Encoder: TypeAlias = tuple[bytes, Callable[[Any, Callable[[Any], object]], None]]
_INT16: Final = Struct(">h")
# Exceptions from the newest: the last version of GroupMetadataValue that is not flexible.
WRITTEN: Final[Mapping[type[Any], int]] = {classic.GroupMetadataValue: 3}


class UnknownTypeError(DecodeError):
    """The record's type is unknown here; a newer broker has written it."""


def record_types(*modules: ModuleType) -> dict[int, tuple[type[Any], type[Any]]]:
    """Return the classes of key and value by record type that the modules declare."""
    keys: dict[int, type[Any]] = {}
    values: dict[int, type[Any]] = {}
    for module in modules:
        for name, found in vars(module).items():
            message = getattr(found, "__message__", None)
            if message is not None and message.key is not None:
                (keys if name.endswith("Key") else values)[message.key] = found
    return {number: (keys[number], values[number]) for number in keys}


# Classes of key and value by the record's type, in `__consumer_offsets`.
_SERVED: Final = record_types(classic, consumer)


@cache
def group_records() -> Mapping[int, tuple[type[Any], type[Any]]]:
    """Return the classes of key and value by record type: all types that Kafka has in
    `__consumer_offsets`.

    Share and streams groups are imported on first use, as this broker writes none of their records.
    """
    from trio_kafka.protocol.stored.groups import share, streams  # noqa: PLC0415 - as the docstring says

    return {**_SERVED, **record_types(share, streams)}


def encode_record(record: CoordinatorRecord) -> tuple[bytes, bytes | None]:
    """Return key and value as bytes. Raises EncodeError."""
    key, value = record.key, record.value
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
    """Return the record of a key and value.

    Raises UnknownTypeError for an unknown type, and DecodeError for an unknown version or malformed
    bytes.
    """
    if len(key) < _INT16.size:
        raise DecodeError(f"record key of {len(key)} bytes: expected at least 2 for the type")
    number = _INT16.unpack_from(key)[0]
    classes = _SERVED.get(number) or group_records().get(number)
    if classes is None:
        raise UnknownTypeError(f"record of unknown type {number}")
    key_class, value_class = classes
    decoded, _ = decoder(key_class, 0)(key, _INT16.size)
    if value is None:
        return CoordinatorRecord(decoded)
    if len(value) < _INT16.size:
        raise DecodeError(
            f"record value of {len(value)} bytes: expected at least 2 for the version"
        )
    version = _INT16.unpack_from(value)[0]
    found, _ = decoder(value_class, version)(value, _INT16.size)
    return CoordinatorRecord(decoded, found, version)


@cache
def _key_encoder(cls: type[Any]) -> Encoder:
    number = message_of(cls).key
    if number is None:
        raise TypeError(f"{cls.__name__} is not the key of a stored record")
    return _INT16.pack(number), encoder(cls, 0)


@cache
def _value_encoder(cls: type[Any], version: int) -> Encoder:
    if version == LATEST:
        version = WRITTEN.get(cls, message_of(cls).versions[1])
    return _INT16.pack(version), encoder(cls, version)
