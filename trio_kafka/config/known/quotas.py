"""What quotas and limits of connections will obey."""

from attrs import frozen

from trio_kafka.config.setting import Update, int32, int64, string
from trio_kafka.config.values import MAX_INT, MAX_LONG


def _check_overrides(text: str) -> None:
    for item in filter(None, map(str.strip, text.split(","))):
        host, _, count = item.rpartition(":")
        if not (host.strip() and count.strip().isdecimal()):
            raise ValueError(f"{item!r} is no HOST:COUNT")


@frozen(kw_only=True)
class QuotaSettings:
    """What quotas and limits of connections will obey."""

    alter_log_dirs_replication_quota_window_num: int = int32(
        11, "Windows that moves between directories are measured over.", low=1
    )
    alter_log_dirs_replication_quota_window_size_seconds: int = int32(
        1, "Length of each of those windows.", low=1
    )
    controller_quota_window_num: int = int32(
        11, "Windows that changes of metadata are measured over.", low=1
    )
    controller_quota_window_size_seconds: int = int32(1, "Length of each of those windows.", low=1)
    follower_replication_throttled_rate: int = int64(
        MAX_LONG,
        "The most that throttled replicas fetch here in a second.",
        low=0,
        update=Update.CLUSTER_WIDE,
    )
    leader_replication_throttled_rate: int = int64(
        MAX_LONG,
        "The most that throttled replicas are given here in a second.",
        low=0,
        update=Update.CLUSTER_WIDE,
    )
    max_connection_creation_rate: int = int32(
        MAX_INT, "The most new connections in a second.", low=0, update=Update.CLUSTER_WIDE
    )
    max_connections: int = int32(
        MAX_INT, "The most connections of this broker.", low=0, update=Update.CLUSTER_WIDE
    )
    max_connections_per_ip: int = int32(
        MAX_INT, "The most connections from one address.", low=0, update=Update.CLUSTER_WIDE
    )
    max_connections_per_ip_overrides: str = string(
        "",
        "Other limits for some addresses: HOST:COUNT.",
        update=Update.CLUSTER_WIDE,
        check=_check_overrides,
    )
    queued_max_request_bytes: int = int64(
        -1, "The most bytes of requests that wait for a handler; -1: no limit."
    )
    quota_window_num: int = int32(11, "Windows that clients are measured over.", low=1)
    quota_window_size_seconds: int = int32(1, "Length of each of those windows.", low=1)
    replica_alter_log_dirs_io_max_bytes_per_second: int = int64(
        MAX_LONG,
        "The most that moves between directories write in a second.",
        low=0,
        update=Update.CLUSTER_WIDE,
    )
    replication_quota_window_num: int = int32(
        11, "Windows that replication is measured over.", low=1
    )
    replication_quota_window_size_seconds: int = int32(1, "Length of each of those windows.", low=1)
