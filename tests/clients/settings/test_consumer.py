"""Settings of the consumer, held to Kafka's, and rules between them."""

import pytest

from tests.clients.settings.facts import differences, undeclared
from trio_kafka.clients.settings.consumer import ConsumerSettings
from trio_kafka.clients.settings.load import consumer_settings
from trio_kafka.config.setting import ConfigError

AT = {"bootstrap.servers": "a:1"}


def test_each_consumer_setting_has_the_type_default_and_bounds_of_kafka():
    assert differences(ConsumerSettings, "consumer") == {}


def test_each_consumer_setting_of_kafka_is_declared_or_listed_as_without_effect():
    assert undeclared(ConsumerSettings, "consumer") == set()


@pytest.mark.parametrize("text", ["earliest", "Latest", "none", "by_duration:PT5M"])
def test_reset_may_be_a_place_or_a_duration(text):
    assert consumer_settings({**AT, "auto.offset.reset": text}).auto_offset_reset == text


def test_unknown_reset_is_an_error():
    with pytest.raises(ConfigError, match="'newest' is not one of latest, earliest, none"):
        consumer_settings({**AT, "auto.offset.reset": "newest"})


def test_automatic_commits_need_a_group():
    with pytest.raises(ConfigError, match=r"enable\.auto\.commit: needs a group"):
        consumer_settings({**AT, "enable.auto.commit": True})
