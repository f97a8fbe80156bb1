from difflib import get_close_matches

import pytest

from trio_kafka.config import catalogue
from trio_kafka.config.catalogue import base_of, every_setting, has_prefix, setting_of, unknown


@pytest.mark.parametrize(
    ("name", "base"),
    [
        ("num.io.threads", "num.io.threads"),
        ("listener.name.internal.ssl.key.password", "ssl.key.password"),
        ("listener.name.internal.scram-sha-256.sasl.jaas.config", "sasl.jaas.config"),
        ("listener.name.internal.plain.connections.max.reauth.ms", "connections.max.reauth.ms"),
        ("listener.name.internal.sasl.jaas.config", "sasl.jaas.config"),
        ("listener.name.internal.plain.ssl.key.password", "plain.ssl.key.password"),
        ("listener.name.internal.xsasl.jaas.config", "xsasl.jaas.config"),
        ("listener.name.internal", "listener.name.internal"),
        ("listener.name..num.io.threads", "listener.name..num.io.threads"),
    ],
)
def test_base_of_removes_the_prefix_of_a_listener_and_its_mechanism(name, base):
    assert base_of(name) == base
    assert has_prefix(name) == (name != base)


def test_a_setting_is_found_by_its_name_with_or_without_a_listener_prefix():
    assert setting_of("num.io.threads").name == "num.io.threads"
    assert setting_of("log.cleaner.threads").name == "log.cleaner.threads"
    assert setting_of("listener.name.a.ssl.key.password").name == "ssl.key.password"
    assert setting_of("listener.name.a.num.network.threads").name == "num.network.threads"
    assert setting_of("listener.name.a.nothing") is None
    assert setting_of("nothing") is None


def test_the_message_of_an_unknown_setting_suggests_the_nearest_name():
    assert unknown("num.io.thread") == "no such setting: did you mean num.io.threads?"
    assert unknown("log.cleaner.thread") == "no such setting: did you mean log.cleaner.threads?"
    assert unknown("x") == "no such setting"


def test_the_nearest_name_of_an_unknown_setting_is_searched_for_once(monkeypatch):
    searches = []

    def search(name, *args, **options):
        searches.append(name)
        return get_close_matches(name, *args, **options)

    monkeypatch.setattr(catalogue, "get_close_matches", search)

    for _ in range(3):
        unknown("num.io.threadz")
        unknown("x" * 10_000)

    assert searches == ["num.io.threadz"]  # and no setting is like a very long name


def test_the_catalogue_has_supported_unsupported_and_trio_kafka_settings():
    settings = every_setting()

    assert {"num.io.threads", "log.cleaner.threads", "trio.log.format"} <= settings.keys()
    assert all(name == setting.name for name, setting in settings.items())
