"""Parts that a request or a response names: topics, partitions, groups, transactional ids.

Messages name them in arrays of structs or of plain values, one below the other. The tables here say
which arrays do; other arrays (a topic's settings, a group's protocols) name no part.
"""

from collections.abc import Callable, Iterator, Mapping
from copy import copy
from typing import Any, Final, Literal
from weakref import WeakKeyDictionary

from attrs import evolve

from trio_kafka.attributes import frozen
from trio_kafka.model import ZERO_TOPIC_ID, TopicId
from trio_kafka.protocol.fields import Field
from trio_kafka.protocol.schema import fields_of, message_of

Role = Literal["topic", "partition", "group", "transactional_id", "resource", "coordinator"]
NameOf = Callable[[TopicId], str | None]

# Roles of arrays by name. "": by the fields of the array's structs.
_ARRAYS: Final[Mapping[str, Role | Literal[""]]] = {
    "topics": "topic",
    "topic_data": "topic",
    "topic_names": "topic",
    "topic_partitions": "topic",
    "v3_and_below_topics": "topic",
    "results_by_topic_v3_and_below": "topic",
    "topic_results": "topic",
    "partitions": "partition",
    "partition_data": "partition",
    "partition_indexes": "partition",
    "partition_responses": "partition",
    "results_by_partition": "partition",
    "groups": "group",
    "group_ids": "group",
    "groups_names": "group",
    "transactions": "transactional_id",
    "transactional_ids": "transactional_id",
    "transaction_states": "transactional_id",
    "results_by_transaction": "transactional_id",
    "coordinator_keys": "coordinator",
    "coordinators": "coordinator",
    "resources": "resource",
    "responses": "",
    "results": "",
}
_FIELDS: Final[Mapping[Role, tuple[str, ...]]] = {
    "group": ("group_id",),
    "transactional_id": ("transactional_id",),
    "resource": ("resource_name",),
    "coordinator": ("key",),
    "topic": ("name", "topic", "topic_name"),
    "partition": ("partition_index", "partition", "index", "partition_id"),
}
_ID: Final = "topic_id"
_RESOURCE_TYPE: Final = "resource_type"
# Its arrays say what a member owns; they are no parts that could fail.
_UNDIVIDED: Final = frozenset({"ConsumerGroupHeartbeatRequest", "ConsumerGroupHeartbeatResponse"})
_GROUP_KEY: Final = 0  # FindCoordinator's key_type; 1: a transactional id
_TOPIC_RESOURCE: Final = 2  # ConfigResourceType
_GROUP_RESOURCE: Final = 32


@frozen(kw_only=True)
class Names:
    """Names of one part of a message; None: the message does not say."""

    topic: str | None = None
    partition: int | None = None
    group: str | None = None
    transactional_id: str | None = None


@frozen
class NamingArray:
    """Array of a message that names parts. item: class of its structs, or None."""

    name: str
    role: Role
    item: type[object] | None


def naming_arrays(cls: type[object]) -> tuple[NamingArray, ...]:
    """Return the arrays of a class that name parts."""
    arrays = _ARRAYS_OF.get(cls)
    if arrays is None:
        is_divided = "__fields__" in vars(cls) and cls.__name__ not in _UNDIVIDED
        candidates = [_naming_array(field) for field in fields_of(cls)] if is_divided else []
        arrays = _ARRAYS_OF[cls] = tuple(array for array in candidates if array is not None)
    return arrays


_ARRAYS_OF: Final[WeakKeyDictionary[type[object], tuple[NamingArray, ...]]] = WeakKeyDictionary()


def key_of(role: Role, item: object) -> tuple[object, ...]:
    """Return the key of an item, unique in its array."""
    if not hasattr(item, "__fields__"):
        return None, item
    name = _value(role, item)
    if role == "topic":
        name = name or getattr(item, _ID, None)
    return getattr(item, _RESOURCE_TYPE, None), name


def copy_names(role: Role, source: object, target: object) -> None:
    """Copy what names an item of a request into an item of the response."""
    is_struct = hasattr(source, "__fields__")
    value = _value(role, source) if is_struct else source
    for name in _FIELDS[role]:
        if hasattr(target, name):
            setattr(target, name, value)
            break
    for name in (_ID, _RESOURCE_TYPE):
        if is_struct and hasattr(target, name) and hasattr(source, name):
            setattr(target, name, getattr(source, name))


