"""The list of settings without effect."""

from tests.clients.settings.facts import names_of
from trio_kafka.clients.settings.common import ClientSettings
from trio_kafka.clients.settings.consumer import ConsumerSettings
from trio_kafka.clients.settings.producer import ProducerSettings
from trio_kafka.clients.settings.without_effect import WITHOUT_EFFECT
from trio_kafka.config.setting import declared_settings


def test_each_listed_name_is_a_setting_of_a_client_of_kafka():
    kafka = names_of("producer") | names_of("consumer") | names_of("admin")

    assert WITHOUT_EFFECT.keys() <= kafka


def test_no_listed_name_is_a_field_but_the_rack_of_consumers():
    for cls in (ClientSettings, ProducerSettings):
        assert not WITHOUT_EFFECT.keys() & declared_settings(cls).keys()
    assert WITHOUT_EFFECT.keys() & declared_settings(ConsumerSettings).keys() == {"client.rack"}
