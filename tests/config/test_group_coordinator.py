"""Settings of groups: read from texts, with the fields that their names say."""

import pytest

from trio_kafka.config.load import broker_config
from trio_kafka.config.setting import ConfigError


def test_they_are_settings_of_the_broker() -> None:
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
def test_what_is_out_of_bounds_is_refused(name: str, text: str) -> None:
    with pytest.raises(ConfigError, match=name.replace(".", r"\.")):
        broker_config({name: text})
