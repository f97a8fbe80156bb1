"""Frame of a record in the metadata log: frame version 1, record key, record version, record.

The three numbers are unsigned varints. Source: Kafka's metadata record format, KIP-631.
"""

from functools import cache
from types import ModuleType
from typing import Any, Final

from trio_kafka.protocol.compiler import Encode, decoder, encoder
from trio_kafka.protocol.errors import DecodeError
from trio_kafka.protocol.primitives import Buffer, read_uvarint, uvarint
from trio_kafka.protocol.schema import Message, message_of
from trio_kafka.protocol.stored.metadata import (
    brokers,
    configs,
    controllers,
    features,
    producer_ids,
    quotas,
    security,
    topics,
    transactions,
)

_FRAME_VERSION: Final = 1


def _records(*modules: ModuleType) -> dict[int, type[object]]:
    records = {}
    for module in modules:
        for value in vars(module).values():
            message = getattr(value, "__message__", None)
            if isinstance(message, Message) and message.key is not None:
                records[message.key] = value
    return records


RECORDS: Final = _records(
    brokers,
    configs,
    controllers,
    features,
    producer_ids,
    quotas,
    security,
    topics,
    transactions,
)


def encode_record(record: object, version: int) -> bytes:
    """Return a framed record. Raises EncodeError, and TypeError for other classes."""
    frame, encode = _frame_of(type(record), version)  # type: ignore[arg-type]  # classes are hashable
    pieces = [frame]
    encode(record, pieces.append)
    return b"".join(pieces)


@cache
def _frame_of(kind: type[object], version: int) -> tuple[bytes, Encode[object]]:
    """Return the first bytes and the encoder of a class's records."""
    key = message_of(kind).key
    if key is None or RECORDS.get(key) is not kind:
        raise TypeError(f"{kind.__name__} is no metadata record")
    return uvarint(_FRAME_VERSION) + uvarint(key) + uvarint(version), encoder(kind, version)


def decode_record(value: Buffer) -> Any:
    """Return the record in a frame, an instance of one of `RECORDS`.

    Raises DecodeError, also for an unknown frame version, key or version, and for trailing bytes:
    skipping unknown content would make this node's metadata differ from those of other nodes.
    """
    try:
        frame_version, position = read_uvarint(value, 0)
        key, position = read_uvarint(value, position)
        version, position = read_uvarint(value, position)
    except (IndexError, ValueError) as error:
        raise DecodeError(f"the frame of a metadata record: {error}") from error
    if frame_version != _FRAME_VERSION:
        raise DecodeError(f"a metadata record's frame of version {frame_version}: want 1")
    if key not in RECORDS:
        raise DecodeError(f"a metadata record of unknown key {key}, version {version}")
    record, position = decoder(RECORDS[key], version)(value, position)
    if position != len(value):
        raise DecodeError(f"{len(value) - position} bytes behind a {RECORDS[key].__name__}")
    return record
