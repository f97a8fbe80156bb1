"""Settings of the admin client, held to Kafka's."""

from tests.clients.settings.facts import differences, undeclared
from trio_kafka.clients.settings.admin import AdminSettings
from trio_kafka.clients.settings.load import admin_settings


def test_each_admin_setting_has_the_type_default_and_bounds_of_kafka():
    assert differences(AdminSettings, "admin") == {}


def test_each_admin_setting_of_kafka_is_declared_or_listed_as_without_effect():
    assert undeclared(AdminSettings, "admin") == set()


def test_time_of_a_call_is_in_seconds():
    settings = admin_settings({"bootstrap.servers": "a:1", "default.api.timeout.ms": "1500"})

    assert settings.default_api_timeout_s == 1.5
