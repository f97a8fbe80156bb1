"""Settings of groups: the broker's, overridden by those of a GROUP resource."""

from collections.abc import Mapping
from typing import Any, Final

from attrs import evolve

from trio_kafka.attributes import frozen
from trio_kafka.config.broker import BrokerConfig
from trio_kafka.config.dynamic import Layers
from trio_kafka.config.group import group_values
from trio_kafka.config.values import MAX_INT

_MINUTE_MS: Final = 60_000
_OVERRIDABLE: Final = (
    "consumer.session.timeout.ms",
    "consumer.heartbeat.interval.ms",
    "consumer.assignment.interval.ms",
)


@frozen(kw_only=True)
class GroupSettings:
    """Settings of one group, named like Kafka's without `group.`. Times in ms. Defaults are
    Kafka's.
    """

    protocols: tuple[str, ...] = ("classic", "consumer", "streams")
    # Offsets.
    offset_metadata_max_bytes: int = 4096
    offsets_commit_timeout_ms: int = 5000
    offsets_retention_ms: int = 10080 * _MINUTE_MS
    retention_check_interval_ms: int = 10 * _MINUTE_MS
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
    consumer_migration_policy: str = "bidirectional"
    consumer_regex_refresh_interval_ms: int = 600_000

    @property
    def offsets_commit_timeout_s(self) -> float:
        """Longest wait for a commit, in seconds."""
        return self.offsets_commit_timeout_ms / 1000


DEFAULT_GROUP_SETTINGS: Final = GroupSettings()


def group_settings(config: BrokerConfig) -> GroupSettings:
    """Return the broker's settings, for groups without settings of their own."""
    return GroupSettings(
        protocols=config.group_coordinator_rebalance_protocols,
        offset_metadata_max_bytes=config.offset_metadata_max_bytes,
        offsets_commit_timeout_ms=config.offsets_commit_timeout_ms,
        offsets_retention_ms=config.offsets_retention_minutes * _MINUTE_MS,
        retention_check_interval_ms=config.offsets_retention_check_interval_ms,
        initial_rebalance_delay_ms=config.group_initial_rebalance_delay_ms,
        min_session_timeout_ms=config.group_min_session_timeout_ms,
        max_session_timeout_ms=config.group_max_session_timeout_ms,
        max_size=config.group_max_size,
        consumer_assignors=config.group_consumer_assignors,
        consumer_session_timeout_ms=config.group_consumer_session_timeout_ms,
        consumer_heartbeat_interval_ms=config.group_consumer_heartbeat_interval_ms,
        consumer_assignment_interval_ms=config.group_consumer_assignment_interval_ms,
        consumer_max_size=config.group_consumer_max_size,
        consumer_migration_policy=config.group_consumer_migration_policy.lower(),
        consumer_regex_refresh_interval_ms=config.group_consumer_regex_refresh_interval_ms,
    )


def own_group_settings(
    config: BrokerConfig, common: GroupSettings, own: Mapping[str, str]
) -> GroupSettings:
    """Return the settings of a group with texts of its own, by name, over the `common` ones.

    An unreadable text counts as not set. A value outside the broker's bounds, which may have
    changed since, counts as the nearest bound.
    """
    values = group_values(own, Layers(config=config))
    overridden: dict[str, Any] = {name.replace(".", "_"): values[name] for name in _OVERRIDABLE}
    return evolve(common, **overridden)
