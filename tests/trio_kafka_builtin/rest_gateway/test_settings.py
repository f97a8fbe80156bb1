"""Settings of `rest_gateway`."""

import pytest

from trio_kafka.config.setting import ConfigError, settings_of
from trio_kafka_builtin.rest_gateway.settings import GatewaySettings

SETTINGS = settings_of(GatewaySettings)


def test_rest_gateway_settings_have_the_defaults_of_the_reference() -> None:
    settings = GatewaySettings()

    assert settings.path == "/v1"
    assert settings.principal == ""
    assert settings.max_requests == 256


@pytest.mark.parametrize(
    ("name", "text", "reason"),
    [
        ("max.body.bytes", "0", "want"),
        ("timeout.ms", "0", "want"),
    ],
)
def test_value_out_of_its_bounds_is_rejected_with_the_reason(
    name: str, text: str, reason: str
) -> None:
    with pytest.raises(ConfigError, match=reason):
        SETTINGS[name].parse(text)
