"""Settings of classic and consumer groups, their coordinator and committed offsets."""

from trio_kafka.attributes import frozen
from trio_kafka.config.connections import ConnectionSettings
from trio_kafka.config.setting import CLUSTER, int16, int32, int64, string, string_list
from trio_kafka.config.values import MAX_INT


@frozen(kw_only=True, init=False, eq=False, repr=False)  # is never made alone
class GroupCoordinatorSettings(ConnectionSettings):
    """Group settings of `BrokerConfig`."""

    group_initial_rebalance_delay_ms: int = int32(
        3000, "Wait for more members of a new classic group before its first rebalance."
    )
    group_max_session_timeout_ms: int = int32(
        1800000, "The longest session timeout that a member of a classic group may ask for."
    )
    group_min_session_timeout_ms: int = int32(
        6000, "The shortest session timeout that a member of a classic group may ask for."
    )
    group_max_size: int = int32(MAX_INT, "The most members of a classic group.", low=1)
    group_consumer_assignors: tuple[str, ...] = string_list(
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
        5000, "Interval between heartbeats of a member of a consumer group.", low=1
    )
    group_consumer_max_heartbeat_interval_ms: int = int32(
        15000, "The longest heartbeat interval that a group may be given.", low=1
    )
    group_consumer_min_heartbeat_interval_ms: int = int32(
        5000, "The shortest heartbeat interval that a group may be given.", low=1
    )
    group_consumer_session_timeout_ms: int = int32(
        45000,
        "Time without a heartbeat after which a member of a consumer group is removed.",
        low=1,
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
        "Allowed changes of a group between the classic and the consumer protocol.",
        choices=("DISABLED", "DOWNGRADE", "UPGRADE", "BIDIRECTIONAL"),
        any_case=True,
    )
    group_consumer_regex_refresh_interval_ms: int = int32(
        600000,
        "Interval between matches of subscriptions by pattern with the topics.",
        low=10000,
        internal=True,
    )
    group_coordinator_append_linger_ms: int = int32(
        -1,
        "Time for which the coordinator gathers records before it writes them; 0: none, "
        "-1: until all requests that are ready have been handled.",
        low=-1,
    )
    group_coordinator_rebalance_protocols: tuple[str, ...] = string_list(
        ("classic", "consumer", "streams"),
        "Supported group protocols.",
        choices=("consumer", "classic", "share", "streams"),
    )
    offset_metadata_max_bytes: int = int32(4096, "Largest metadata of a committed offset.")
    offsets_commit_timeout_ms: int = int32(
        5000, "Longest wait of a commit for the replicas of the offsets topic.", low=1
    )
    offsets_load_buffer_size: int = int32(
        5242880, "Size of one read while offsets are loaded.", low=1
    )
    offsets_retention_check_interval_ms: int = int64(
        600000, "Interval between searches for expired offsets.", low=1
    )
    offsets_retention_minutes: int = int32(
        10080, "Retention time of the offsets of an empty group.", low=1
    )
    offsets_topic_num_partitions: int = int32(50, "Partitions of the offsets topic.", low=1)
    offsets_topic_replication_factor: int = int16(3, "Replicas of the offsets topic.", low=1)
    offsets_topic_segment_bytes: int = int32(
        104857600, "Size of a segment of the offsets topic.", low=1
    )
    offsets_topic_compression_codec: int = int32(0, "The codec of the offsets topic.")
