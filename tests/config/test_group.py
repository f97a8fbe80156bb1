"""Settings of groups: those of Kafka, over the broker's, within the broker's bounds."""

import json
from pathlib import Path

import pytest

from trio_kafka.config.dynamic import Layers
from trio_kafka.config.group import (
    group_settings,
    group_values,
    validate_group_configs,
)
from trio_kafka.config.load import broker_config
from trio_kafka.config.setting import Update
from trio_kafka.errors import ErrorCode, KafkaError

FACTS = json.loads((Path(__file__).parent / "data" / "kafka-4.4-configs.json").read_text())
GROUP = {row["name"]: row for row in FACTS["group"]}
SESSION, HEARTBEAT = "consumer.session.timeout.ms", "consumer.heartbeat.interval.ms"


def layers(**settings: str) -> Layers:
    texts = {name.replace("_", "."): text for name, text in settings.items()}
    return Layers(config=broker_config(texts))


def test_group_settings_are_exactly_the_group_settings_of_kafka() -> None:
    assert sorted(group_settings()) == sorted(GROUP)


@pytest.mark.parametrize("name", sorted(GROUP))
def test_each_group_setting_has_the_type_default_and_bounds_of_kafka(name: str) -> None:
    setting, fact = group_settings()[name], GROUP[name]

    assert setting.kind.name.lower() == fact["type"]
    assert setting.show(setting.default) == fact["default"]
    assert setting.internal == fact.get("internal", False)
    assert (setting.update, setting.high, setting.synonyms) == (Update.READ_ONLY, None, ())
    assert [server_name for server_name, _ in setting.server] == (
        [fact["server"]] if "server" in fact else []
    )
    if setting.low is not None:
        assert fact["valid"] == f"[{setting.low},...]"
    assert setting.doc.endswith(".")


def test_settings_missing_in_a_group_come_from_the_broker() -> None:
    broker = layers(group_consumer_session_timeout_ms="50000")

    values = group_values({HEARTBEAT: "6000"}, broker)

    assert (values[SESSION], values[HEARTBEAT]) == (50000, 6000)
    assert values["share.session.timeout.ms"] == 45000


def test_a_group_value_outside_of_the_broker_bounds_becomes_the_nearest_bound() -> None:
    configs = {SESSION: "70000", HEARTBEAT: "10"}

    values = group_values(configs, layers())

    assert (values[SESSION], values[HEARTBEAT]) == (60000, 5000)


def test_an_invalid_group_value_is_ignored() -> None:
    assert group_values({SESSION: "x", "no.such": "1"}, layers())[SESSION] == 45000


@pytest.mark.parametrize(
    ("configs", "reason"),
    [
        ({"no.such": "1"}, "no.such: is not a group setting"),
        ({SESSION: "44999"}, "greater than or equal to group.consumer.min.session.timeout.ms"),
        ({SESSION: "60001"}, "less than or equal to group.consumer.max.session.timeout.ms"),
        ({HEARTBEAT: "15001"}, "group.consumer.max.heartbeat.interval.ms: 15000"),
        ({"share.delivery.count.limit": "11"}, "group.share.max.delivery.count.limit"),
        ({"streams.num.standby.replicas": "3"}, "group.streams.max.standby.replicas"),
        ({"share.auto.offset.reset": "soon"}, "not one of latest"),
    ],
)
def test_unknown_or_out_of_bounds_group_settings_are_refused(
    configs: dict[str, str], reason: str
) -> None:
    with pytest.raises(KafkaError, match=reason) as error:
        validate_group_configs(configs, layers())

    assert error.value.code is ErrorCode.INVALID_CONFIG


def test_a_heartbeat_interval_not_below_the_session_timeout_is_refused() -> None:
    broker = layers(
        group_consumer_min_session_timeout_ms="5000",
        group_consumer_session_timeout_ms="6000",
    )

    validate_group_configs({HEARTBEAT: "5999"}, broker)
    with pytest.raises(KafkaError, match="must be greater than consumer"):
        validate_group_configs({HEARTBEAT: "6000"}, broker)
