import pytest

from trio_kafka.config.change_rules import check_broker_change
from trio_kafka.config.dynamic import Layers
from trio_kafka.config.load import broker_config
from trio_kafka.config.setting import ConfigError


def change(wanted, *, given=None, per_broker=True, registered=(), **dynamic):
    found = Layers(config=broker_config(given), **dynamic)
    return check_broker_change(found, wanted, per_broker=per_broker, registered=registered)


def refusal(wanted, **arguments):
    with pytest.raises(ConfigError) as caught:
        change(wanted, **arguments)
    return str(caught.value)


@pytest.mark.parametrize("per_broker", [True, False])
def test_what_all_brokers_may_have_one_may_have_too(per_broker):
    assert change({"message.max.bytes": "5", "log.roll.ms": "7"}, per_broker=per_broker) == ()


def test_what_is_read_only_is_refused():
    assert refusal({"num.partitions": "5"}) == (
        "num.partitions: is read when the broker starts: change it"
        " in the broker's file, and restart"
    )
    assert "when the broker starts" in refusal({"log.retention.hours": "5"})


def test_an_unknown_name_is_refused_with_the_nearest():
    assert refusal({"num.io.thread": "5"}) == (
        "num.io.thread: no such setting: did you mean num.io.threads?"
    )


@pytest.mark.parametrize("name", ["sasl.jaas.config", "listener.name.a.sasl.jaas.config"])
def test_what_is_one_brokers_own_needs_its_id(name):
    assert refusal({name: "x"}, per_broker=False) == (
        f"{name}: can only be set for one broker: name the broker's id"
    )
    assert change({name: "x"}) == (f"{name} is not supported yet: SASL is not implemented",)


def test_settings_of_tls_are_changed_by_listener():
    assert refusal({"ssl.keystore.type": "PEM"}) == (
        "ssl.keystore.type: can only be set for one listener:"
        " use listener.name.<listener>.ssl.keystore.type"
    )
    assert change({"listener.name.a.ssl.keystore.type": "PEM"}) == (
        "listener.name.a.ssl.keystore.type is not supported yet: TLS is not implemented",
    )


MAP = "PLAINTEXT:PLAINTEXT,IN:PLAINTEXT,CONTROL:PLAINTEXT"
TWO = {"listeners": "PLAINTEXT://h:1,IN://h:2", "listener.security.protocol.map": MAP}


def test_a_listener_is_added_by_one_broker():
    assert change(TWO) == ()
    assert refusal(TWO, per_broker=False).endswith(
        "can only be set for one broker: name the broker's id"
    )


def test_a_listener_without_a_protocol_is_refused():
    assert refusal({"listeners": TWO["listeners"]}) == (
        "listeners: IN has no protocol: add IN:PLAINTEXT to listener.security.protocol.map"
    )


def test_what_is_advertised_stays():
    only = {**TWO, "listeners": "PLAINTEXT://h:1"}

    assert refusal(only, given=TWO, registered=["PLAINTEXT", "IN"]) == (
        "listeners: IN is registered with the cluster: keep it until this broker restarts"
    )
    assert change(only, given=TWO, registered=["PLAINTEXT"]) == ()
    assert change({}, dynamic=TWO, registered=["PLAINTEXT"]) == ()


def test_what_was_told_before_and_is_not_served_hinders_no_change():
    assert change({"message.max.bytes": "5"}, registered=["OLD"]) == ()


def test_the_listener_that_brokers_use_stays():
    assert refusal({**TWO, "listeners": "IN://h:2"}) == (
        "security.inter.broker.protocol: no advertised listener is called PLAINTEXT:"
        " set inter.broker.listener.name"
    )


def test_a_listener_keeps_its_protocol():
    assert refusal({"listener.security.protocol.map": "PLAINTEXT:PLAINTEXT,IN:SSL"}, given=TWO) == (
        "listener.security.protocol.map: IN is open with PLAINTEXT: a restart can change that"
    )


@pytest.mark.parametrize("per_broker", [True, False])
def test_the_processors_of_each_listener_change_by_at_most_a_factor_of_two(per_broker):
    own = "listener.name.in.num.network.threads"
    given = {**TWO, own: "9"}

    assert refusal({"num.network.threads": "7"}, given=given, per_broker=per_broker) == (
        "num.network.threads: 7 is too far from 3: want 1 to 6"
    )
    assert change({"num.network.threads": "6"}, given=given, per_broker=per_broker) == ()
    assert refusal({own: "3"}, given=given, per_broker=per_broker).startswith(f"{own}: 3 is too")
    assert change({own: "18"}, given=given, per_broker=per_broker) == ()
    assert refusal({own: "0"}, given=given, per_broker=per_broker).startswith(f"{own}: ")


