"""Settings of resources: set whole (AlterConfigs) or one by one (IncrementalAlterConfigs, KIP-339).

What a value means and whether it is legal is known by who gives `Validator`; here is what changes.
"""

from collections.abc import Callable, Mapping, Sequence
from enum import IntEnum

from attrs import frozen

from trio_kafka.controller.decision import Decision
from trio_kafka.errors import ErrorCode, KafkaError
from trio_kafka.metadata.features import ELR_VERSION
from trio_kafka.metadata.image import ConfigResource, MetadataImage, ResourceType
from trio_kafka.metadata.source import MetadataRecord
from trio_kafka.model import NodeId
from trio_kafka.protocol.stored.metadata.configs import ConfigRecord
from trio_kafka.protocol.stored.metadata.topics import ClearElrRecord

MIN_INSYNC_REPLICAS = "min.insync.replicas"

Validator = Callable[[ResourceType, str, Mapping[str, str]], None]
"""Called with everything that would be set for a resource. Raises KafkaError."""

ListSettings = frozenset[str]
"""Names of the settings whose values are lists, to which APPEND and SUBTRACT apply."""


class Operation(IntEnum):
    """What an incremental change does (int8 on the wire)."""

    SET = 0
    DELETE = 1
    APPEND = 2
    SUBTRACT = 3


@frozen
class ConfigChange:
    """One setting of one resource; value None with DELETE."""

    name: str
    operation: Operation
    value: str | None = None


def set_configs(
    image: MetadataImage,
    resource: ConfigResource,
    values: Mapping[str, str | None],
    validate: Validator,
) -> Decision[None]:
    """Let `values` be all that is set. Raises KafkaError."""
    check_resource(image, resource)
    wanted = _given(values)
    return _change(image, resource, wanted, validate)


def alter_configs(
    image: MetadataImage,
    resource: ConfigResource,
    changes: Sequence[ConfigChange],
    validate: Validator,
    lists: ListSettings,
) -> Decision[None]:
    """Change settings one by one. Raises KafkaError: nothing of this resource changes then."""
    check_resource(image, resource)
    if len({change.name for change in changes}) < len(changes):
        raise KafkaError(ErrorCode.INVALID_REQUEST, "a setting is named twice")
    wanted = dict(image.configs.get(resource, {}))
    for change in changes:
        _apply(wanted, change, lists)
    return _change(image, resource, wanted, validate)


def new_topic_configs(
    name: str, values: Mapping[str, str | None], validate: Validator
) -> dict[str, str]:
    """The settings that a topic is created with. Raises KafkaError(INVALID_CONFIG)."""
    wanted = _given(values)
    validate(ResourceType.TOPIC, name, wanted)
    return wanted


def config_records(
    image: MetadataImage, resource: ConfigResource, values: Mapping[str, str | None]
) -> list[MetadataRecord]:
    """Records of changes. A new min.insync.replicas makes void who was known to be eligible."""
    kind, name = resource
    records: list[MetadataRecord] = [
        ConfigRecord(resource_type=kind, resource_name=name, name=key, value=value)
        for key, value in values.items()
    ]
    elr = image.features.get(ELR_VERSION, 0) > 0
    if elr and MIN_INSYNC_REPLICAS in values:
        if kind == ResourceType.TOPIC:
            records.append(ClearElrRecord(topic_name=name))
        elif kind == ResourceType.BROKER and not name:
            records.append(ClearElrRecord())
    return records


def check_resource(image: MetadataImage, resource: ConfigResource) -> None:
    """Raises KafkaError for a resource that does not exist, or can have no settings here."""
    kind, name = resource
    if kind == ResourceType.TOPIC:
        if name not in image.topics:
            raise KafkaError(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, f"no topic {name}")
    elif kind == ResourceType.BROKER:
        if name and not (
            name.isascii() and name.isdecimal() and NodeId(int(name)) in image.brokers
        ):
            raise KafkaError(ErrorCode.INVALID_REQUEST, f"no broker {name!r} is registered")
    elif kind in (ResourceType.CLIENT_METRICS, ResourceType.GROUP):
        if not name:
            raise KafkaError(ErrorCode.INVALID_REQUEST, "the resource has no name")
    else:
        raise KafkaError(ErrorCode.INVALID_REQUEST, f"resource type {kind} has no settings here")


def _given(values: Mapping[str, str | None]) -> dict[str, str]:
    found = {name: value for name, value in values.items() if value is not None}
    if len(found) < len(values):
        missing = ", ".join(sorted(name for name in values if name not in found))
        raise KafkaError(ErrorCode.INVALID_CONFIG, f"settings without a value: {missing}")
    return found


def _apply(wanted: dict[str, str], change: ConfigChange, lists: ListSettings) -> None:
    if change.operation is Operation.DELETE:
        wanted.pop(change.name, None)
        return
    if change.value is None:
        raise KafkaError(ErrorCode.INVALID_CONFIG, f"{change.name} is to be set to no value")
    if change.operation is Operation.SET:
        wanted[change.name] = change.value
        return
    if change.name not in lists:
        found = f"{change.name} is no list: {change.operation.name} does not apply"
        raise KafkaError(ErrorCode.INVALID_CONFIG, found)
    items = [item for item in wanted.get(change.name, "").split(",") if item]
    given = [item.strip() for item in change.value.split(",") if item.strip()]
    if change.operation is Operation.APPEND:
        items += [item for item in given if item not in items]
    else:
        items = [item for item in items if item not in given]
    wanted[change.name] = ",".join(items)


def _change(
    image: MetadataImage, resource: ConfigResource, wanted: Mapping[str, str], validate: Validator
) -> Decision[None]:
    validate(ResourceType(resource[0]), resource[1], wanted)
    old = image.configs.get(resource, {})
    changes: dict[str, str | None] = {name: None for name in old if name not in wanted}
    changes.update((name, value) for name, value in wanted.items() if old.get(name) != value)
    return Decision(None, config_records(image, resource, changes))
