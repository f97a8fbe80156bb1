"""Settings of resources: replaced (AlterConfigs) or changed singly (IncrementalAlterConfigs).

A `Validator` knows which values are legal; this module knows what changes. Settings of a broker are
recorded even if they are the same: so a broker is told to read the files that they name again.
Source: KIP-226, KIP-339, KIP-966; Apache Kafka 4.4.0.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from enum import IntEnum
from typing import Final

from trio_kafka.attributes import frozen
from trio_kafka.controller.decision import Decision
from trio_kafka.controller.policies import ConfigApproval, ConfigsToAlter, approved
from trio_kafka.errors import ErrorCode, KafkaError
from trio_kafka.metadata.features import ELR_VERSION
from trio_kafka.metadata.image import (
    ALL_BROKERS,
    ConfigResource,
    ConfigResourceType,
    MetadataImage,
)
from trio_kafka.metadata.names import check_topic_name
from trio_kafka.metadata.source import MetadataRecord
from trio_kafka.model import NodeId
from trio_kafka.protocol.stored.metadata.configs import ConfigRecord
from trio_kafka.protocol.stored.metadata.topics import ClearElrRecord

MIN_INSYNC_REPLICAS: Final = "min.insync.replicas"
LONGEST_VALUE: Final = 32767  # bytes: the limit of a string in the protocol
MOST_SETTINGS: Final = 1000  # of one resource: each change reads all of them
_NOTHING: Final[Mapping[str, None]] = {}

Validator = Callable[[ConfigResourceType, str, Mapping[str, str], MetadataImage], None]
"""Called with type, name and all settings that a resource would have, and the image before.

Raises KafkaError.
"""

Lists = Callable[[ConfigResourceType, str], str | None]
"""Return the static value of a setting that is a list, and None for any other setting.

