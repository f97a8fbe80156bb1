import pytest

from trio_kafka.config.change_rules import check_broker_change
from trio_kafka.config.dynamic import Layers
from trio_kafka.config.load import broker_config
from trio_kafka.config.setting import ConfigError


def change(changes, *, settings=None, per_broker=True, registered=(), **dynamic):
    layers = Layers(config=broker_config(settings), **dynamic)
    return check_broker_change(layers, changes, per_broker=per_broker, registered=registered)


def refusal(changes, **arguments):
    with pytest.raises(ConfigError) as caught:
        change(changes, **arguments)
    return str(caught.value)


@pytest.mark.parametrize("per_broker", [True, False])
def test_cluster_wide_settings_can_be_changed_for_one_broker_or_for_all(per_broker):
    assert change({"message.max.bytes": "5", "log.roll.ms": "7"}, per_broker=per_broker) == ()


def test_a_change_of_a_read_only_setting_is_refused():
    assert refusal({"num.partitions": "5"}) == (
        "num.partitions: is read when the broker starts: change it"
        " in the broker's file, and restart"
    )
    assert "when the broker starts" in refusal({"log.retention.hours": "5"})


def test_a_change_of_an_unknown_setting_is_refused_with_the_nearest_name():
    assert refusal({"num.io.thread": "5"}) == (
        "num.io.thread: no such setting: did you mean num.io.threads?"
    )


@pytest.mark.parametrize("name", ["sasl.jaas.config", "listener.name.a.sasl.jaas.config"])
def test_a_per_broker_setting_cannot_be_changed_for_all_brokers(name):
    line = "org.apache.kafka.common.security.scram.ScramLoginModule required;"
    assert refusal({name: line}, per_broker=False) == (
        f"{name}: can only be set for one broker: name the broker's id"
    )
    assert change({name: line}) == ()


def test_tls_settings_can_be_changed_only_with_a_listener_prefix():
    assert refusal({"ssl.keystore.type": "PEM"}) == (
        "ssl.keystore.type: can only be set for one listener:"
        " use listener.name.<listener>.ssl.keystore.type"
    )
    assert change({"listener.name.a.ssl.keystore.type": "PEM"}) == ()


MAP = "PLAINTEXT:PLAINTEXT,IN:PLAINTEXT,CONTROL:PLAINTEXT"
TWO = {"listeners": "PLAINTEXT://h:1,IN://h:2", "listener.security.protocol.map": MAP}


def test_a_listener_can_be_added_for_one_broker_but_not_for_all():
    assert change(TWO) == ()
    assert refusal(TWO, per_broker=False).endswith(
        "can only be set for one broker: name the broker's id"
    )


def test_a_new_listener_without_a_protocol_in_the_map_is_refused():
    assert refusal({"listeners": TWO["listeners"]}) == (
        "listeners: IN has no protocol: add IN:PLAINTEXT to listener.security.protocol.map"
    )


def test_removing_a_listener_registered_with_the_cluster_is_refused():
    only = {**TWO, "listeners": "PLAINTEXT://h:1"}

    assert refusal(only, settings=TWO, registered=["PLAINTEXT", "IN"]) == (
        "listeners: IN is registered with the cluster: keep it until this broker restarts"
    )
    assert change(only, settings=TWO, registered=["PLAINTEXT"]) == ()
    assert change({}, dynamic=TWO, registered=["PLAINTEXT"]) == ()


def test_a_registered_listener_that_is_not_open_does_not_block_other_changes():
    assert change({"message.max.bytes": "5"}, registered=["OLD"]) == ()


def test_removing_the_inter_broker_listener_is_refused():
    assert refusal({**TWO, "listeners": "IN://h:2"}) == (
        "security.inter.broker.protocol: no advertised listener is called PLAINTEXT:"
        " set inter.broker.listener.name"
    )


def test_changing_the_protocol_of_an_open_listener_is_refused():
    assert refusal(
        {"listener.security.protocol.map": "PLAINTEXT:PLAINTEXT,IN:SSL"}, settings=TWO
    ) == ("listener.security.protocol.map: IN is open with PLAINTEXT: a restart can change that")


@pytest.mark.parametrize("per_broker", [True, False])
def test_the_processors_of_each_listener_change_by_at_most_a_factor_of_two(per_broker):
    own = "listener.name.in.num.network.threads"
    settings = {**TWO, own: "9"}

    assert refusal({"num.network.threads": "7"}, settings=settings, per_broker=per_broker) == (
        "num.network.threads: 7 is too far from 3: want 1 to 6"
    )
    assert change({"num.network.threads": "6"}, settings=settings, per_broker=per_broker) == ()
    assert refusal({own: "3"}, settings=settings, per_broker=per_broker).startswith(
        f"{own}: 3 is too"
    )
    assert change({own: "18"}, settings=settings, per_broker=per_broker) == ()
    assert refusal({own: "0"}, settings=settings, per_broker=per_broker).startswith(f"{own}: ")


def test_a_new_listener_and_the_control_plane_may_have_any_number_of_processors():
    own = "listener.name.in.num.network.threads"

    assert change({**TWO, own: "30"}) == ()
    assert change({own: "30"}, settings={**TWO, "control.plane.listener.name": "IN"}) == ()


def test_config_providers_cannot_be_set_while_the_broker_runs():
    assert "is read when the broker starts" in refusal(
        {"config.providers": "file"}, per_broker=False
    )


@pytest.mark.parametrize(
    ("name", "text"),
    [("message.max.bytes", "-1"), ("log.roll.ms", "x"), ("max.connections", "-1")],
)
def test_a_change_to_a_value_out_of_bounds_is_refused(name, text):
    assert refusal({name: text}).startswith(f"{name}: ")
    assert name in refusal({name: text}, per_broker=False)


