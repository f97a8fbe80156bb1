import pytest

from trio_kafka.config.load import broker_config
from trio_kafka.config.own import OwnSettings
from trio_kafka.config.setting import ConfigError, settings_of
from trio_kafka.introspect.log import FORMATS, LEVELS


def test_every_setting_of_ours_begins_with_trio_and_has_a_default():
    for name, setting in settings_of(OwnSettings).items():
        assert name.startswith("trio.") or name == "control.plane.listener.name"
        assert setting.doc
        shown = setting.show(setting.default)
        assert setting.default is None or setting.parse(shown) == setting.default


@pytest.mark.parametrize(
    ("name", "values"),
    [
        ("trio.log.format", FORMATS),
        ("trio.log.level", LEVELS),
        ("trio.record.validation", ("header", "full")),
    ],
)
def test_only_values_that_have_a_meaning_are_taken(name, values):
    for value in values:
        assert getattr(broker_config({name: value}), name.replace(".", "_")) == value
    with pytest.raises(ConfigError, match=f"{name}: 'other' is none of {', '.join(values)}"):
        broker_config({name: "other"})
