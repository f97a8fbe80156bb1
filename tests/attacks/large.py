"""The largest requests: each array, map and tag list of an API filled in turn.

A filled request has one item in every array above the filled one. Its items are either as small
and as many as possible, or all have names of their own, as deduplication would hide the cost of
equal ones.
"""

from collections.abc import Iterator, Mapping
from typing import Any, Final

from trio_kafka.attributes import frozen
from trio_kafka.protocol.compiler import encoder
from trio_kafka.protocol.fields import Field
from trio_kafka.protocol.headers import request_header_version
from trio_kafka.protocol.primitives import uvarint
from trio_kafka.protocol.schema import fields_of, message_of
from trio_kafka.protocol.versions import covers
from trio_kafka.requests.chunked_codec import MAX_ITEMS
from trio_kafka.testing.scripted_client import request_frame

HEAD: Final = "(request header)"
TAGS: Final = "(unknown tags)"
TOPIC: Final = "there"
_MANY_TAGS: Final = 200_000
_ITEMS_ABOVE: Final = 100  # of the arrays that hold the filled one, and of a last step
_HEAD_BYTES: Final = 64  # of a frame, at most
_ZERO: Final = {"string": "", "bytes": b"", "records": None, "uuid": bytes(16), "boolean": False}

# Values that let a request pass the first checks of its handler, and change nothing.
CHOSEN: Final[Mapping[str, Any]] = {
    "acks": 1,
    "allow_auto_topic_creation": False,
    "assignment_strategy": "range",
    "client_software_name": "sweep",
    "client_software_version": "1",
    "generation_id_or_member_epoch": -1,
    "group_id": "sweep",
    "key": "sweep",
    "max_bytes": 1 << 20,
    "name": TOPIC,
    "partition_max_bytes": 1 << 10,
    "protocol_name": "range",
    "protocol_type": "consumer",
    "rebalance_timeout_ms": 1000,
    "replica_id": -1,
    "replication_factor": 1,
    "resource_name": TOPIC,
    "resource_type": 2,
    "response_partition_limit": 2000,
    "session_epoch": -1,
    "session_timeout_ms": 10000,
    "timeout_ms": 5000,
    "topic": TOPIC,
    "validate_only": True,
}


@frozen
class Place:
    """Place to fill. path: fields from the message down, the last an array, or TAGS, or HEAD."""

    path: tuple[str, ...]
    own_names: bool = False

    def __str__(self) -> str:
        return ".".join(self.path) + (" (own names)" if self.own_names else "")


def places(cls: type[Any], version: int) -> Iterator[Place]:
    """Everything of a request that can be filled."""
    message = message_of(cls)
    if request_header_version(message, version) >= 2:
        yield Place((HEAD,))
    for path in _paths(cls, version, flexible=covers(message.flexible, version)):
        yield Place(path)
        if path[-1] != TAGS:
            yield Place(path, own_names=True)


def _paths(cls: type[Any], version: int, *, flexible: bool) -> Iterator[tuple[str, ...]]:
    if flexible:
        yield (TAGS,)
    for field in fields_of(cls):
        if not covers(field.versions, version):
            continue
        if field.kind == "array":
            yield (field.name,)
        part = _part(field)
        if part is not None:
            for path in _paths(part, version, flexible=flexible):
                yield (field.name, *path)


def _part(field: Field) -> type[Any] | None:
    return field.item.struct if field.kind == "array" else field.struct


