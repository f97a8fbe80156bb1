"""Settings of `audit`."""

import pytest

from trio_kafka.config.setting import ConfigError, settings_of
from trio_kafka_builtin.audit.settings import AuditSettings

SETTINGS = settings_of(AuditSettings)


def test_audit_settings_have_the_defaults_of_the_reference() -> None:
    settings = AuditSettings()

    assert settings.apis == ("admin",)
    assert settings.sample == 100
    assert settings.topic == "trio-audit"


@pytest.mark.parametrize(
    ("name", "text", "reason"),
    [
        ("sample", "0", "want"),
        ("topic", "__consumer_offsets", "internal"),
        ("queue", "many", "is not a whole number"),
    ],
)
def test_value_out_of_its_bounds_is_rejected_with_the_reason(
    name: str, text: str, reason: str
) -> None:
    with pytest.raises(ConfigError, match=reason):
        SETTINGS[name].parse(text)
