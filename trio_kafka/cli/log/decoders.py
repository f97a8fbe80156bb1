"""Records of Kafka's internal topics and control records, decoded into JSON-ready data.

The data of keys and values is that of Kafka's own JSON: camelCase names, without tagged fields at
their defaults. Keys of SCRAM credentials and secret settings are replaced by `HIDDEN`.
"""

from collections.abc import Callable, Mapping
from functools import cache
from struct import Struct
from typing import Any, Final

from trio_kafka.attributes import frozen
from trio_kafka.errors import KafkaError
from trio_kafka.protocol.compiler import decoder
from trio_kafka.protocol.errors import DecodeError
from trio_kafka.protocol.json_data import to_data
from trio_kafka.protocol.primitives import Buffer, read_uvarint
from trio_kafka.records.batch import Record
from trio_kafka.records.control import ControlType, control_type, read_marker, value_version

HIDDEN: Final = "[hidden]"
_INT16: Final = Struct(">h")
_FRAME_VERSION: Final = 1
_SCRAM: Final = ("salt", "storedKey", "serverKey")

Fields = dict[str, Any]
"""Fields of a message as JSON types, by name; see `to_data`."""


@frozen(kw_only=True)
class Decoded:
    """A record in Kafka's terms. name: of its class, without Key and Value, such as OffsetCommit.

    number: its type. key: None where the log has no keys. value: None for a tombstone.
    """

    name: str
    number: int
    key: Fields | None = None
    version: int | None = None
    value: Fields | None = None


class UndecodableError(Exception):
    """Raised for a record that is none of its topic; the message says why."""


Decode = Callable[[Record], Decoded]
Classes = Mapping[int, tuple[type[object], type[object]]]


def decoder_of(name: str, topic: str | None) -> Decode | None:
    """Return the function that decodes a topic's records; None: they are the clients' own.

    name: of `DECODERS`, `auto` to choose by the topic, or `none`.
    """
    if name == "auto":
        return _BY_TOPIC.get(topic or "")
    return DECODERS.get(name)


def decode_control(record: Record) -> Decoded:
    """Decode a record of a control batch. Raises UndecodableError."""
    try:
        kind = control_type(record)
        if kind is None:
            number = _INT16.unpack_from(record.key or b"", 2)[0]
            return Decoded(name=f"type {number}", number=number)
        marker = read_marker(record)
        if marker is not None:
            value = {"coordinatorEpoch": marker.coordinator_epoch}
            return Decoded(name=kind.name, number=int(kind), version=0, value=value)
        version = value_version(record)
        message = _decode_all(_control_values()[kind], version, record.value or b"", 0)
    except KafkaError as error:
        raise UndecodableError(error.message) from error
    value = to_data(message, names="kafka", version=version)
    return Decoded(name=kind.name, number=int(kind), version=version, value=value)


@cache
def _control_values() -> Mapping[ControlType, type[object]]:
    from trio_kafka.protocol.stored import control  # noqa: PLC0415 - only where such records are

    return {
        ControlType.LEADER_CHANGE: control.LeaderChangeMessage,
        ControlType.SNAPSHOT_HEADER: control.SnapshotHeaderRecord,
        ControlType.SNAPSHOT_FOOTER: control.SnapshotFooterRecord,
        ControlType.KRAFT_VERSION: control.KRaftVersionRecord,
        ControlType.KRAFT_VOTERS: control.VotersRecord,
    }


# --- topics of coordinators: type and key, version and value


@cache
def _group_types() -> Classes:
    from trio_kafka.coordinators.groups.stored_records import GROUP_RECORDS  # noqa: PLC0415 - as above

    return GROUP_RECORDS.all_types()


@cache
def _transaction_types() -> Classes:
    from trio_kafka.coordinators.shards.record_codec import record_types  # noqa: PLC0415 - as above
    from trio_kafka.protocol.stored import transactions  # noqa: PLC0415 - as above

    return record_types(transactions)


@cache
def _share_types() -> Classes:
    from trio_kafka.coordinators.shards.record_codec import record_types  # noqa: PLC0415 - as above
    from trio_kafka.protocol.stored import share_state  # noqa: PLC0415 - as above

    return record_types(share_state)


def _decode_group(record: Record) -> Decoded:
    return _decode_keyed(record, _group_types())


def _decode_transaction(record: Record) -> Decoded:
    return _decode_keyed(record, _transaction_types())


def _decode_share(record: Record) -> Decoded:
    return _decode_keyed(record, _share_types())


