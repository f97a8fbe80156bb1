import pytest
from hypothesis import given
from hypothesis import strategies as st

from trio_kafka.config.broker import BrokerConfig
from trio_kafka.config.load import BROKER_SETTINGS, broker_config, load, options, overlaid
from trio_kafka.config.properties import parse_properties
from trio_kafka.config.setting import ConfigError, settings_of

SINGLE_NODE = """
process.roles=broker,controller
node.id=1
controller.quorum.bootstrap.servers=localhost:9093
listeners=PLAINTEXT://:9092,CONTROLLER://:9093
inter.broker.listener.name=PLAINTEXT
advertised.listeners=PLAINTEXT://localhost:9092,CONTROLLER://localhost:9093
controller.listener.names=CONTROLLER
listener.security.protocol.map=CONTROLLER:PLAINTEXT,PLAINTEXT:PLAINTEXT,SSL:SSL
num.network.threads=4
log.dirs=/var/lib/kafka
offsets.topic.replication.factor=1
share.coordinator.state.topic.replication.factor=1
transaction.state.log.replication.factor=1
transaction.state.log.min.isr=1
log.retention.hours=24
"""


def test_a_server_properties_file_of_a_single_kafka_node_is_accepted():
    loaded = load(parse_properties(SINGLE_NODE, "server.properties"))

    assert loaded.config.num_network_threads == 4
    assert [str(e) for e in loaded.config.endpoints.advertised] == ["PLAINTEXT://localhost:9092"]
    assert [warning.partition(" is not supported yet: ")[0] for warning in loaded.warnings] == [
        "server.properties:13: share.coordinator.state.topic.replication.factor",
    ]


def test_a_later_layer_overrides_an_earlier_layer():
    file = parse_properties("num.partitions=2\nnum.io.threads=3", "f")

    config = load(file, options(["num.partitions=5"])).config

    assert (config.num_partitions, config.num_io_threads) == (5, 3)
    assert config.texts["num.partitions"].where == "-c"
    assert config.texts["num.io.threads"].where == "f:2"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            "num.partition=1",
            "f:1: num.partition: no such setting: did you mean num.partitions?",
        ),
        ("log.dir.s=/a", "f:1: log.dir.s: no such setting: did you mean log.dirs?"),
        (
            "trio.log.fromat=json",
            "f:1: trio.log.fromat: no such setting: did you mean trio.log.format?",
        ),
        ("qqq=1", "f:1: qqq: no such setting"),
        ("plugin.mask=1", "f:1: plugin.mask: no such setting"),
        ("\nnum.partitions=0", "f:2: num.partitions: 0 is too small: want at least 1"),
        ("log.cleaner.threads=x", "f:1: log.cleaner.threads: 'x' is not a whole number"),
        (
            "listeners=SASL_SSL://:x",
            "f:1: listeners: 'SASL_SSL://:x' is not NAME://HOST:PORT",
        ),
        ("process.roles=broker,controller", "node.id: must be set, since process.roles is set"),
        (
            "process.roles=broker,controller\nbroker.id=4",
            "controller.listener.names: must be set, since process.roles is set",
        ),
        ("broker.id=-5", "node.id: -5 is too small: want at least 0"),
        (
            "authorizer.class.name=A",
            (
                "f:1: authorizer.class.name: 'A' is a Java class, which this broker cannot run:"
                " want org.apache.kafka.metadata.authorizer.StandardAuthorizer, plugin.<name>"
                " for the authorizer of a plugin, or nothing"
            ),
        ),
    ],
)
def test_a_load_error_names_the_file_line_setting_and_reason(text, message):
    with pytest.raises(ConfigError) as caught:
        load(parse_properties(text, "f"))

    assert str(caught.value) == message


@pytest.mark.parametrize("argument", ["num.partitions", "=5", " =5", ""])
def test_an_option_that_is_not_name_and_value_is_refused(argument):
    with pytest.raises(ConfigError, match=r"-c: .*is not NAME=VALUE"):
        options([argument])


def test_the_error_of_a_malformed_option_does_not_show_its_value():
    with pytest.raises(ConfigError) as caught:
        options(["ssl.key.password: hunter22"])

    assert str(caught.value) == "-c: ssl.key.password: is not NAME=VALUE"


def test_an_option_keeps_equals_signs_of_its_value():
    assert options(["plugin.a.b=x=y"])["plugin.a.b"].text == "x=y"


def test_each_setting_without_effect_gives_one_warning():
    loaded = load(options(["metric.reporters=A", "ssl.provider=A", "num.partitions=2"]))

    assert loaded.warnings == (
        "-c: metric.reporters does not apply here: it is about Java classes, which do not run here",
        "-c: ssl.provider does not apply here: it is about the Java runtime",
    )
    assert loaded.config.texts["ssl.provider"].text == "A"


def test_broker_id_sets_the_node_id():
    config = broker_config({"broker.id": "7"})

    assert config.node_id == 7


def test_dynamic_settings_override_the_loaded_configuration_and_are_checked():
    config = broker_config({"log.retention.ms": "5"})

    changed = overlaid(config, {"log.retention.ms": "9", "log.cleaner.threads": "3"})

    assert (config.log_retention_ms, changed.log_retention_ms) == (5, 9)
    assert changed.texts == config.texts
    with pytest.raises(ConfigError, match=r"log.roll.ms: 0 is too small"):
        overlaid(config, {"log.roll.ms": "0"})
    with pytest.raises(
        ConfigError, match=r"num.io.thread: no such setting: did you mean num.io.threads"
    ):
        overlaid(config, {"num.io.thread": "1"})


# What is refused without another setting, or for another's sake.
ALONE_REFUSED = {"node.id", "log.roll.hours", "max.connections.per.ip", "log.cleaner.threads"}


@given(st.data())
def test_any_value_within_bounds_is_stored_in_the_field_of_its_setting(data):
    numbers = {
        name: s
        for name, s in BROKER_SETTINGS.items()
        if s.low is not None and s.unit is None and name not in ALONE_REFUSED
    }
    name = data.draw(st.sampled_from(sorted(numbers)))
    low, high = numbers[name].low, numbers[name].high
    value = data.draw(st.integers(low, 2**15 - 1 if high is None else high)) if high != 1 else 0.25

    config = broker_config({name: str(value)})

    assert getattr(config, settings_of(BrokerConfig)[name].field) == value
