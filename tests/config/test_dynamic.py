import json
from contextlib import suppress
from pathlib import Path

import pytest
from hypothesis import given, reject
from hypothesis import strategies as st

from tests.lanes import together
from trio_kafka.config.catalogue import every_setting
from trio_kafka.config.dynamic import (
    MOST_AT_RUN_TIME,
    Layers,
    Source,
    Synonym,
    broker_synonyms,
    check_dynamic,
    topic_synonyms,
    update_of,
    value_of,
)
from trio_kafka.config.load import broker_config
from trio_kafka.config.setting import ConfigError, Update
from trio_kafka.config.values import Kind

FACTS = json.loads((Path(__file__).parent / "data" / "kafka-4.4-configs.json").read_text())
OWN, COMMON, WRITTEN = Source.DYNAMIC_BROKER, Source.DYNAMIC_DEFAULT_BROKER, Source.STATIC_BROKER


def layers(file_settings=None, **dynamic):
    return Layers(config=broker_config(file_settings), **dynamic)


@together(FACTS["broker"] + FACTS["brokerDynamicOnly"], lambda fact: fact["name"])
def test_the_update_mode_of_each_setting_is_that_of_kafka(fact):
    assert update_of(fact["name"]).value == fact["update"]


def test_a_setting_with_a_listener_prefix_is_per_broker():
    assert update_of("listener.name.a.ssl.key.password") is Update.PER_BROKER
    assert update_of("listener.name.a.plain.sasl.jaas.config") is Update.PER_BROKER
    assert update_of("listener.name.a.num.io.threads") is Update.PER_BROKER


@pytest.mark.parametrize(
    "name", ["num.network.threads", "max.connections", "max.connection.creation.rate"]
)
def test_processor_and_connection_settings_with_a_listener_prefix_are_cluster_wide(name):
    assert update_of(f"listener.name.a.{name}") is Update.CLUSTER_WIDE


def test_a_listener_prefix_does_not_make_a_read_only_setting_changeable():
    assert update_of("listener.name.a.queued.max.requests") is Update.READ_ONLY
    assert update_of("listener.name.a.nothing") is None
    assert update_of("nothing") is None


@pytest.mark.parametrize(
    ("file_settings", "common", "own", "value"),
    [
        ({}, {}, {}, 1048588),
        ({"message.max.bytes": "1"}, {}, {}, 1),
        ({"message.max.bytes": "1"}, {"message.max.bytes": "2"}, {}, 2),
        ({"message.max.bytes": "1"}, {"message.max.bytes": "2"}, {"message.max.bytes": "3"}, 3),
        ({"message.max.bytes": "1"}, {}, {"message.max.bytes": "3"}, 3),
    ],
)
def test_the_value_comes_from_the_layer_of_highest_precedence(file_settings, common, own, value):
    all_layers = layers(file_settings, dynamic_default=common, dynamic=own)

    assert value_of("message.max.bytes", all_layers) == value
    assert all_layers.effective().message_max_bytes == value


def test_value_of_returns_values_of_settings_without_effect():
    all_layers = layers({"log.cleaner.threads": "2"}, dynamic={"max.connections": "5"})

    assert value_of("log.cleaner.threads", all_layers) == 2
    assert value_of("max.connections", all_layers) == 5
    assert value_of("log.cleaner.backoff.ms", all_layers) == 15000
    assert value_of("listener.name.a.max.connections", all_layers) is None
    with pytest.raises(ConfigError, match="no such setting"):
        value_of("nothing", all_layers)


def test_synonyms_are_ordered_by_source_before_name():
    all_layers = layers(
        {"log.retention.hours": "2", "log.retention.minutes": "7"},
        dynamic_default={"log.retention.ms": "9"},
    )

    assert broker_synonyms("log.retention.ms", all_layers) == (
        Synonym(name="log.retention.ms", value="9", source=COMMON),
        Synonym(name="log.retention.minutes", value="7", source=WRITTEN),
        Synonym(name="log.retention.hours", value="2", source=WRITTEN),
        Synonym(name="log.retention.hours", value="168", source=Source.DEFAULT),
    )


def test_synonyms_before_the_own_name_of_a_setting_are_left_out():
    all_layers = layers({"log.retention.hours": "2", "log.retention.minutes": "7"})

    assert broker_synonyms("log.retention.ms", all_layers) == ()
    assert broker_synonyms("log.retention.hours", all_layers) == (
        Synonym(name="log.retention.hours", value="2", source=WRITTEN),
        Synonym(name="log.retention.hours", value="168", source=Source.DEFAULT),
    )


def test_the_general_setting_follows_the_listener_setting_in_synonyms():
    all_layers = layers(
        {"ssl.keystore.type": "PEM"},
        dynamic={"listener.name.a.ssl.keystore.type": "PKCS12"},
    )

    assert broker_synonyms("listener.name.a.ssl.keystore.type", all_layers) == (
        Synonym(name="listener.name.a.ssl.keystore.type", value="PKCS12", source=OWN),
        Synonym(name="ssl.keystore.type", value="PEM", source=WRITTEN),
        Synonym(name="ssl.keystore.type", value="JKS", source=Source.DEFAULT),
    )
    assert [synonym.value for synonym in broker_synonyms("ssl.keystore.type", all_layers)] == [
        "PEM",
        "JKS",
    ]


def test_synonyms_do_not_contain_secrets():
    name = "listener.name.a.ssl.key.password"
    all_layers = layers({"ssl.key.password": "hidden"}, dynamic={name: "hidden"})

    assert broker_synonyms(name, all_layers) == (
        Synonym(name=name, value=None, source=OWN),
        Synonym(name="ssl.key.password", value=None, source=WRITTEN),
    )


