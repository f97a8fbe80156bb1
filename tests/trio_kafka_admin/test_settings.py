"""Settings of the admin UI."""

import pytest

from trio_kafka.config.setting import ConfigError, settings_of
from trio_kafka_admin.settings import AdminSettings

SETTINGS = settings_of(AdminSettings)


def test_admin_settings_have_their_documented_defaults() -> None:
    settings = AdminSettings()

    assert settings.path == "/admin"
    assert settings.refresh_ms == 2000
    assert settings.max_rows == 500


@pytest.mark.parametrize(
    ("name", "text", "reason"),
    [
        ("refresh.ms", "-1", "want"),
        ("max.rows", "5001", "want"),
        ("max.requests", "1", "want"),
    ],
)
def test_value_out_of_its_bounds_is_rejected_with_the_reason(
    name: str, text: str, reason: str
) -> None:
    with pytest.raises(ConfigError, match=reason):
        SETTINGS[name].parse(text)
