import pytest
from hypothesis import given
from hypothesis import strategies as st

from trio_kafka.config.catalogue import every_setting
from trio_kafka.config.setting import ConfigError
from trio_kafka.config.sources.environment import environment, name_of


@pytest.mark.parametrize(
    ("variable", "name"),
    [
        ("KAFKA_NUM_PARTITIONS", "num.partitions"),
        ("KAFKA_A__B", "a_b"),
        ("KAFKA_A___B", "a-b"),
        ("KAFKA_A____B", "a-.b"),
        ("KAFKA_PLUGIN_MY___MASK_SOME__KEY", "plugin.my-mask.some_key"),
        ("KAFKA_KAFKA_METRICS_REPORTERS", "kafka.metrics.reporters"),
    ],
)
def test_one_two_or_three_underscores_mean_a_dot_an_underscore_or_a_hyphen(variable, name):
    assert name_of(variable) == name


@given(st.sampled_from(sorted(every_setting())), st.text(max_size=5))
def test_each_setting_is_read_from_its_environment_variable(name, text):
    variable = "KAFKA_" + name.upper().replace(".", "_")

    settings, warnings = environment({variable: text})

    assert settings[name].text == text
    assert settings[name].where == f"environment {variable}"
    assert warnings == ()


def test_variables_with_listener_plugin_and_provider_prefixes_are_settings():
    settings, _ = environment(
        {
            "KAFKA_LISTENER_NAME_INSIDE_SSL_KEY_PASSWORD": "1",
            "KAFKA_PLUGIN_MASK_KEY": "2",
            "KAFKA_CONFIG_PROVIDERS_FILE_PARAM_ALLOWED_PATHS": "3",
            "KAFKA_RSM_CONFIG_ANY": "4",
        }
    )

    assert {name: value.text for name, value in settings.items()} == {
        "listener.name.inside.ssl.key.password": "1",
        "plugin.mask.key": "2",
        "config.providers.file.param.allowed.paths": "3",
        "rsm.config.any": "4",
    }


def test_variables_of_kafka_scripts_and_other_programs_are_ignored():
    variables = {"KAFKA_HEAP_OPTS": "-Xmx1G", "KAFKA_HOME": "/opt", "KAFK_NUM_PARTITIONS": "x"}

    assert environment({**variables, "kafka_num_partitions": "x", "PATH": "x"}) == ({}, ())


def test_a_misspelled_variable_is_refused_and_an_unknown_variable_is_a_warning():
    settings, warnings = environment({"KAFKA_BOOTSTRAP_SERVERS": "secret:1"})

    assert settings == {}
    assert warnings == (
        "environment KAFKA_BOOTSTRAP_SERVERS: bootstrap.servers is not a setting, and is ignored",
    )
    with pytest.raises(ConfigError) as caught:
        environment({"KAFKA_NUM_PARTITION": "5"})
    assert str(caught.value) == (
        "environment KAFKA_NUM_PARTITION: num.partition: no such setting:"
        " did you mean num.partitions?"
    )


@pytest.mark.parametrize("variable", ["KAFKA_ZOOKEEPER_CONNECT", "KAFKA_ADVERTISED_HOST_NAME"])
def test_variables_of_settings_removed_from_kafka_are_refused(variable):
    with pytest.raises(ConfigError, match="Kafka 4 removed this setting"):
        environment({variable: "x"})


def test_variables_set_by_an_orchestrator_are_ignored_with_warnings():
    variables = {
        "KAFKA_PORT": "tcp://10.0.0.1:9092",
        "KAFKA_PORT_9092_TCP_ADDR": "10.0.0.1",
        "KAFKA_SERVICE_HOST": "10.0.0.1",
        "KAFKA_SERVICE_PORT_PLAINTEXT": "9092",
    }

    settings, warnings = environment(variables)

    assert (settings, len(warnings)) == ({}, 4)
