"""What classic and consumer groups, their coordinator and committed offsets obey."""

from typing import Any

from trio_kafka.attributes import frozen
from trio_kafka.config.connections import ConnectionSettings
from trio_kafka.config.setting import CLUSTER, int16, int32, int64, like, settings_of, string, texts
from trio_kafka.config.values import MAX_INT


@frozen(kw_only=True, init=False, eq=False, repr=False)  # is never made alone
class GroupCoordinatorSettings(ConnectionSettings):
    """What `BrokerConfig` has of groups."""

    group_initial_rebalance_delay_ms: int = int32(
        3000, "How long a new classic group waits for more members before its first rebalance."
    )
    group_max_session_timeout_ms: int = int32(
        1800000, "The longest session timeout that a member of a classic group may ask for."
    )
    group_min_session_timeout_ms: int = int32(
        6000, "The shortest session timeout that a member of a classic group may ask for."
    )
    group_max_size: int = int32(MAX_INT, "The most members of a classic group.", low=1)
    group_consumer_assignors: tuple[str, ...] = texts(
        ("uniform", "range"),
        "Assignors that consumer groups may choose, the first being the default.",
    )
    group_consumer_assignment_interval_ms: int = int32(
        1000, "Pause between two assignments of a consumer group.", low=0, update=CLUSTER
    )
    group_consumer_max_assignment_interval_ms: int = int32(
        15000, "The longest assignment interval that a group may be given.", low=0
    )
    group_consumer_min_assignment_interval_ms: int = int32(
        0, "The shortest assignment interval that a group may be given.", low=0
    )
    group_consumer_heartbeat_interval_ms: int = int32(
        5000, "How often a member of a consumer group says that it lives.", low=1
    )
    group_consumer_max_heartbeat_interval_ms: int = int32(
        15000, "The longest heartbeat interval that a group may be given.", low=1
    )
    group_consumer_min_heartbeat_interval_ms: int = int32(
        5000, "The shortest heartbeat interval that a group may be given.", low=1
    )
    group_consumer_session_timeout_ms: int = int32(
        45000, "A member of a consumer group that is silent for so long is removed.", low=1
    )
    group_consumer_max_session_timeout_ms: int = int32(
        60000, "The longest session timeout that a group may be given.", low=1
    )
    group_consumer_min_session_timeout_ms: int = int32(
        45000, "The shortest session timeout that a group may be given.", low=1
    )
    group_consumer_max_size: int = int32(MAX_INT, "The most members of a consumer group.", low=1)
    group_consumer_migration_policy: str = string(
        "bidirectional",
        "Which ways a group may change between the classic and the consumer protocol.",
        choices=("DISABLED", "DOWNGRADE", "UPGRADE", "BIDIRECTIONAL"),
        any_case=True,
    )
    group_consumer_regex_refresh_interval_ms: int = int32(
        600000, "How often subscriptions by pattern are matched anew.", low=10000, internal=True
    )
    group_coordinator_append_linger_ms: int = int32(
        -1,
        "How long the coordinator gathers records before it writes them, and answers; 0: never, "
        "-1: those of requests that have queued up, or are served together.",
        low=-1,
    )
    group_coordinator_rebalance_protocols: tuple[str, ...] = texts(
        ("classic", "consumer", "streams"),
        "Group protocols that are served.",
        choices=("consumer", "classic", "share", "streams"),
    )
    offset_metadata_max_bytes: int = int32(
        4096, "The most that a client may attach to a committed offset."
    )
    offsets_commit_timeout_ms: int = int32(
        5000, "How long a commit waits for the replicas of the offsets topic.", low=1
    )
    offsets_load_buffer_size: int = int32(
        5242880, "Bytes that are read at once where offsets are loaded.", low=1
    )
    offsets_retention_check_interval_ms: int = int64(
        600000, "How often expired offsets are looked for.", low=1
    )
    offsets_retention_minutes: int = int32(
        10080, "How long the offsets of an empty group are kept.", low=1
    )
    offsets_topic_num_partitions: int = int32(50, "Partitions of the offsets topic.", low=1)
    offsets_topic_replication_factor: int = int16(3, "Replicas of the offsets topic.", low=1)
    offsets_topic_segment_bytes: int = int32(
        104857600, "Size of a segment of the offsets topic.", low=1
    )
    offsets_topic_compression_codec: int = int32(0, "The codec of the offsets topic.")


def as_of_consumer_groups(kind: str, name: str, **differing: Any) -> Any:
    """A field that is for groups of another kind what `group.consumer.<name>` is for consumer
    groups, but for what differs.
    """
    other = settings_of(GroupCoordinatorSettings)[f"group.consumer.{name}"]
    doc = other.doc.replace("a consumer group", f"a {kind} group")
    return like(other, doc=doc, **differing)