def test_processors_of_a_new_listener_and_of_the_control_plane_may_be_any():
    own = "listener.name.in.num.network.threads"

    assert change({**TWO, own: "30"}) == ()
    assert change({own: "30"}, given={**TWO, "control.plane.listener.name": "IN"}) == ()


def test_nobody_makes_a_running_broker_read_files():
    assert "is read when the broker starts" in refusal(
        {"config.providers": "file"}, per_broker=False
    )


@pytest.mark.parametrize(
    ("name", "text"),
    [("message.max.bytes", "-1"), ("log.roll.ms", "x"), ("max.connections", "-1")],
)
def test_bounds_hold(name, text):
    assert refusal({name: text}).startswith(f"{name}: ")
    assert name in refusal({name: text}, per_broker=False)


def test_values_that_were_set_before_are_not_judged_again():
    old = {"of.another.release": "x", "num.io.threads": "none"}

    assert change({**old, "message.max.bytes": "5"}, dynamic=old) == ()
    assert "no such setting" in refusal(old)


def test_settings_may_not_contradict_each_other():
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
def test_a_pool_changes_by_at_most_a_factor_of_two(name, old, new, allowed):
    given = {name: str(old)}

    if allowed:
        change({name: str(new)}, given=given)
    else:
        assert f"{name}: {new} is too far from {old}" in refusal({name: str(new)}, given=given)


def test_a_pool_may_not_be_empty():
    assert "too far" in refusal({"log.cleaner.threads": "0"})
    assert "too small" in refusal({"num.io.threads": "0"})


def test_a_pool_is_compared_with_what_is_in_force():
    dynamic = {"dynamic_default": {"num.io.threads": "16"}}

    assert "too far from 16" in refusal({"num.io.threads": "7"}, **dynamic)
    change({"num.io.threads": "32"}, **dynamic)
    # Nothing changes for this broker, which has a value of its own.
    change({"num.io.threads": "99"}, per_broker=False, dynamic={"num.io.threads": "8"})


def test_taking_a_value_away_is_a_change_too():
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
def test_no_more_is_kept_here_than_at_all(unit, whole, local, allowed):
    wanted = {f"log.retention.{unit}": whole, f"log.local.retention.{unit}": local}

    if allowed:
        change(wanted)
    else:
        assert refusal(wanted).startswith(f"log.local.retention.{unit}: {local} is not within")


def test_local_retention_is_compared_in_the_unit_that_was_written_down():
    wanted = {"log.local.retention.ms": "60001"}

    assert "is 60000" in refusal(wanted, given={"log.retention.minutes": "1"})
    assert "is 3600000" in refusal(
        {"log.local.retention.ms": "3600001"}, given={"log.retention.hours": "1"}
    )
    change(wanted, given={"log.retention.hours": "1"})


def test_no_refusal_shows_a_secret():
    text = refusal({"listener.name.a.ssl.key.password": "hidden", "num.io.threads": "0"})

    assert "hidden" not in text


@pytest.mark.parametrize("name", ["max.connections", "max.connection.creation.rate"])
@pytest.mark.parametrize("prefix", ["", "listener.name.plaintext."])
@pytest.mark.parametrize("per_broker", [True, False])
def test_limits_of_connections_stay_above_zero_while_a_broker_runs(name, prefix, per_broker):
    reason = f"{prefix}{name}: 0 would reject every connection: want at least 1"

    assert refusal({prefix + name: "0"}, per_broker=per_broker) == reason
    assert change({prefix + name: "1"}, per_broker=per_broker) == ()


def test_a_limit_of_zero_that_was_written_down_is_not_judged():
    given = {"max.connections": "0"}

    assert change({"message.max.bytes": "5"}, given=given) == ()
    assert change({"max.connections": "0"}, given=given) == ()


def test_a_limit_of_another_listener_is_no_matter():
    assert change({"listener.name.other.max.connections": "0"}) == ()


def test_a_broker_that_lets_nobody_in_needs_overrides_also_while_it_runs():
    none, some = "max.connections.per.ip", "max.connections.per.ip.overrides"

    assert "0 rejects every connection" in refusal({none: "0"})
    assert change({none: "0", some: "10.0.0.1:5"}) == ()
    assert "is not HOST:COUNT" in refusal({some: "10.0.0.1"}, per_broker=False)


@pytest.mark.parametrize("name", ["max.connections", "max.connection.creation.rate"])
def test_the_brokers_own_limit_shuts_nobody_out_where_listeners_have_limits_of_their_own(name):
    given = {f"listener.name.plaintext.{name}": "5"}

    assert (
        refusal({name: "0"}, given=given)
        == f"{name}: 0 would reject every connection: want at least 1"
    )
    assert change({name: "1"}, given=given) == ()


def test_a_plugins_settings_are_set_at_the_start():
    assert refusal({"plugin.audit.topic": "t"}).startswith(
        "plugin.audit.topic: is read when the broker starts"
    )
