"""Settings of `faults`."""

import pytest

from trio_kafka.config.setting import ConfigError, settings_of
from trio_kafka_builtin.faults.settings import FaultSettings

SETTINGS = settings_of(FaultSettings)


def test_faults_settings_have_the_defaults_of_the_reference() -> None:
    settings = FaultSettings()

    assert settings.path == "/testing/v1"
    assert settings.token_required
    assert settings.most == 100


@pytest.mark.parametrize(
    ("name", "text", "reason"),
    [
        ("most", "1001", "want"),
        ("most.requests", "0", "want"),
    ],
)
def test_value_out_of_its_bounds_is_rejected_with_the_reason(
    name: str, text: str, reason: str
) -> None:
    with pytest.raises(ConfigError, match=reason):
        SETTINGS[name].parse(text)
