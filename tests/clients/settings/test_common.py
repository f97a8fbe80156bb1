"""Settings of all clients, held to Kafka's own names."""

from tests.clients.settings.facts import names_of
from trio_kafka.clients.settings.common import ClientSettings
from trio_kafka.config.setting import declared_settings


def test_common_settings_are_settings_of_each_client_of_kafka():
    common = declared_settings(ClientSettings).keys()

    assert common <= names_of("producer") & names_of("consumer") & names_of("admin")


def test_pauses_of_settings_are_in_seconds():
    settings = ClientSettings(bootstrap_servers=("a:1",))

    assert settings.reconnect_backoff.first_s == 0.05
    assert settings.reconnect_backoff.longest_s == 1.0
    assert settings.retry_backoff.first_s == 0.1
    assert settings.retry_backoff.longest_s == 1.0
    assert settings.request_timeout_s == 30.0
