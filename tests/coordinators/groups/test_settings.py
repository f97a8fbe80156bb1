"""Settings of groups: the broker's, and those of a group over them."""

from trio_kafka.config.load import broker_config
from trio_kafka.coordinators.groups.settings import (
    DEFAULT_GROUP_SETTINGS,
    group_settings,
    own_group_settings,
)


def test_default_group_settings_equal_the_broker_defaults() -> None:
    assert group_settings(broker_config({})) == DEFAULT_GROUP_SETTINGS


def test_group_settings_are_read_from_the_broker_configuration() -> None:
    config = broker_config(
        {
            "offset.metadata.max.bytes": "10",
            "offsets.retention.minutes": "2",
            "offsets.retention.check.interval.ms": "3",
            "group.initial.rebalance.delay.ms": "4",
            "group.min.session.timeout.ms": "5",
            "group.max.session.timeout.ms": "6",
            "group.max.size": "7",
            "group.consumer.max.size": "8",
            "group.consumer.migration.policy": "Upgrade",
            "group.consumer.regex.refresh.interval.ms": "10000",
            "group.coordinator.rebalance.protocols": "classic",
        }
    )

    result = group_settings(config)

    assert (result.offset_metadata_max_bytes, result.offsets_retention_ms) == (10, 120_000)
    assert result.retention_check_interval_ms == 3
    assert result.initial_rebalance_delay_ms == 4
    assert (result.min_session_timeout_ms, result.max_session_timeout_ms) == (5, 6)
    assert (result.max_size, result.consumer_max_size) == (7, 8)
    assert result.consumer_migration_policy == "upgrade"
    assert result.consumer_regex_refresh_interval_ms == 10_000
    assert result.protocols == ("classic",)


def test_settings_of_a_group_override_broker_settings_within_broker_bounds() -> None:
    config = broker_config({"group.consumer.assignment.interval.ms": "77"})
    common = group_settings(config)
    own = {"consumer.session.timeout.ms": "50000", "consumer.heartbeat.interval.ms": "1"}

    result = own_group_settings(config, common, own)

    assert result.consumer_session_timeout_ms == 50_000
    assert result.consumer_heartbeat_interval_ms == 5000
    assert result.consumer_assignment_interval_ms == 77