def filled(cls: type[Any], version: int, place: Place, largest: int) -> bytes:
    """The frame, with its length: of about `largest` bytes."""
    if place.path == (HEAD,):
        return _with_head_tags(cls, version, largest)
    size = _size_of_item(cls, version, place)
    room = largest - _HEAD_BYTES - _size(_build(cls, version, place, 0), version)
    # One item more than a request may have, and it is closed before its handler sees it.
    count = max(min(room // size, MAX_ITEMS - _ITEMS_ABOVE), 1)
    return request_frame(_build(cls, version, place, count), version)


def _size_of_item(cls: type[Any], version: int, place: Place) -> int:
    few, many = (_size(_build(cls, version, place, count), version) for count in (100, 1100))
    return max((many - few + 999) // 1000, 1)


def _size(message: Any, version: int) -> int:
    pieces: list[Any] = []
    encoder(type(message), version)(message, pieces.append)
    return sum(map(len, pieces))


def _build(cls: type[Any], version: int, place: Place, count: int) -> Any:
    """A message in which `place` has `count` items."""
    return _along(cls, version, place.path, count, own_names=place.own_names)


def _along(
    cls: type[Any], version: int, path: tuple[str, ...], count: int, *, own_names: bool
) -> Any:
    """An instance that is filled at `path`; at a place of tags an array of it, above, is."""
    instance = _plain(cls, version)
    if path == (TAGS,):
        instance.unknown_tags = {1000 + n: b"" for n in range(count)}
        return instance
    (field,) = [field for field in fields_of(cls) if field.name == path[0]]
    part, rest = _part(field), path[1:]
    if field.kind == "struct":
        inner = _along(part or object, version, rest, count, own_names=own_names)
        value: Any = inner
    elif rest == (TAGS,) and part is not None:
        item = _least(field.item, version)
        item.unknown_tags = {1000: b""}
        value = [item] * count
    elif rest and part is not None:
        value = [_along(part, version, rest, count, own_names=own_names)]
    elif own_names:
        value = [_named(field.item, version, n) for n in range(count)]
    else:
        value = [_least(field.item, version)] * count
    setattr(instance, field.name, value)
    return instance


def _plain(cls: type[Any], version: int) -> Any:
    """An instance with values that handlers accept; one item in each array that is not null."""
    instance = cls()
    for field in fields_of(cls):
        if covers(field.versions, version) and not covers(field.tagged, version):
            value = CHOSEN.get(field.name)
            if value is not None and type(value) is type(getattr(instance, field.name) or value):
                if field.kind in {"array", "struct", "bytes", "records", "uuid"}:
                    continue
                setattr(instance, field.name, value)
    return instance


def _least(field: Field, version: int) -> Any:
    """The smallest item: empty strings and arrays, null where that is allowed."""
    if field.struct is None:
        return _ZERO.get(field.kind, 0)
    item = field.part()
    for inner in fields_of(field.part):
        if not covers(inner.versions, version):
            continue
        if covers(inner.nullable, version):
            setattr(item, inner.name, None)
        elif inner.kind in {"string", "bytes"}:
            setattr(item, inner.name, _ZERO[inner.kind])
    return item


def _named(field: Field, version: int, number: int) -> Any:
    """An item that is like no other one."""
    if field.struct is None:
        return _unlike(field, number)
    item = _plain(field.part, version)
    for inner in fields_of(field.part):
        present = covers(inner.versions, version) and not covers(inner.tagged, version)
        if present and inner.kind in {"string", "uuid", "int32"}:
            if inner.kind == "string" and inner.name in {"config_name", "value"}:
                continue
            setattr(item, inner.name, _unlike(inner, number))
            break
    return item


def _unlike(field: Field, number: int) -> Any:
    match field.kind:
        case "string":
            return f"{number:07d}"
        case "uuid":
            return (number + 1).to_bytes(16, "big")
        case "bytes" | "records":
            return number.to_bytes(4, "big")
        case "boolean":
            return bool(number % 2)
        case "float64":
            return float(number)
        case "int8":
            return number % 128
        case "int16" | "uint16":
            return number % 32768
    return number


def _with_head_tags(cls: type[Any], version: int, largest: int) -> bytes:
    """A request whose header has as many tagged fields as fit, each of no bytes."""
    body = request_frame(_plain(cls, version), version, client_id="x")[4:]
    at = 10 + 1  # behind the client id
    assert body[at] == 0
    count = (largest - len(body) - 16) // 4
    tags = b"".join(uvarint(1 << 14 | n % (1 << 14)) + b"\0" for n in range(min(count, _MANY_TAGS)))
    tags += b"\x80\x80\x01\0" * max(count - _MANY_TAGS, 0)
    body = body[:at] + uvarint(count) + tags + body[at + 1 :]
    return len(body).to_bytes(4, "big") + body
