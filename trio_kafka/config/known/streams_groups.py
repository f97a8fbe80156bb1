"""What streams groups will obey."""

from attrs import frozen

from trio_kafka.config.setting import Update, boolean, int32, int64, texts
from trio_kafka.config.values import MAX_INT


@frozen(kw_only=True)
class StreamsGroupSettings:
    """What streams groups will obey."""

    group_streams_acceptable_recovery_lag: int = int64(
        10000,
        "A task counts as caught up when it is behind by no more than this.",
        low=0,
        internal=True,
    )
    group_streams_assignment_interval_ms: int = int32(
        1000, "Pause between two assignments of a streams group.", low=0, update=Update.CLUSTER_WIDE
    )
    group_streams_max_assignment_interval_ms: int = int32(
        15000, "The longest assignment interval that a group may be given.", low=0
    )
    group_streams_min_assignment_interval_ms: int = int32(
        0, "The shortest assignment interval that a group may be given.", low=0
    )
    group_streams_assignor_offload_enable: bool = boolean(
        True,
        "Assignments are computed beside the coordinator, not in it.",
        update=Update.CLUSTER_WIDE,
        internal=True,
    )
    group_streams_assignors: tuple[str, ...] = texts(("sticky",), "Assignors of streams groups.")
    group_streams_heartbeat_interval_ms: int = int32(
        5000, "How often a member of a streams group says that it lives.", low=1
    )
    group_streams_max_heartbeat_interval_ms: int = int32(
        15000, "The longest heartbeat interval that a group may be given.", low=1
    )
    group_streams_min_heartbeat_interval_ms: int = int32(
        5000, "The shortest heartbeat interval that a group may be given.", low=1
    )
    group_streams_initial_rebalance_delay_ms: int = int32(
        3000,
        "How long a new streams group waits for more members before its first rebalance.",
        low=0,
    )
    group_streams_num_standby_replicas: int = int32(0, "Standby replicas of each task.", low=0)
    group_streams_max_standby_replicas: int = int32(
        2, "The most standby replicas that a group may be given.", low=0
    )
    group_streams_num_warmup_replicas: int = int32(
        2, "Warm-up replicas of a group.", low=0, internal=True
    )
    group_streams_max_warmup_replicas: int = int32(
        20, "The most warm-up replicas that a group may be given.", low=0, internal=True
    )
    group_streams_rack_aware_assignment_tags: tuple[str, ...] = texts(
        (), "Client tags that tell standby replicas apart."
    )
    group_streams_session_timeout_ms: int = int32(
        45000, "A member of a streams group that is silent for so long is removed.", low=1
    )
    group_streams_max_session_timeout_ms: int = int32(
        60000, "The longest session timeout that a group may be given.", low=1
    )
    group_streams_min_session_timeout_ms: int = int32(
        45000, "The shortest session timeout that a group may be given.", low=1
    )
    group_streams_max_size: int = int32(MAX_INT, "The most members of a streams group.", low=1)
    group_streams_task_offset_interval_ms: int = int32(
        60000, "How often members tell how far their tasks are.", low=1, internal=True
    )
    group_streams_min_task_offset_interval_ms: int = int32(
        15000, "The shortest task offset interval that a group may be given.", low=1, internal=True
    )
