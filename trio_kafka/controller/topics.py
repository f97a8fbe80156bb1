"""Topics: creation, new partitions, deletion. Pure functions from an image to records.

Source: KIP-4, KIP-464 (defaults), KIP-516 (ids), KIP-525 (responses with settings).
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import chain
from typing import Final

from attrs import Factory

from trio_kafka.attributes import frozen
from trio_kafka.controller.configs import Validator, config_records, new_topic_configs
from trio_kafka.controller.decision import ControllerSettings, Decision
from trio_kafka.controller.placement import Choose, UsableBroker, place
from trio_kafka.controller.policies import Approvals, ConfigsToAlter, TopicToCreate
from trio_kafka.errors import ErrorCode, KafkaError
from trio_kafka.metadata.dump import partition_record
from trio_kafka.metadata.features import METADATA_VERSION, has_directories
from trio_kafka.metadata.image import (
    UNASSIGNED_DIRECTORY,
    ConfigResourceType,
    MetadataImage,
    PartitionState,
    TopicImage,
)
from trio_kafka.metadata.names import check_topic_name, collision_key
from trio_kafka.model import METADATA_TOPIC, NodeId, TopicId
from trio_kafka.protocol.stored.metadata.topics import (
    PartitionRecord,
    RemoveTopicRecord,
    TopicRecord,
)

DEFAULT: Final = -1
MOST_PARTITIONS: Final = 10_000  # of one topic in one request: they are one batch
_RESERVED_BELOW: Final = 100  # topic ids with a meaning of their own
_APPROVED: Final = Approvals()
_DASH: Final = 62  # the value of `-` in url-safe base64

Charge = Callable[[int], None]
"""Called with the number of new or deleted partitions. Raises THROTTLING_QUOTA_EXCEEDED."""


def free_of_charge(partitions: int) -> None:
    """Charge nothing."""


@frozen(kw_only=True)
class NewTopic:
    """Topic to create: either counts (-1 is the default) or assignments by partition."""

    name: str
    partitions: int = DEFAULT
    replication_factor: int = DEFAULT
    assignments: Mapping[int, Sequence[NodeId]] = Factory(dict)
    configs: Mapping[str, str | None] = Factory(dict)


@frozen
class NewPartitions:
    """New number of partitions of a topic.

    assignments: the replicas of each added partition; None: the controller chooses them.
    """

    total: int
    assignments: Sequence[Sequence[NodeId]] | None = None


@frozen(kw_only=True)
class CreatedTopic:
    """Created topic. configs: those of the request."""

    name: str
    id: TopicId
    partitions: int
    replication_factor: int
    configs: Mapping[str, str]


@frozen(kw_only=True)
class Randomness:
    """Source of randomness."""

    choose: Choose
    random_bytes: Callable[[int], bytes]


def create_topic(
    image: MetadataImage,
    collision_keys: Mapping[str, str],
    topic: NewTopic,
    *,
    settings: ControllerSettings,
    validate: Validator,
    randomness: Randomness,
    charge: Charge = free_of_charge,
    approvals: Approvals = _APPROVED,
) -> Decision[CreatedTopic]:
    """Create a topic. collision_keys: names of all topics by their `collision_key`.

    Raises KafkaError: TOPIC_ALREADY_EXISTS, INVALID_TOPIC_EXCEPTION, INVALID_PARTITIONS,
    INVALID_REPLICATION_FACTOR, INVALID_REPLICA_ASSIGNMENT, INVALID_REQUEST, and what `validate`,
    `charge` and `approvals` raise.
    """
    check_topic_name(topic.name)
    if topic.name == METADATA_TOPIC:
        raise KafkaError(
            ErrorCode.INVALID_REQUEST,
            f"topic {topic.name} belongs to the controller: choose another name",
        )
    if topic.name in image.topics:
        raise KafkaError(ErrorCode.TOPIC_ALREADY_EXISTS, f"topic {topic.name} exists")
    other = collision_keys.get(collision_key(topic.name))
    if other is not None:
        reason = f"topic {topic.name} collides with {other}: '.' and '_' are the same in metrics"
        raise KafkaError(ErrorCode.INVALID_TOPIC_EXCEPTION, reason)
    configs = new_topic_configs(topic.name, topic.configs, validate=validate, image=image)
    if topic.configs:
        approvals.configs(
            ConfigsToAlter(kind=ConfigResourceType.TOPIC, name=topic.name, configs=topic.configs)
        )
    replicas = _replicas(image, topic, settings=settings, choose=randomness.choose)
    approvals.topic(_to_create(topic, replicas))
    charge(len(replicas))
    topic_id = new_topic_id(randomness.random_bytes)
    records = chain(
        [TopicRecord(name=topic.name, topic_id=topic_id)],
        config_records(image, (ConfigResourceType.TOPIC, topic.name), configs),
        new_partitions(image, topic_id, enumerate(replicas)),
    )
    created = CreatedTopic(
        name=topic.name,
        id=topic_id,
        partitions=len(replicas),
        replication_factor=len(replicas[0]),
        configs=configs,
    )
    return Decision(created, records)


def new_topic_id(random_bytes: Callable[[int], bytes]) -> TopicId:
    """Return a random UUID (version 4) that is not reserved and not shown with a leading dash.

    Source: Uuid of Apache Kafka 4.4.0.
    """
    while True:
        raw = bytearray(random_bytes(16))
        raw[6] = raw[6] & 0x0F | 0x40
        raw[8] = raw[8] & 0x3F | 0x80
        reserved = int.from_bytes(raw) < _RESERVED_BELOW
        if not reserved and raw[0] >> 2 != _DASH:
            return TopicId(bytes(raw))


def new_partitions(
    image: MetadataImage, topic_id: TopicId, replicas: Iterable[tuple[int, Sequence[NodeId]]]
) -> Iterator[PartitionRecord]:
    """Yield the records of partitions with these replicas, led by the first active one."""
    states: dict[
        tuple[NodeId, ...], PartitionState
    ] = {}  # many partitions share a few lists of replicas
    for number, nodes in replicas:
        key = tuple(nodes)
        state = states.get(key)
        if state is None:
            state = states[key] = _new_state(image, key)
        yield partition_record(topic_id, number, state)


def _new_state(image: MetadataImage, nodes: tuple[NodeId, ...]) -> PartitionState:
    directories = has_directories(image.features.get(METADATA_VERSION, 0))
    isr = tuple(node for node in nodes if image.brokers[node].active)
    return PartitionState(
        replicas=nodes,
        isr=isr,
        leader=isr[0],
        directories=tuple(_directory(image, node) for node in nodes) if directories else (),
    )


def delete_topic(
    image: MetadataImage,
    name_or_id: str | TopicId,
    *,
    settings: ControllerSettings,
    charge: Charge = free_of_charge,
) -> Decision[TopicImage]:
    """Delete a topic by name or id.

    Raises KafkaError: UNKNOWN_TOPIC_OR_PARTITION, UNKNOWN_TOPIC_ID, TOPIC_DELETION_DISABLED, and
    what `charge` raises.
    """
    if not settings.delete_topic_enable:
        raise KafkaError(ErrorCode.TOPIC_DELETION_DISABLED, "delete.topic.enable is false")
    topic = image.topic(name_or_id)
    if topic is None:
        if isinstance(name_or_id, str):
            raise KafkaError(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, f"no topic {name_or_id}")
        raise KafkaError(ErrorCode.UNKNOWN_TOPIC_ID, f"no topic with id {name_or_id.hex()}")
    charge(len(topic.partitions))
    return Decision(topic, [RemoveTopicRecord(topic_id=topic.id)])


def create_partitions(
    image: MetadataImage,
    name: str,
    new: NewPartitions,
    *,
    choose: Choose,
    charge: Charge = free_of_charge,
) -> Decision[None]:
    """Add partitions to a topic.

    Raises KafkaError: UNKNOWN_TOPIC_OR_PARTITION, INVALID_PARTITIONS, INVALID_REPLICA_ASSIGNMENT,
    INVALID_REPLICATION_FACTOR, POLICY_VIOLATION, and what `charge` raises.
    """
    topic = image.topics.get(name)
    if topic is None:
        raise KafkaError(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, f"no topic {name}")
    old = len(topic.partitions)
    added = new.total - old
    if added <= 0:
        reason = f"{new.total} partitions: expected more than {old}, which topic {name} has"
        raise KafkaError(ErrorCode.INVALID_PARTITIONS, reason)
    if new.assignments is not None and len(new.assignments) != added:
        reason = f"{len(new.assignments)} assignments: expected {added}, one for each new partition"
        raise KafkaError(ErrorCode.INVALID_REPLICA_ASSIGNMENT, reason)
    if added > MOST_PARTITIONS:
        reason = f"{added} new partitions: expected at most {MOST_PARTITIONS} in one request"
        raise KafkaError(ErrorCode.POLICY_VIOLATION, reason)
    charge(added)
    factor = len(topic.partitions[0].replicas)
    if new.assignments is None:
        replicas = place(_usable(image), added, factor=factor, choose=choose)
    else:
        replicas = [_valid_replicas(image, nodes, factor) for nodes in new.assignments]
    return Decision(None, new_partitions(image, topic.id, enumerate(replicas, old)))


def _to_create(topic: NewTopic, replicas: Sequence[Sequence[NodeId]]) -> TopicToCreate:
    """Return a topic as policies get it."""
    is_assigned = bool(topic.assignments)
    return TopicToCreate(
        name=topic.name,
        partitions=None if is_assigned else len(replicas),
        replication_factor=None if is_assigned else len(replicas[0]),
        assignments=topic.assignments if is_assigned else None,
        configs=topic.configs,
    )


def _replicas(
    image: MetadataImage, topic: NewTopic, *, settings: ControllerSettings, choose: Choose
) -> list[tuple[NodeId, ...]]:
    count, factor = topic.partitions, topic.replication_factor
    if topic.assignments:
        if count != DEFAULT or factor != DEFAULT:
            reason = "partitions and replication factor beside assignments: expected -1 for both"
            raise KafkaError(ErrorCode.INVALID_REQUEST, reason)
        if sorted(topic.assignments) != list(range(len(topic.assignments))):
            reason = f"partitions {sorted(topic.assignments)}: expected 0, 1, 2, ... without a gap"
            raise KafkaError(ErrorCode.INVALID_REPLICA_ASSIGNMENT, reason)
        factor = len(topic.assignments[0])
        in_order = (topic.assignments[number] for number in range(len(topic.assignments)))
        return [_valid_replicas(image, nodes, factor) for nodes in in_order]
    # Kafka's order: if both counts are invalid, the client gets the error of the factor.
    if factor != DEFAULT and factor <= 0:
        reason = f"replication factor {factor}: expected 1 or more, or -1"
        raise KafkaError(ErrorCode.INVALID_REPLICATION_FACTOR, reason)
    if count != DEFAULT and count <= 0:
        raise KafkaError(
            ErrorCode.INVALID_PARTITIONS, f"{count} partitions: expected 1 or more, or -1"
        )
    if count > MOST_PARTITIONS:
        reason = f"{count} partitions: expected at most {MOST_PARTITIONS} in one request"
        raise KafkaError(ErrorCode.POLICY_VIOLATION, reason)
    count = settings.num_partitions if count == DEFAULT else count
    factor = settings.default_replication_factor if factor == DEFAULT else factor
    return place(_usable(image), count, factor=factor, choose=choose)


def _valid_replicas(
    image: MetadataImage, nodes: Sequence[NodeId], factor: int
) -> tuple[NodeId, ...]:
    """Return the assigned replicas of a partition. KafkaError(INVALID_REPLICA_ASSIGNMENT)."""
    unknown = [node for node in nodes if node not in image.brokers]
    if not nodes:
        reason = "a partition without replicas: expected at least one"
    elif len(set(nodes)) < len(nodes):
        reason = f"replicas {list(nodes)} name a broker twice"
    elif unknown:
        reason = f"replicas {list(nodes)}: broker {unknown[0]} is not registered"
    elif len(nodes) != factor:
        reason = f"replicas {list(nodes)}: expected {factor}, as other partitions have"
    elif not any(image.brokers[node].active for node in nodes):
        reason = f"replicas {list(nodes)}: all are fenced or shutting down"
    else:
        return tuple(nodes)
    raise KafkaError(ErrorCode.INVALID_REPLICA_ASSIGNMENT, reason)


def _usable(image: MetadataImage) -> list[UsableBroker]:
    """Return the brokers that may get new replicas: not those with cordoned directories only."""
    return [
        UsableBroker(id=broker.id, rack=broker.rack, active=broker.active)
        for broker in image.brokers.values()
        if not broker.log_dirs or broker.open_log_dirs
    ]


def _directory(image: MetadataImage, node: NodeId) -> bytes:
    """Return the directory of a new replica; unassigned if its broker has a choice."""
    broker = image.brokers[node]
    directories = broker.log_dirs if len(broker.log_dirs) == 1 else broker.open_log_dirs
    return directories[0] if len(directories) == 1 else UNASSIGNED_DIRECTORY
