"""Subjects of a request: topics, groups, names of settings, each with its outcome.

A table of the fields that may be recorded. Nothing else of a request is read, so that no value of a
setting, no record and no secret can get into an event.
"""

from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final

from attrs import define, field, frozen

from trio_kafka.errors import ErrorCode
from trio_kafka.metadata.image import MetadataImage
from trio_kafka.model import ZERO_TOPIC_ID
from trio_kafka.protocol.texts import show_uuid

LONGEST: Final = 256  # most characters of a name: Kafka's own are shorter
MOST: Final = 100  # most subjects of an event
MOST_EXAMINED: Final = 2000  # most subjects of a request
_RESOURCES: Final = {
    2: "topic",
    3: "group",
    4: "broker",
    5: "transactional-id",
    6: "delegation-token",
    7: "user",
    8: "broker-logger",
    16: "client-metrics",
    32: "group",
}
_ACL_RESOURCES: Final = {**_RESOURCES, 4: "cluster"}
Key = tuple[str, str]
Item = Any
"""A message or a struct of any API. Their fields differ; `SHAPES` says which are read."""

Items = Callable[[Item], Iterable[Item]]


@define(kw_only=True)
class Subject:
    """Resource that a request names. error: first error of the response for it."""

    type: str
    name: str
    settings: list[str] = field(factory=list)
    error: int = 0

    def plain(self) -> dict[str, object]:
        """Return the subject as in an event."""
        plain: dict[str, object] = {"type": self.type, "name": self.name[:LONGEST]}
        if self.settings:
            plain["settings"] = [name[:LONGEST] for name in self.settings[:MOST]]
        if self.error:
            plain["error"] = name_of(self.error)
        return plain


def _nothing(message: Item) -> Iterable[Item]:
    del message
    return ()


def _topic(item: Item) -> Key:
    name = getattr(item, "name", None) or getattr(item, "topic", None)
    topic_id = getattr(item, "topic_id", ZERO_TOPIC_ID)
    return "topic", name or (show_uuid(topic_id) if topic_id != ZERO_TOPIC_ID else "")


def _topic_name(item: Item) -> Key:
    return "topic", item.topic_name


def _resource(item: Item) -> Key:
    kind = item.resource_type
    return _RESOURCES.get(kind, str(kind)), item.resource_name


def _acl(item: Item) -> Key:
    return _ACL_RESOURCES.get(item.resource_type, "acl"), item.resource_name


def _acl_filter(item: Item) -> Key:
    kind = item.resource_type_filter
    return _ACL_RESOURCES.get(kind, "acl"), item.resource_name_filter or "*"


def _entity(item: Item) -> Key:
    parts = (f"{part.entity_type}={part.entity_name or '<default>'}" for part in item.entity)
    return "quota", ",".join(parts)


def _owner(request: Item) -> Key:
    return "user", request.owner_principal_name or ""


def _of(type_: str, attribute: str) -> Callable[[Item], Key]:
    return lambda item: (type_, str(getattr(item, attribute)))


@frozen(kw_only=True)
class Shape:
    """Location of an API's subjects.

    request_items, response_items: items of the request; items of the response with errors, or with
    arrays of such items (`inner`).
    key: type and name of an item. in_order: response items have no names, but the order of the
    request.
    read: take subjects from the response, because fetch sessions omit them in requests.
    settings: names of settings in an item.
    """

    request_items: Items = _nothing
    key: Callable[[Item], Key] = _topic
    response_items: Items = _nothing
    response_key: Callable[[Item], Key] | None = None
    inner: str = ""
    in_order: bool = False
    read: bool = False
    settings: Callable[[Item], list[str]] = lambda item: []  # noqa: ARG005


def _configs(item: Item) -> list[str]:
    return [config.name for config in item.configs[:MOST]]


def _whole_message(message: Item) -> Iterable[Item]:
    return (message,)


def _deleted_topics(request: Item) -> Iterable[Item]:
    from trio_kafka.protocol.messages.k20_delete_topics import (  # noqa: PLC0415 - imported by now
        DeleteTopicState,
    )

    return [*(DeleteTopicState(name) for name in request.topic_names), *request.topics]


