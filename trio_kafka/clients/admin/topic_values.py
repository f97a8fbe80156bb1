"""Values of calls about topics. Names are Kafka's, in snake case."""

from collections.abc import Mapping, Sequence

from attrs import field

from trio_kafka.attributes import frozen
from trio_kafka.model import ZERO_TOPIC_ID

TopicKey = str | bytes
"""A topic by its name, or by its id: 16 bytes."""


@frozen
class NewTopic:
    """A topic to create.

    num_partitions, replication_factor: None: the broker's default. replicas_assignments: brokers of
    each partition, the preferred leader first; in place of both numbers. configs: by name.
    """

    name: str
    num_partitions: int | None = field(default=None, kw_only=True)
    replication_factor: int | None = field(default=None, kw_only=True)
    replicas_assignments: Mapping[int, Sequence[int]] | None = field(default=None, kw_only=True)
    configs: Mapping[str, str | None] = field(factory=dict, kw_only=True)


@frozen
class NewPartitions:
    """New number of partitions of a topic.

    total_count: with those that exist. new_assignments: brokers of each new partition, the
    preferred leader first; None: the controller chooses.
    """

    total_count: int
    new_assignments: Sequence[Sequence[int]] | None = None


@frozen(kw_only=True)
class CreatedTopic:
    """A topic as it was created, or would be. -1 and zeros: the broker is too old to say.

    configs: all settings by name; None for values that the client may not see.
    """

    name: str
    topic_id: bytes = ZERO_TOPIC_ID
    num_partitions: int = -1
    replication_factor: int = -1
    configs: Mapping[str, str | None] = field(factory=dict)


@frozen(kw_only=True)
class TopicListing:
    """A topic of the cluster."""

    name: str
    topic_id: bytes = ZERO_TOPIC_ID
    is_internal: bool = False


@frozen(kw_only=True)
class TopicPartitionInfo:
    """A partition with its replicas, as node ids. leader: -1: there is none.

    elr, last_known_elr: eligible leader replicas (KIP-966); None: the broker does not say.
    """

    partition: int
    leader: int
    leader_epoch: int = -1
    replicas: tuple[int, ...] = ()
    isr: tuple[int, ...] = ()
    offline_replicas: tuple[int, ...] = ()
    elr: tuple[int, ...] | None = None
    last_known_elr: tuple[int, ...] | None = None


@frozen(kw_only=True)
class TopicDescription:
    """A topic and its partitions, in order.

    authorized_operations: names of the operations that the client may do; None: not asked for.
    """

    name: str
    topic_id: bytes = ZERO_TOPIC_ID
    is_internal: bool = False
    partitions: tuple[TopicPartitionInfo, ...] = ()
    authorized_operations: frozenset[str] | None = None