@pytest.mark.parametrize(
    ("file_settings", "value"),
    [
        ({"log.retention.hours": "1"}, 3_600_000),
        ({"log.retention.hours": "1", "log.retention.minutes": "1"}, 60_000),
        (
            {
                "log.retention.hours": "1",
                "log.retention.minutes": "1",
                "log.retention.ms": "1",
            },
            1,
        ),
    ],
)
def test_the_topic_retention_default_comes_from_the_finest_unit_that_is_set(file_settings, value):
    from trio_kafka.config.topic import topic_config

    assert topic_config({}, layers(file_settings).effective()).retention_ms == value


def test_the_own_value_of_a_topic_precedes_broker_synonyms():
    all_layers = layers({"log.retention.ms": "5", "log.retention.minutes": "1"})

    assert topic_synonyms("retention.ms", {"retention.ms": " 7 "}, all_layers) == (
        Synonym(name="retention.ms", value="7", source=Source.TOPIC),
        Synonym(name="log.retention.ms", value="5", source=WRITTEN),
        Synonym(name="log.retention.minutes", value="1", source=WRITTEN),
        Synonym(name="log.retention.hours", value="168", source=Source.DEFAULT),
    )
    assert topic_synonyms("retention.ms", {}, all_layers)[0].source is WRITTEN
    assert topic_synonyms("remote.storage.enable", {}, all_layers) == ()


def test_invalid_dynamic_values_are_left_out_and_the_others_are_used():
    all_layers = layers(
        dynamic={"message.max.bytes": "7", "of.another.release": "x"},
        dynamic_default={"num.io.threads": "none", "log.roll.ms": "8"},
    )

    usable, refused = all_layers.usable()

    assert (usable.dynamic, usable.dynamic_default) == (
        {"message.max.bytes": "7"},
        {"log.roll.ms": "8"},
    )
    assert [error.name for error in refused] == ["of.another.release", "num.io.threads"]
    assert usable.effective().message_max_bytes == 7
    with pytest.raises(ConfigError):
        all_layers.effective()


NUMBERS = sorted(
    name
    for name, setting in every_setting().items()
    if setting.kind in (Kind.INT, Kind.LONG) and setting.update is not Update.READ_ONLY
)


@given(st.data())
def test_value_first_synonym_and_configuration_agree_for_any_layers(data):
    name = data.draw(st.sampled_from(NUMBERS))
    setting = every_setting()[name]
    low = 2**20 if setting.low is None else int(setting.low)
    values = st.integers(low, int(setting.high or low + 1000)).map(str)
    places = [
        data.draw(st.dictionaries(st.just(name), values, max_size=1), label=where)
        for where in ("written", "common", "own")
    ]
    written, common, own = places

    try:
        all_layers = layers(written, dynamic_default=common, dynamic=own)
    except ConfigError:  # what is written down contradicts a default
        reject()

    value = value_of(name, all_layers)
    synonyms = broker_synonyms(name, all_layers)
    nearest = next((place[name] for place in reversed(places) if name in place), None)
    if nearest is None:
        assert value == setting.default
    else:
        assert str(value) == nearest == synonyms[0].value
    # The configuration is refused as a whole where settings contradict each other.
    with suppress(ConfigError):
        assert getattr(all_layers.effective(), setting.field, value) == value


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("trio.request.log.file", "/etc/passwd"),
        ("trio.request.log.topic", "__consumer_offsets"),
        ("num.partitions", "5"),
        ("config.providers", "file"),
        ("listener.name.a.config.providers", "file"),
        ("config.providers.file.class", "x"),
        ("plugin.http.listeners", "http://0.0.0.0:80"),
        ("ssl.keystore.location", "/etc/passwd"),
        *((name, str(most + 1)) for name, most in MOST_AT_RUN_TIME.items()),
        ("listener.name.a.num.network.threads", str(MOST_AT_RUN_TIME["num.network.threads"] + 1)),
    ],
)
def test_a_stored_value_that_no_client_could_set_is_ignored(name, text):
    all_layers = layers(
        dynamic={name: text, "message.max.bytes": "7"}, dynamic_default={name: text}
    )

    usable, refused = all_layers.usable()

    assert (usable.dynamic, usable.dynamic_default) == ({"message.max.bytes": "7"}, {})
    assert [error.name for error in refused] == [name, name]


def test_a_per_broker_setting_stored_for_all_brokers_is_ignored():
    usable, refused = layers(dynamic_default={"listeners": "PLAINTEXT://h:1"}).usable()

    assert usable.dynamic_default == {}
    assert [error.name for error in refused] == ["listeners"]


@pytest.mark.parametrize("name", sorted(MOST_AT_RUN_TIME))
def test_a_pool_size_above_the_dynamic_bound_is_allowed_only_at_the_start(name):
    most = str(MOST_AT_RUN_TIME[name])

    assert layers(dynamic={name: most}).usable()[1] == ()
    assert value_of(name, layers({name: f"{most}0"})) == int(f"{most}0")


def test_a_provider_variable_in_a_dynamic_value_is_not_resolved():
    name, text = "listener.name.a.ssl.keystore.location", "${env:HOME}"
    all_layers = layers({"config.providers": ""}, dynamic={name: text})

    assert value_of(name, all_layers) == text
    assert broker_synonyms(name, all_layers)[0].value == text
    assert all_layers.effective().changed == {name: text}


@pytest.mark.parametrize(
    "name", ["principal.builder.class", "listener.name.a.ssl.engine.factory.class"]
)
def test_a_java_class_that_must_not_be_ignored_cannot_be_set_while_the_broker_runs(name):
    with pytest.raises(ConfigError, match="names a Java class"):
        check_dynamic(name, "org.example.A", per_broker=True)