def test_invalid_stored_values_do_not_block_other_changes():
    old = {"of.another.release": "x", "num.io.threads": "none"}

    assert change({**old, "message.max.bytes": "5"}, dynamic=old) == ()
    assert "no such setting" in refusal(old)


def test_a_change_that_contradicts_another_setting_is_refused():
    text = refusal(
        {"log.cleaner.min.compaction.lag.ms": "9"},
        dynamic_default={"log.cleaner.max.compaction.lag.ms": "8"},
    )

    assert text.startswith("log.cleaner.min.compaction.lag.ms: 9 is above")


@pytest.mark.parametrize(
    "name",
    [
        "background.threads",
        "num.io.threads",
        "num.network.threads",
        "num.recovery.threads.per.data.dir",
        "num.replica.fetchers",
        "log.cleaner.threads",
    ],
)
@pytest.mark.parametrize(
    ("old", "new", "allowed"),
    [
        (8, 3, False),
        (8, 4, True),
        (8, 16, True),
        (8, 17, False),
        (9, 4, True),
        (9, 3, False),
        (1, 2, True),
        (1, 3, False),
    ],
)
def test_the_size_of_a_thread_pool_changes_by_at_most_a_factor_of_two(name, old, new, allowed):
    settings = {name: str(old)}

    if allowed:
        change({name: str(new)}, settings=settings)
    else:
        assert f"{name}: {new} is too far from {old}" in refusal(
            {name: str(new)}, settings=settings
        )


def test_a_thread_pool_of_size_zero_is_refused():
    assert "too far" in refusal({"log.cleaner.threads": "0"})
    assert "too small" in refusal({"num.io.threads": "0"})


def test_a_new_pool_size_is_compared_with_the_effective_value():
    dynamic = {"dynamic_default": {"num.io.threads": "16"}}

    assert "too far from 16" in refusal({"num.io.threads": "7"}, **dynamic)
    change({"num.io.threads": "32"}, **dynamic)
    # Nothing changes for this broker, which has a value of its own.
    change({"num.io.threads": "99"}, per_broker=False, dynamic={"num.io.threads": "8"})


def test_removing_a_dynamic_pool_size_is_checked_against_the_default():
    assert "too far from 64" in refusal({}, dynamic={"num.io.threads": "64"})


@pytest.mark.parametrize(
    ("whole", "local", "allowed"),
    [
        ("100", "99", True),
        ("100", "100", True),
        ("100", "101", False),
        ("100", "-1", False),
        ("100", "-2", True),
        ("-1", "101", True),
        ("-1", "-1", True),
    ],
)
@pytest.mark.parametrize("unit", ["ms", "bytes"])
def test_local_retention_above_total_retention_is_refused(unit, whole, local, allowed):
    changes = {f"log.retention.{unit}": whole, f"log.local.retention.{unit}": local}

    if allowed:
        change(changes)
    else:
        assert refusal(changes).startswith(f"log.local.retention.{unit}: {local} is not within")


def test_local_retention_is_compared_with_retention_given_in_minutes_or_hours():
    changes = {"log.local.retention.ms": "60001"}

    assert "is 60000" in refusal(changes, settings={"log.retention.minutes": "1"})
    assert "is 3600000" in refusal(
        {"log.local.retention.ms": "3600001"}, settings={"log.retention.hours": "1"}
    )
    change(changes, settings={"log.retention.hours": "1"})


def test_a_refused_change_does_not_show_a_secret():
    text = refusal({"listener.name.a.ssl.key.password": "hidden", "num.io.threads": "0"})

    assert "hidden" not in text


@pytest.mark.parametrize("name", ["max.connections", "max.connection.creation.rate"])
@pytest.mark.parametrize("prefix", ["", "listener.name.plaintext."])
@pytest.mark.parametrize("per_broker", [True, False])
def test_a_change_of_a_connection_limit_to_zero_is_refused(name, prefix, per_broker):
    reason = f"{prefix}{name}: 0 would reject every connection: want at least 1"

    assert refusal({prefix + name: "0"}, per_broker=per_broker) == reason
    assert change({prefix + name: "1"}, per_broker=per_broker) == ()


def test_a_connection_limit_of_zero_from_the_file_does_not_block_changes():
    settings = {"max.connections": "0"}

    assert change({"message.max.bytes": "5"}, settings=settings) == ()
    assert change({"max.connections": "0"}, settings=settings) == ()


def test_the_limit_of_a_listener_that_is_not_open_may_be_zero():
    assert change({"listener.name.other.max.connections": "0"}) == ()


def test_a_limit_per_ip_of_zero_is_refused_without_overrides():
    none, some = "max.connections.per.ip", "max.connections.per.ip.overrides"

    assert "0 rejects every connection" in refusal({none: "0"})
    assert change({none: "0", some: "10.0.0.1:5"}) == ()
    assert "is not HOST:COUNT" in refusal({some: "10.0.0.1"}, per_broker=False)


@pytest.mark.parametrize("name", ["max.connections", "max.connection.creation.rate"])
def test_a_broker_limit_of_zero_is_refused_even_if_listeners_have_their_own_limits(name):
    settings = {f"listener.name.plaintext.{name}": "5"}

    assert (
        refusal({name: "0"}, settings=settings)
        == f"{name}: 0 would reject every connection: want at least 1"
    )
    assert change({name: "1"}, settings=settings) == ()


def test_plugin_settings_cannot_be_changed_while_the_broker_runs():
    assert refusal({"plugin.audit.topic": "t"}).startswith(
        "plugin.audit.topic: is read when the broker starts"
    )
