"""Settings of the consumer."""

from trio_kafka.attributes import frozen
from trio_kafka.clients.settings.common import ClientSettings
from trio_kafka.clients.settings.reset import OffsetReset, parse_reset
from trio_kafka.config.setting import ConfigError, boolean, int32, string, string_list


def check_reset(text: str) -> None:
    """Raise ValueError for a text that is no `auto.offset.reset`."""
    parse_reset(text)


@frozen(kw_only=True)
class ConsumerSettings(ClientSettings):
    """Settings of a consumer."""

    allow_auto_create_topics: bool = boolean(True, "Topics that are subscribed to are created.")
    auto_commit_interval_ms: int = int32(5000, "Interval between automatic commits.", low=0)
    auto_offset_reset: str = string(
        "latest", "Where to begin without a committed offset.", check=check_reset
    )
    check_crcs: bool = boolean(True, "Checksums of fetched batches are verified.")
    client_rack: str = string("", "Rack of the client, to read from the nearest replica.")
    default_api_timeout_ms: int = int32(60000, "Time for a call that names none.", low=0)
    enable_auto_commit: bool = boolean(True, "Positions are committed periodically.")
    exclude_internal_topics: bool = boolean(True, "Patterns do not match internal topics.")
    fetch_max_bytes: int = int32(52428800, "Largest response to a Fetch.", low=0)
    fetch_max_wait_ms: int = int32(500, "Longest wait of a Fetch for records.", low=0)
    fetch_min_bytes: int = int32(1, "Bytes of records for which a Fetch waits.", low=0)
    group_id: str | None = string(None, "Group of the consumer; unset: none.")
    group_instance_id: str | None = string(
        None, "Name of a static member of the group.", not_empty=True
    )
    group_protocol: str = string(
        "classic", "Protocol of the group.", choices=("CONSUMER", "CLASSIC"), any_case=True
    )
    group_remote_assignor: str | None = string(
        None, "Assignor of the broker; unset: the broker's choice."
    )
    heartbeat_interval_ms: int = int32(3000, "Interval between heartbeats (classic protocol).")
    interceptor_classes: tuple[str, ...] = string_list(
        (), "Interceptors: dotted names of classes, or objects."
    )
    isolation_level: str = string(
        "read_uncommitted",
        "Whether records of open and aborted transactions are read.",
        choices=("read_committed", "read_uncommitted"),
    )
    max_partition_fetch_bytes: int = int32(
        1048576, "Largest size of one partition in a response.", low=0
    )
    max_poll_interval_ms: int = int32(
        300000, "Longest time between two reads of the user's loop.", low=1
    )
    max_poll_records: int = int32(500, "Largest number of records of one read.", low=1)
    partition_assignment_strategy: tuple[str, ...] = string_list(
        (
            "class org.apache.kafka.clients.consumer.RangeAssignor",
            "class org.apache.kafka.clients.consumer.CooperativeStickyAssignor",
        ),
        "Assignors of the classic protocol, best first.",
    )
    session_timeout_ms: int = int32(
        45000, "Time without a heartbeat after which the member is removed (classic protocol)."
    )

    @property
    def reset(self) -> OffsetReset:
        """Where the consumer begins without a valid position."""
        return parse_reset(self.auto_offset_reset)

    @property
    def is_committed_only(self) -> bool:
        """True if records of open and aborted transactions are not read."""
        return self.isolation_level == "read_committed"

    @property
    def uses_consumer_protocol(self) -> bool:
        """True for groups of KIP-848."""
        return self.group_protocol.lower() == "consumer"

    @property
    def call_timeout_s(self) -> float:
        """Time for a call that names none."""
        return self.default_api_timeout_ms / 1000


def check_consumer(settings: ConsumerSettings) -> None:
    """Raise ConfigError for settings that contradict one another. Source: ConsumerConfig."""
    if (
        settings.group_id is None
        and settings.enable_auto_commit
        and "enable.auto.commit" in settings.written
    ):
        raise ConfigError("enable.auto.commit", "needs a group: set group.id, or switch it off")