APPEND and SUBTRACT apply to lists, and start from this value.
"""


class Operation(IntEnum):
    """Operation of an incremental change (int8 on the wire)."""

    SET = 0
    DELETE = 1
    APPEND = 2
    SUBTRACT = 3


@frozen
class ConfigChange:
    """Change of one setting. value: None with DELETE."""

    name: str
    operation: Operation
    value: str | None = None


ConfigChanges = Mapping[str, str | None] | Sequence[ConfigChange]
"""Changes of one resource: all settings that it is to have, or changes of single ones."""


def change_configs(
    image: MetadataImage,
    resource: ConfigResource,
    changes: ConfigChanges,
    *,
    validate: Validator,
    lists: Lists,
    approve: ConfigApproval = approved,
) -> Decision[None]:
    """Change the settings of a resource, all or none. Raises KafkaError.

    approve: see `set_configs` and `alter_configs`.
    """
    if isinstance(changes, Mapping):
        return set_configs(image, resource, changes, validate=validate, approve=approve)
    return alter_configs(image, resource, changes, validate=validate, lists=lists, approve=approve)


def set_configs(
    image: MetadataImage,
    resource: ConfigResource,
    values: Mapping[str, str | None],
    *,
    validate: Validator,
    approve: ConfigApproval = approved,
) -> Decision[None]:
    """Replace all settings of a resource by `values`. Raises KafkaError.

    approve: called with the settings that change, except removed ones; raises KafkaError.
    """
    old = image.configs.get(resource, {})
    removals = dict.fromkeys(name for name in old if name not in values)
    return _change(image, resource, values, validate=validate, approve=approve, implied=removals)


def alter_configs(
    image: MetadataImage,
    resource: ConfigResource,
    changes: Sequence[ConfigChange],
    *,
    validate: Validator,
    lists: Lists,
    approve: ConfigApproval = approved,
) -> Decision[None]:
    """Change single settings of a resource, all or none. Raises KafkaError.

    approve: called with the settings that change; raises KafkaError.
    """
    if len({change.name for change in changes}) < len(changes):
        raise KafkaError(ErrorCode.INVALID_REQUEST, "a setting is named twice")
    old = image.configs.get(resource, {})
    kind = ConfigResourceType(resource[0])
    values = {change.name: _value_after(old, kind, change, lists=lists) for change in changes}
    return _change(image, resource, values, validate=validate, approve=approve)


def after(
    image: MetadataImage, resource: ConfigResource, decision: Decision[None]
) -> Mapping[str, str]:
    """Return the settings that the resource has after a decision."""
    values: dict[str, str | None] = {**image.configs.get(resource, {})}
    for record in decision.records:
        if isinstance(record, ConfigRecord):
            values[record.name] = record.value
    return _without_nulls(values)


def new_topic_configs(
    name: str, values: Mapping[str, str | None], *, validate: Validator, image: MetadataImage
) -> dict[str, str]:
    """Return the settings of a new topic. Raises KafkaError(INVALID_CONFIG)."""
    texts = {key: _text(key, value) for key, value in values.items()}
    validate(ConfigResourceType.TOPIC, name, texts, image)
    return texts


def config_records(
    image: MetadataImage, resource: ConfigResource, values: Mapping[str, str | None]
) -> list[MetadataRecord]:
    """Return the records of changes. A new min.insync.replicas clears the eligible leaders."""
    kind, name = resource
    records: list[MetadataRecord] = [
        ConfigRecord(resource_type=kind, resource_name=name, name=key, value=value)
        for key, value in values.items()
    ]
    if _has_elr(image) and MIN_INSYNC_REPLICAS in values:
        if kind == ConfigResourceType.TOPIC:
            records.append(ClearElrRecord(topic_name=name))
        elif resource == ALL_BROKERS:
            records.append(ClearElrRecord())
    return records


def elr_safety_records(image: MetadataImage, min_insync_replicas: int) -> Iterator[MetadataRecord]:
    """Yield the records that eligible leader replicas require (KIP-966).

    All brokers must have the same min.insync.replicas, and it must be in the log.
    min_insync_replicas: the static value.
    """
    if MIN_INSYNC_REPLICAS not in image.configs.get(ALL_BROKERS, {}):
        yield _min_insync_record("", str(min_insync_replicas))
    for broker in map(str, image.brokers):
        if MIN_INSYNC_REPLICAS in image.config(ConfigResourceType.BROKER, broker):
            yield _min_insync_record(broker, None)


def check_resource(image: MetadataImage, resource: ConfigResource) -> None:
    """Raise KafkaError for a resource that does not exist."""
    kind, name = resource
    if kind == ConfigResourceType.TOPIC:
        if name not in image.topics:
            raise KafkaError(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, f"no topic {name}")
    elif kind == ConfigResourceType.BROKER and name and NodeId(int(name)) not in image.brokers:
        raise KafkaError(ErrorCode.BROKER_ID_NOT_REGISTERED, f"broker {name} is not registered")


def check_name(resource: ConfigResource) -> None:
    """Raise KafkaError for a name that a resource of that type cannot have."""
    kind, name = resource
    if kind == ConfigResourceType.TOPIC:
        if not name:
            raise KafkaError(
                ErrorCode.INVALID_REQUEST, "an empty topic name: expected the name of a topic"
            )
        check_topic_name(name)
    elif kind == ConfigResourceType.BROKER:
        if name and not (name.isascii() and name.isdecimal()):
            raise KafkaError(
                ErrorCode.INVALID_REQUEST,
                f"broker id {name!r}: expected a number, or nothing for all brokers",
            )
    elif kind == ConfigResourceType.GROUP:
        if not name:
            raise KafkaError(
                ErrorCode.INVALID_REQUEST, "an empty group name: expected the name of a group"
            )
    elif kind == ConfigResourceType.CLIENT_METRICS:
        if not name:
            raise KafkaError(
                ErrorCode.INVALID_REQUEST, "an empty subscription name: expected a name"
            )
    else:
        reason = f"settings of type {ConfigResourceType(kind).name} are not served yet"
        raise KafkaError(ErrorCode.INVALID_REQUEST, reason)


def _value_after(
    old: Mapping[str, str], kind: ConfigResourceType, change: ConfigChange, *, lists: Lists
) -> str | None:
    """Return the value of a setting after its change; None: not set."""
    if change.operation is Operation.DELETE:
        return None
    value = _text(change.name, change.value)
    if change.operation is Operation.SET:
        return value
    _check_length(change.name, value)
    static = lists(kind, change.name)
    if static is None:
        reason = (
            f"{change.operation.name} on {change.name}, which is not a list: expected SET or DELETE"
        )
        raise KafkaError(ErrorCode.INVALID_CONFIG, reason)
    items = [item for item in old.get(change.name, static).split(",") if item]
    operands = [item.strip() for item in value.split(",")]
    if change.operation is Operation.APPEND:
        items = list(dict.fromkeys([*items, *operands]))
    else:
        subtracted = frozenset(operands)
        items = [item for item in items if item not in subtracted]
    return ",".join(items)


def _check_length(name: str, value: str) -> None:
    if (size := len(value.encode())) > LONGEST_VALUE:
        reason = f"{name} has {size} bytes: expected at most {LONGEST_VALUE}"
        raise KafkaError(ErrorCode.INVALID_CONFIG, reason)


def _text(name: str, value: str | None) -> str:
    if value is None:
        raise KafkaError(ErrorCode.INVALID_CONFIG, f"{name} without a value: expected a text")
    return value


def _change(
    image: MetadataImage,
    resource: ConfigResource,
    values: Mapping[str, str | None],
    *,
    validate: Validator,
    approve: ConfigApproval,
    implied: Mapping[str, None] = _NOTHING,
) -> Decision[None]:
    """Decide on new values; None removes a setting.

    implied: removals that policies do not see.
    """
    changes = {**values, **implied}
    kind, old = ConfigResourceType(resource[0]), image.configs.get(resource, {})
    check_name(resource)
    _check_values(image, resource, changes)
    after = _without_nulls({**old, **changes})
    if len(after) > max(MOST_SETTINGS, len(old)):
        reason = f"{len(after)} settings: expected at most {MOST_SETTINGS} of one resource"
        raise KafkaError(ErrorCode.INVALID_REQUEST, reason)
    validate(kind, resource[1], after, image)
    check_resource(image, resource)
    if kind is not ConfigResourceType.BROKER:
        changes = {name: value for name, value in changes.items() if old.get(name) != value}
    explicit = {name: value for name, value in changes.items() if name not in implied}
    approve(ConfigsToAlter(kind=kind, name=resource[1], configs=explicit))
    return Decision(None, config_records(image, resource, changes))


def _without_nulls(values: Mapping[str, str | None]) -> dict[str, str]:
    return {name: value for name, value in values.items() if value is not None}


def _check_values(
    image: MetadataImage, resource: ConfigResource, changes: Mapping[str, str | None]
) -> None:
    for name, value in changes.items():
        if value is not None:
            _check_length(name, value)
    if resource[0] != ConfigResourceType.BROKER or not _has_elr(image):
        return
    if MIN_INSYNC_REPLICAS in changes:
        if resource != ALL_BROKERS:
            reason = "cannot be set for one broker while eligible leader replicas are in use"
            raise KafkaError(ErrorCode.INVALID_CONFIG, f"{MIN_INSYNC_REPLICAS} {reason}")
        if changes[MIN_INSYNC_REPLICAS] is None:
            reason = "cannot be removed while eligible leader replicas are in use"
            raise KafkaError(ErrorCode.INVALID_CONFIG, f"{MIN_INSYNC_REPLICAS} {reason}")


def _min_insync_record(broker: str, value: str | None) -> ConfigRecord:
    return ConfigRecord(
        resource_type=ConfigResourceType.BROKER,
        resource_name=broker,
        name=MIN_INSYNC_REPLICAS,
        value=value,
    )


def _has_elr(image: MetadataImage) -> bool:
    return image.features.get(ELR_VERSION, 0) > 0
