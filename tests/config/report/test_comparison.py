from trio_kafka.config.load import load, options
from trio_kafka.config.report.comparison import (
    Entry,
    differences,
    not_comparable,
    side_of,
    side_of_broker,
)


class Machine:
    variables = {"A": "same", "B": "same", "C": "other"}  # noqa: RUF012


def side(*arguments):
    return side_of(load(options(arguments), outside=Machine()).config)


def test_differences_are_sorted_by_name_and_show_the_source_of_each_value():
    first, second = side("num.partitions=5", "broker.rack=a"), side("num.partitions=6")

    assert list(differences(first, second)) == [
        (
            "broker.rack",
            Entry(value="a", shown="a", source="from -c"),
            Entry(value=None, shown="(not set)", source="the default", is_set=False),
        ),
        (
            "num.partitions",
            Entry(value="5", shown="5", source="from -c"),
            Entry(value="6", shown="6", source="from -c"),
        ),
    ]


def test_an_explicit_default_value_is_no_difference():
    assert list(differences(side("num.partitions=1", "log.roll.hours=0168"), side())) == []


def test_secrets_are_compared_and_hidden():
    first, second = side("ssl.key.password=x"), side("ssl.key.password=y")

    [(name, before, after)] = differences(first, second)
    assert (name, before.shown, after.shown) == ("ssl.key.password", "(hidden)", "(hidden)")
    assert list(differences(first, side("ssl.key.password=x"))) == []


def test_provider_variables_are_compared_by_value_and_shown_as_written():
    def rack(variable):
        return side("config.providers=env", f"broker.rack=${{env:{variable}}}")

    assert list(differences(rack("A"), rack("B"))) == []
    [(_, before, after)] = differences(rack("A"), rack("C"))
    assert (before.shown, after.shown) == ("${env:A}", "${env:C}")


def test_settings_of_plugins_and_listeners_are_compared_and_hidden():
    entries = side("plugin.a.b=", "listener.name.x.ssl.key.password=y")

    rows = [
        (name, before.shown, after.shown) for name, before, after in differences(entries, side())
    ]
    assert rows == [
        ("listener.name.x.ssl.key.password", "(hidden)", "(not set)"),
        ("plugin.a.b", "(hidden)", "(not set)"),
    ]


def test_a_default_is_no_difference_from_a_side_without_the_setting():
    assert list(differences(side(), {})) == []
    assert [name for name, _, _ in differences(side("broker.rack=x"), {})] == ["broker.rack"]


def test_secrets_of_a_running_broker_are_reported_as_not_comparable():
    broker = side_of_broker(
        [
            ("num.partitions", "7", "written down", False),
            ("broker.rack", None, "the default", False),
            ("ssl.key.password", None, "written down", True),
            ("ssl.keystore.key", None, "the default", True),
        ]
    )
    entries = {name: entry for name, entry in side("ssl.key.password=x").items() if name in broker}

    assert [name for name, _, _ in differences(entries, broker)] == ["num.partitions"]
    assert not_comparable(entries, broker) == ["ssl.key.password"]
    assert not_comparable(entries, side()) == []
