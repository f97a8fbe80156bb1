"""Settings of a cluster of several nodes."""

from trio_kafka.attributes import frozen
from trio_kafka.config.setting import BROKER, boolean, int32, int64, texts


@frozen(kw_only=True)
class ClusterSettings:
    """Settings of a cluster of several nodes."""

    auto_leader_rebalance_enable: bool = boolean(
        True, "Leaders go back to the preferred replicas by themselves."
    )
    controller_quorum_auto_join_enable: bool = boolean(
        False, "A controller adds itself to the voters."
    )
    controller_quorum_fetch_max_bytes: int = int32(
        1048576, "The most in one fetch of the metadata log.", low=1
    )
    controller_quorum_fetch_snapshot_max_bytes: int = int32(
        1048576, "The most in one fetch of a snapshot.", low=1
    )
    controller_socket_timeout_ms: int = int32(
        30000, "Longest wait for the response of the controller."
    )
    cordoned_log_dirs: tuple[str, ...] = texts(
        (), "Directories that are given no new replicas.", update=BROKER
    )
    early_start_listeners: tuple[str, ...] | None = texts(
        None, "Listeners that accept before the metadata are there."
    )
    leader_imbalance_check_interval_seconds: int = int64(
        300, "Interval between checks of the balance of leaders.", low=1
    )
    num_replica_alter_log_dirs_threads: int | None = int32(
        None, "Threads that move replicas between directories."
    )
    socket_connection_setup_timeout_max_ms: int = int64(
        30000, "The longest that a connection to another node may take."
    )
    socket_connection_setup_timeout_ms: int = int64(
        10000, "Longest time for the first attempt to connect to another node."
    )
    unclean_leader_election_interval_ms: int = int64(
        300000, "Interval between searches for partitions without a leader.", low=1, internal=True
    )
