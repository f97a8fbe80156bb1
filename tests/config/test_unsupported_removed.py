import json
from pathlib import Path

import pytest

from trio_kafka.config.catalogue import every_setting, unknown
from trio_kafka.config.unsupported import deprecated_settings, replacement_of

FACTS = json.loads((Path(__file__).parent / "data" / "kafka-4.4-configs.json").read_text())
NAMES = {fact["name"] for fact in FACTS["broker"]}


def test_removed_settings_are_not_among_current_settings():
    assert [name for name in NAMES if replacement_of(name)] == []
    assert [name for name in every_setting() if replacement_of(name)] == []


def test_deprecated_settings_are_still_settings_of_kafka():
    assert deprecated_settings().keys() <= NAMES


@pytest.mark.parametrize(
    ("name", "message"),
    [
        (
            "zookeeper.connect",
            "Kafka 4 removed this setting: ZooKeeper mode is not supported: leave it out",
        ),
        ("port", "Kafka 4 removed this setting: use listeners and advertised.listeners"),
        ("inter.broker.protocol.version", None),
    ],
)
def test_the_message_of_a_removed_setting_names_its_replacement(name, message):
    assert unknown(name) == (message or f"Kafka 4 removed this setting: {replacement_of(name)}")


def test_the_message_of_a_topic_setting_names_the_broker_setting():
    assert unknown("retention.ms") == "is a topic setting: use log.retention.ms for a broker"
    assert unknown("remote.storage.enable") == "is a topic setting"
