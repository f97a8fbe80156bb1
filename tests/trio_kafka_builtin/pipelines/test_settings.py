"""Settings of `pipelines`."""

import pytest

from trio_kafka.config.setting import ConfigError, settings_of
from trio_kafka_builtin.pipelines.settings import PipelineSettings

SETTINGS = settings_of(PipelineSettings)


def test_pipelines_settings_have_the_defaults_of_the_reference() -> None:
    settings = PipelineSettings()

    assert settings.directory is None
    assert settings.path == "/pipelines"
    assert settings.log_lines == 200


@pytest.mark.parametrize(
    ("name", "text", "reason"),
    [
        ("log.lines", "1001", "want"),
        ("log.bytes", "1", "want"),
    ],
)
def test_value_out_of_its_bounds_is_rejected_with_the_reason(
    name: str, text: str, reason: str
) -> None:
    with pytest.raises(ConfigError, match=reason):
        SETTINGS[name].parse(text)