def _decode_keyed(record: Record, types: Classes) -> Decoded:
    """Decode a record with a type before its key. Raises UndecodableError."""
    number = _number(record.key, "key")
    if number not in types:
        raise UndecodableError(f"unknown record type {number}")
    key_class, value_class = types[number]
    name = key_class.__name__.removesuffix("Key")
    key = to_data(_decode_all(key_class, 0, record.key or b"", 2), names="kafka", version=0)
    if record.value is None:
        return Decoded(name=name, number=number, key=key)
    version = _number(record.value, "value")
    value = to_data(
        _decode_all(value_class, version, record.value, 2), names="kafka", version=version
    )
    if value.get("protocolType") == "consumer":
        _decode_members(value)
    return Decoded(name=name, number=number, key=key, version=version, value=value)


def _number(content: bytes | None, subject: str) -> int:
    if content is None or len(content) < _INT16.size:
        raise UndecodableError(f"{subject} {content!r}, want a number of two bytes first")
    number: int = _INT16.unpack_from(content)[0]
    return number


def _decode_members(value: Fields) -> None:
    """Replace subscriptions and assignments of a classic consumer group by what they hold."""
    from base64 import b64decode  # noqa: PLC0415 - only where such records are

    from trio_kafka.protocol.stored import consumer_protocol  # noqa: PLC0415 - as above

    for member in value["members"]:
        for name, cls in (
            ("subscription", consumer_protocol.ConsumerProtocolSubscription),
            ("assignment", consumer_protocol.ConsumerProtocolAssignment),
        ):
            content = b64decode(member[name])
            try:
                version = min(_number(content, name), 3)
                message, _ = decoder(cls, version)(content, _INT16.size)
                member[name] = to_data(message, names="kafka", version=version)
            except (UndecodableError, DecodeError):
                continue  # they are the clients' own: their bytes are shown


# --- the metadata log and that of remote segments: a frame of three numbers


def _decode_metadata(record: Record) -> Decoded:
    from trio_kafka.protocol.stored.metadata.frame import RECORDS  # noqa: PLC0415 - as above

    decoded = _decode_framed(record, RECORDS)
    value = decoded.value or {}
    if decoded.name == "UserScramCredentialRecord":
        value.update(dict.fromkeys(_SCRAM, HIDDEN))
    elif decoded.name == "ConfigRecord" and value["value"] and _is_secret(value["name"]):
        value["value"] = HIDDEN
    return decoded


def _decode_remote(record: Record) -> Decoded:
    return _decode_framed(record, _remote_records())


@cache
def _remote_records() -> Mapping[int, type[object]]:
    from trio_kafka.protocol.stored import remote_log  # noqa: PLC0415 - as above

    messages = (
        getattr(message_class, "__message__", None) for message_class in vars(remote_log).values()
    )
    numbers = {message.name: message.key for message in messages if message is not None}
    return {
        number: getattr(remote_log, name) for name, number in numbers.items() if number is not None
    }


def _decode_framed(record: Record, classes: Mapping[int, type[object]]) -> Decoded:
    """Decode a record whose value is framed. Raises UndecodableError."""
    content = record.value or b""
    try:
        frame, position = read_uvarint(content, 0)
        number, position = read_uvarint(content, position)
        version, position = read_uvarint(content, position)
    except (IndexError, ValueError) as error:
        raise UndecodableError(f"{len(content)} bytes without a frame: {error}") from error
    if frame != _FRAME_VERSION or number not in classes:
        raise UndecodableError(f"frame version {frame}, unknown record type {number}")
    message = _decode_all(classes[number], version, content, position)
    value = to_data(message, names="kafka", version=version)
    return Decoded(name=type(message).__name__, number=number, version=version, value=value)


@cache
def _is_secret(name: str) -> bool:
    """Return True for a setting that is secret, or that is unknown and may be one."""
    from trio_kafka.config.catalogue import setting_of  # noqa: PLC0415 - as above
    from trio_kafka.config.topic import TOPIC_SETTINGS  # noqa: PLC0415 - as above

    setting = TOPIC_SETTINGS.get(name) or setting_of(name)
    return setting is None or setting.sensitive


def _decode_all(cls: type[object], version: int, content: Buffer, position: int) -> object:
    """Decode a message that ends with its bytes. Raises UndecodableError."""
    try:
        message, end = decoder(cls, version)(content, position)
    except DecodeError as error:
        raise UndecodableError(f"{cls.__name__} version {version}: {error}") from error
    if end != len(content):
        raise UndecodableError(f"{len(content) - end} bytes after {cls.__name__} {version}")
    return message


DECODERS: Final[Mapping[str, Decode]] = {
    "offsets": _decode_group,
    "transactions": _decode_transaction,
    "metadata": _decode_metadata,
    "share": _decode_share,
    "remote": _decode_remote,
}
_BY_TOPIC: Final[Mapping[str, Decode]] = {
    "__consumer_offsets": _decode_group,
    "__transaction_state": _decode_transaction,
    "__cluster_metadata": _decode_metadata,
    "__share_group_state": _decode_share,
    "__remote_log_metadata": _decode_remote,
}