_CONFIGS: Final = Shape(
    request_items=lambda request: request.resources,
    key=_resource,
    response_items=lambda answer: answer.responses,
    settings=_configs,
)
_NAMED_GROUP: Final = Shape(request_items=_whole_message, key=_of("group", "group_id"))
_VOTER: Final = Shape(request_items=_whole_message, key=_of("controller", "voter_id"))
_NONE: Final = Shape()
# By key: the APIs that change the cluster. Records and offsets of consumers do not.
ADMIN: Final[Mapping[int, Shape]] = {
    19: Shape(
        request_items=lambda request: request.topics,
        response_items=lambda answer: answer.topics,
        settings=_configs,
    ),
    20: Shape(request_items=_deleted_topics, response_items=lambda answer: answer.responses),
    21: Shape(
        request_items=lambda request: request.topics,
        response_items=lambda answer: answer.topics,
        inner="partitions",
    ),
    30: Shape(
        request_items=lambda request: request.creations,
        key=_acl,
        response_items=lambda answer: answer.results,
        in_order=True,
    ),
    31: Shape(
        request_items=lambda request: request.filters,
        key=_acl_filter,
        response_items=lambda answer: answer.filter_results,
        in_order=True,
    ),
    33: _CONFIGS,
    34: Shape(
        request_items=lambda request: (topic for place in request.dirs for topic in place.topics),
        response_items=lambda answer: answer.results,
        response_key=_topic_name,
        inner="partitions",
    ),
    37: Shape(
        request_items=lambda request: request.topics, response_items=lambda answer: answer.results
    ),
    38: Shape(request_items=_whole_message, key=_owner),
    # Renewals and ends name a token by its HMAC, a secret.
    39: _NONE,
    40: _NONE,
    42: Shape(
        request_items=lambda request: request.groups_names,
        key=lambda item: ("group", item if isinstance(item, str) else item.group_id),
        response_items=lambda answer: answer.results,
    ),
    43: Shape(
        request_items=lambda request: request.topic_partitions or (),
        response_items=lambda answer: answer.replica_election_results,
        inner="partition_result",
    ),
    44: _CONFIGS,
    45: Shape(
        request_items=lambda request: request.topics,
        response_items=lambda answer: answer.responses,
        inner="partitions",
    ),
    47: _NAMED_GROUP,
    49: Shape(
        request_items=lambda request: request.entries,
        key=_entity,
        response_items=lambda answer: answer.entries,
        settings=lambda item: [change.key for change in item.ops[:MOST]],
    ),
    51: Shape(
        request_items=lambda request: [*request.deletions, *request.upsertions],
        key=_of("user", "name"),
        response_items=lambda answer: answer.results,
        response_key=_of("user", "user"),
    ),
    57: Shape(
        request_items=lambda request: request.feature_updates,
        key=_of("feature", "feature"),
        response_items=lambda answer: answer.results,
    ),
    64: Shape(request_items=_whole_message, key=_of("broker", "broker_id")),
    80: _VOTER,
    81: _VOTER,
    91: _NAMED_GROUP,
    92: _NAMED_GROUP,
    10003: Shape(request_items=_whole_message, key=_of("plugin", "name")),
    10004: Shape(request_items=_whole_message, key=_of("job", "name")),
}
DATA: Final[Mapping[int, Shape]] = {
    0: Shape(
        request_items=lambda request: request.topic_data,
        response_items=lambda answer: answer.responses,
        inner="partition_responses",
    ),
    1: Shape(response_items=lambda answer: answer.responses, inner="partitions", read=True),
}
SHAPES: Final = {**ADMIN, **DATA}


@define(eq=False, kw_only=True)
class Subjects:
    """Subjects of one request, taken before it is served, because a deletion loses names."""

    shape: Shape
    subjects: list[Subject]
    count: int
    _by_key: dict[Key, Subject]
    _image: MetadataImage

    def record_outcomes(self, answer: Item) -> list[int]:
        """Record outcomes; return all errors of the response, the top-level one first."""
        errors = [getattr(answer, "error_code", 0)]
        key = self.shape.response_key or self.shape.key
        for number, item in enumerate(self.shape.response_items(answer)):
            if number >= MOST_EXAMINED:
                break
            error = _error_of(item, self.shape.inner)
            if self.shape.in_order:
                subject = self.subjects[number] if number < len(self.subjects) else None
            else:
                subject = self._by_key.get(key(item))
            if subject is None and self.shape.read:
                subject = self._add(item)
            if subject is not None:
                subject.error = subject.error or error
            errors.append(error)
        return errors

    def _add(self, item: Item) -> Subject:
        """Add a subject that the request did not name."""
        key = self.shape.key(item)
        subject = Subject(type=key[0], name=_known_name(item, key[1], self._image))
        self._by_key[key] = subject
        self.subjects.append(subject)
        self.count += 1
        return subject


def subjects_of(key: int, request: Item, image: MetadataImage) -> Subjects:
    """Return the subjects that a request names; none for an API without a shape."""
    shape = SHAPES.get(key, _NONE)
    subjects: list[Subject] = []
    by_key: dict[Key, Subject] = {}
    count = 0
    for item in shape.request_items(request):
        count += 1
        if count > MOST_EXAMINED:
            continue
        type_, name = shape.key(item)
        subject = Subject(
            type=type_, name=_known_name(item, name, image), settings=shape.settings(item)
        )
        subjects.append(subject)
        by_key[type_, name] = by_key[type_, subject.name] = subject
    return Subjects(shape=shape, subjects=subjects, count=count, by_key=by_key, image=image)


def _known_name(item: Item, name: str, image: MetadataImage) -> str:
    """Return the name of a topic given by its id."""
    topic_id = getattr(item, "topic_id", ZERO_TOPIC_ID)
    if topic_id == ZERO_TOPIC_ID:
        return name
    topic = image.topic(topic_id)
    return name if topic is None else topic.name


def _error_of(item: Item, inner: str) -> int:
    if not inner:
        return int(item.error_code)
    return next((int(row.error_code) for row in getattr(item, inner) if row.error_code), 0)


def name_of(error: int) -> str:
    """Return Kafka's name of an error."""
    try:
        return ErrorCode(error).name
    except ValueError:
        return str(error)
