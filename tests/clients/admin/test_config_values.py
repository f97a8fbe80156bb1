"""Numbers of settings in messages."""

from trio_kafka.clients.admin.config_values import (
    ConfigResource,
    ConfigResourceType,
    ConfigSource,
    ConfigType,
    resource_type_of,
    source_of,
    type_of,
)


def test_number_that_is_not_known_here_is_unknown():
    assert (source_of(6), source_of(99)) == (
        ConfigSource.DYNAMIC_BROKER_LOGGER_CONFIG,
        ConfigSource.UNKNOWN,
    )
    assert (type_of(9), type_of(99)) == (ConfigType.PASSWORD, ConfigType.UNKNOWN)
    assert (resource_type_of(16), resource_type_of(99)) == (ConfigResourceType.CLIENT_METRICS, None)


def test_resource_is_shown_in_words():
    assert str(ConfigResource(ConfigResourceType.BROKER_LOGGER, "1")) == "broker logger 1"
    assert str(ConfigResource(ConfigResourceType.BROKER, "")) == "all brokers"
