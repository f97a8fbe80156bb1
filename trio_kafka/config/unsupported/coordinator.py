"""Threads and buffers of Kafka's group coordinator."""

from trio_kafka.attributes import frozen
from trio_kafka.config.setting import CLUSTER, boolean, int32


@frozen(kw_only=True)
class CoordinatorThreadSettings:
    """Threads and buffers of the group coordinator."""

    group_consumer_assignor_offload_enable: bool = boolean(
        True,
        "Assignments are computed beside the coordinator, not in it.",
        update=CLUSTER,
        internal=True,
    )
    group_coordinator_background_threads: int = int32(
        2, "Threads for the work that is done beside the coordinator.", low=1
    )
    group_coordinator_cached_buffer_max_bytes: int = int32(
        1048588,
        "The largest write buffer that the coordinator keeps for reuse.",
        low=524288,
        update=CLUSTER,
    )
    group_coordinator_threads: int = int32(4, "Threads of the group coordinator.", low=1)
