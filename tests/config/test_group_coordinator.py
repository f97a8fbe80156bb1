"""Settings of groups: read from texts, with the fields that their names say."""

import pytest

from trio_kafka.config.load import broker_config
from trio_kafka.config.setting import ConfigError


def test_group_coordinator_settings_are_fields_of_the_broker_configuration() -> None:
    config = broker_config(
        {"group.consumer.assignors": "range", "offsets.topic.num.partitions": "3"}
    )

    assert config.group_consumer_assignors == ("range",)
    assert config.offsets_topic_num_partitions == 3
    assert config.group_coordinator_rebalance_protocols == ("classic", "consumer", "streams")


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("group.max.size", "0"),
        ("group.consumer.migration.policy", "any"),
        ("group.coordinator.rebalance.protocols", "classic,other"),
        ("offsets.retention.minutes", "0"),
    ],
)
def test_group_coordinator_settings_out_of_bounds_are_refused(name: str, text: str) -> None:
    with pytest.raises(ConfigError, match=name.replace(".", r"\.")):
        broker_config({name: text})