@frozen
class NamedParts:
    """Reader of the parts of messages. name_of: returns the name of a topic id, or None."""

    name_of: NameOf

    def of_whole(self, message: object) -> Names:
        """Return what a message says of all of its parts."""
        names = Names(
            group=getattr(message, "group_id", None) or None,
            transactional_id=_whole_transactional_id(message),
        )
        key = getattr(message, "key", None)
        return self._coordinator(message, key, names) if key else names

    def below(self, message: object) -> Iterator[Names]:
        """Yield the names of each innermost part; those of the whole if it has no parts."""
        yield from self._leaves(message, message, self.of_whole(message))

    def only(self, message: object, keep: Callable[[Names], bool]) -> object:
        """Return a copy with the innermost parts that `keep` returns true for.

        None if there is none of them.
        """
        return self._only(message, message, self.of_whole(message), keep=keep)

    def items(
        self, message: object, item: object, names: Names
    ) -> Iterator[tuple[NamingArray, object, Names]]:
        """Yield the array, item and names of each part directly below an item."""
        for array in naming_arrays(type(item)):
            for inner_item in getattr(item, array.name, None) or ():
                yield array, inner_item, self._with(message, array.role, inner_item, names=names)

    def _leaves(self, message: object, item: object, names: Names) -> Iterator[Names]:
        is_leaf = True
        for _, inner_item, inner in self.items(message, item, names):
            is_leaf = False
            yield from self._leaves(message, inner_item, inner)
        if is_leaf:
            yield names

    def _only(
        self, message: object, item: object, names: Names, *, keep: Callable[[Names], bool]
    ) -> object:
        kept: dict[str, list[object]] = {}
        is_leaf = True
        for array, inner_item, inner in self.items(message, item, names):
            is_leaf = False
            remaining = self._only(message, inner_item, inner, keep=keep)
            if remaining is not None:
                kept.setdefault(array.name, []).append(remaining)
        if is_leaf:
            return item if keep(names) else None
        if not kept:
            return None
        reduced = copy(item)
        for array in naming_arrays(type(item)):
            if getattr(item, array.name, None):
                setattr(reduced, array.name, kept.get(array.name, []))
        return reduced

    def _with(self, message: object, role: Role, item: Any, *, names: Names) -> Names:
        """Return names with those of an item of an array."""
        value = _value(role, item) if hasattr(item, "__fields__") else item
        match role:
            case "topic":
                return evolve(names, topic=self._topic(item, value))
            case "partition":
                return evolve(names, partition=value)
            case "group":
                return evolve(names, group=value)
            case "transactional_id":
                return evolve(names, transactional_id=value)
            case "coordinator":
                return self._coordinator(message, value, names)
            case "resource":
                return _resource(item, value, names)

    def _topic(self, item: object, name: str | None) -> str | None:
        topic_id = getattr(item, _ID, ZERO_TOPIC_ID)
        if not name and topic_id != ZERO_TOPIC_ID:
            return self.name_of(TopicId(topic_id))
        return name or None

    def _coordinator(self, message: object, key: str, names: Names) -> Names:
        if getattr(message, "key_type", _GROUP_KEY) == _GROUP_KEY:
            return evolve(names, group=key)
        return evolve(names, transactional_id=key)


def api_name(request: type[object]) -> str:
    """Return Kafka's name of an API: `Produce`."""
    return message_of(request).name.removesuffix("Request")


def _naming_array(field: Field) -> NamingArray | None:
    if field.kind != "array" or field.name not in _ARRAYS or field.of is None:
        return None
    item = field.of.struct
    role = _ARRAYS[field.name] or (None if item is None else _role_of(item))
    return None if role is None else NamingArray(field.name, role, item)


def _role_of(item: type[object]) -> Role | None:
    names = {field.name for field in fields_of(item)}
    return next((role for role, own in _FIELDS.items() if names.intersection(own)), None)


def _value(role: Role, item: object) -> Any:
    for name in _FIELDS[role]:
        if hasattr(item, name):
            return getattr(item, name)
    return None


def _whole_transactional_id(message: object) -> str | None:
    for name in ("transactional_id", "v3_and_below_transactional_id"):
        if transactional_id := getattr(message, name, None):
            return str(transactional_id)
    return None


def _resource(item: object, name: str, names: Names) -> Names:
    kind = getattr(item, _RESOURCE_TYPE, None)
    if kind == _TOPIC_RESOURCE:
        return evolve(names, topic=name)
    return evolve(names, group=name) if kind == _GROUP_RESOURCE else names
