"""What groups obey: the broker's settings, with those of the GROUP resource over them."""

from attrs import field, frozen

from trio_kafka.config.values import MAX_INT

MINUTE_MS = 60_000


def _lower(text: str) -> str:
    return text.lower()


@frozen(kw_only=True)
class GroupSettings:
    """As one group has them; names are those of Kafka's settings without `group.`. Times in ms.

    Defaults are Kafka's.
    """

    # Offsets.
    offset_metadata_max_bytes: int = 4096
    offsets_retention_ms: int = 10080 * MINUTE_MS
    retention_check_interval_ms: int = 10 * MINUTE_MS
    # Classic groups.
    initial_rebalance_delay_ms: int = 3000
    min_session_timeout_ms: int = 6000
    max_session_timeout_ms: int = 1_800_000
    max_size: int = MAX_INT
    # Consumer groups.
    consumer_assignors: tuple[str, ...] = ("uniform", "range")
    consumer_session_timeout_ms: int = 45_000
    consumer_heartbeat_interval_ms: int = 5000
    consumer_assignment_interval_ms: int = 1000
    consumer_max_size: int = MAX_INT
    consumer_migration_policy: str = field(default="bidirectional", converter=_lower)
    consumer_regex_refresh_interval_ms: int = 600_000


DEFAULT_GROUP_SETTINGS = GroupSettings()
