"""Settings of streams groups."""

from functools import partial
from typing import Final

from trio_kafka.attributes import frozen
from trio_kafka.config.group_coordinator import like_consumer_group
from trio_kafka.config.setting import CLUSTER, boolean, int32, int64, texts

_as_of_consumers: Final = partial(like_consumer_group, "streams")


@frozen(kw_only=True)
class StreamsGroupSettings:
    """Settings of streams groups."""

    group_streams_acceptable_recovery_lag: int = int64(
        10000,
        "A task counts as caught up when it is behind by no more than this.",
        low=0,
        internal=True,
    )
    group_streams_assignment_interval_ms: int = _as_of_consumers(
        "assignment.interval.ms", update=CLUSTER
    )
    group_streams_max_assignment_interval_ms: int = _as_of_consumers("max.assignment.interval.ms")
    group_streams_min_assignment_interval_ms: int = _as_of_consumers("min.assignment.interval.ms")
    group_streams_assignor_offload_enable: bool = boolean(
        True,
        "Assignments are computed beside the coordinator, not in it.",
        update=CLUSTER,
        internal=True,
    )
    group_streams_assignors: tuple[str, ...] = texts(("sticky",), "Assignors of streams groups.")
    group_streams_heartbeat_interval_ms: int = _as_of_consumers("heartbeat.interval.ms")
    group_streams_max_heartbeat_interval_ms: int = _as_of_consumers("max.heartbeat.interval.ms")
    group_streams_min_heartbeat_interval_ms: int = _as_of_consumers("min.heartbeat.interval.ms")
    group_streams_initial_rebalance_delay_ms: int = int32(
        3000,
        "Wait for more members of a new streams group before its first rebalance.",
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
    group_streams_session_timeout_ms: int = _as_of_consumers("session.timeout.ms")
    group_streams_max_session_timeout_ms: int = _as_of_consumers("max.session.timeout.ms")
    group_streams_min_session_timeout_ms: int = _as_of_consumers("min.session.timeout.ms")
    group_streams_max_size: int = _as_of_consumers("max.size")
    group_streams_task_offset_interval_ms: int = int32(
        60000,
        "Interval between members' reports of the offsets of their tasks.",
        low=1,
        internal=True,
    )
    group_streams_min_task_offset_interval_ms: int = int32(
        15000, "The shortest task offset interval that a group may be given.", low=1, internal=True
    )
