"""Settings of `mask`."""

import pytest

from trio_kafka.config.setting import ConfigError, settings_of
from trio_kafka_builtin.mask.settings import MaskSettings

SETTINGS = settings_of(MaskSettings)


def test_mask_settings_have_the_defaults_of_the_reference() -> None:
    settings = MaskSettings()

    assert settings.rules == ""
    assert settings.salt is None
    assert settings.unreadable == "drop"


@pytest.mark.parametrize(
    ("name", "text", "reason"),
    [
        ("rules", "people: ssn=hide", "redact, hash or last"),
        ("unreadable", "keep", "is not one of pass, drop, error"),
        ("max.value.bytes", "0", "want"),
    ],
)
def test_value_out_of_its_bounds_is_rejected_with_the_reason(
    name: str, text: str, reason: str
) -> None:
    with pytest.raises(ConfigError, match=reason):
        SETTINGS[name].parse(text)
