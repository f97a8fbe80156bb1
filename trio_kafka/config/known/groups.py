"""What classic and consumer groups, their coordinator and committed offsets will obey."""

from attrs import frozen

from trio_kafka.config.setting import Update, boolean, int32, int64, string, texts
from trio_kafka.config.values import MAX_INT


@frozen(kw_only=True)
class GroupSettings:
    """What classic and consumer groups, their coordinator and committed offsets will obey."""

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
        1000,
        "Pause between two assignments of a consumer group.",
        low=0,
        update=Update.CLUSTER_WIDE,
    )
    group_consumer_max_assignment_interval_ms: int = int32(
        15000, "The longest assignment interval that a group may be given.", low=0
    )
    group_consumer_min_assignment_interval_ms: int = int32(
        0, "The shortest assignment interval that a group may be given.", low=0
    )
    group_consumer_assignor_offload_enable: bool = boolean(
        True,
        "Assignments are computed beside the coordinator, not in it.",
        update=Update.CLUSTER_WIDE,
        internal=True,
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
        "How long the coordinator gathers records before it writes them; -1: as load suggests.",
        low=-1,
    )
    group_coordinator_background_threads: int = int32(
        2, "Threads for the work that is done beside the coordinator.", low=1
    )
    group_coordinator_cached_buffer_max_bytes: int = int32(
        1048588,
        "The largest write buffer that the coordinator keeps for reuse.",
        low=524288,
        update=Update.CLUSTER_WIDE,
    )
    group_coordinator_rebalance_protocols: tuple[str, ...] = texts(
        ("classic", "consumer", "streams"),
        "Group protocols that are served.",
        choices=("consumer", "classic", "share", "streams"),
    )
    group_coordinator_threads: int = int32(4, "Threads of the group coordinator.", low=1)
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
