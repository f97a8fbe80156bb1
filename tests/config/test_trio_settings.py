import pytest

from trio_kafka.config.load import broker_config
from trio_kafka.config.setting import ConfigError, settings_of
from trio_kafka.config.tls import TlsBrokerSettings
from trio_kafka.config.trio_settings import MOST_FILTERS, VALIDATIONS, TrioSettings
from trio_kafka.introspect.log import FORMATS, LEVELS


def test_every_trio_kafka_setting_has_the_trio_prefix_and_a_valid_default():
    tls = settings_of(TlsBrokerSettings)
    for name, setting in settings_of(TrioSettings).items():
        if name in tls:
            continue
        assert name.startswith("trio.") or name == "control.plane.listener.name"
        assert setting.doc
        shown = setting.show(setting.default)
        assert setting.default is None or setting.parse(shown) == setting.default


@pytest.mark.parametrize(
    ("name", "values"),
    [
        ("trio.log.format", FORMATS),
        ("trio.log.level", LEVELS),
        ("trio.record.validation", VALIDATIONS),
    ],
)
def test_trio_settings_with_choices_refuse_other_values(name, values):
    for value in values:
        assert getattr(broker_config({name: value}), name.replace(".", "_")) == value
    with pytest.raises(ConfigError, match=f"{name}: 'other' is not one of {', '.join(values)}"):
        broker_config({name: "other"})


@pytest.mark.parametrize(
    "topic",
    ["__consumer_offsets", "__transaction_state", "__cluster_metadata", "a/b", "", ".", "x\ny"],
)
def test_the_request_log_topic_must_be_a_valid_and_not_internal_name(topic):
    with pytest.raises(ConfigError, match=r"trio\.request\.log\.topic"):
        broker_config({"trio.request.log.topic": topic})


def test_request_log_filters_above_the_maximum_number_of_items_are_refused():
    for name in ("trio.request.log.apis", "trio.request.log.clients"):
        most = ",".join(map(str, range(MOST_FILTERS)))
        assert broker_config({name: most})
        with pytest.raises(ConfigError, match=f"{name}: {MOST_FILTERS + 1} items"):
            broker_config({name: f"{most},more"})
