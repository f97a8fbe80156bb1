"""The file of profiles."""

import stat
from pathlib import Path

import pytest

from trio_kafka.cli import CommandFailedError, main
from trio_kafka.cli.broker_options import default_bootstrap
from trio_kafka.cli.saved_profiles import (
    HIDDEN,
    Profiles,
    default_profile,
    profiles_path,
    read_profiles,
    shown,
    write_profiles,
)
from trio_kafka.testing.kafka.threaded import Kafka

TWO = Profiles(
    profiles={"a": {"bootstrap.servers": "a:1"}, "b": {"bootstrap.servers": "b:1"}}, used="b"
)


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    monkeypatch.delenv("TRIO_KAFKA_BOOTSTRAP", raising=False)
    monkeypatch.delenv("TRIO_KAFKA_PROFILE", raising=False)
    return tmp_path


def test_file_is_read_back_and_only_its_owner_can_read_it() -> None:
    assert read_profiles() == Profiles()
    write_profiles(TWO)

    assert read_profiles() == TWO
    assert stat.S_IMODE(profiles_path().stat().st_mode) == 0o600
    assert [path.name for path in profiles_path().parent.iterdir()] == ["profiles.json"]


def test_damaged_file_is_an_error_that_does_not_repeat_it(home: Path) -> None:
    path = home / "trio-kafka" / "profiles.json"
    path.parent.mkdir()
    for text in ("secret", "[]", '{"profiles": []}'):
        path.write_text(text)
        with pytest.raises(CommandFailedError, match=r"profiles\.json: not a file") as failure:
            read_profiles()
        assert "secret" not in str(failure.value)


def test_secrets_are_hidden_and_other_values_are_not() -> None:
    names = ("sasl.jaas.config", "ssl.key.password", "ssl.keystore.key", "linger.ms")

    assert shown(dict.fromkeys(names, "x")) == {
        **dict.fromkeys(names[:3], HIDDEN),
        "linger.ms": "x",
    }


def test_unknown_profile_is_an_error_with_the_nearest() -> None:
    with pytest.raises(CommandFailedError, match="did you mean prod"):
        Profiles(profiles={"prod": {}}).find("prd")


def test_profile_in_use_that_is_removed_is_no_longer_in_use() -> None:
    assert TWO.without("b").used is None
    assert TWO.without("a").used == "b"


def test_variables_go_before_the_profile_in_use(monkeypatch: pytest.MonkeyPatch) -> None:
    write_profiles(TWO)
    assert default_bootstrap() == "b:1"
    assert default_profile("a") == {"bootstrap.servers": "a:1"}

    monkeypatch.setenv("TRIO_KAFKA_PROFILE", "a")
    assert default_bootstrap() == "a:1"

    monkeypatch.setenv("TRIO_KAFKA_BOOTSTRAP", "h:1")
    assert default_bootstrap() == "h:1"


def test_commands_ask_the_cluster_of_a_profile(
    module_kafka: Kafka, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    module_kafka.create_topic("named")
    add = ["profile", "add", "local", "--bootstrap", module_kafka.bootstrap]
    assert main([*add, "--property", "linger.ms=5"]) == 0
    monkeypatch.setenv("TRIO_KAFKA_BOOTSTRAP", "127.0.0.1:1")

    for words in (
        ["topic", "list"],
        ["cluster", "describe"],
        ["consume", "named"],
        ["jobs", "list"],
        ["bench", "produce", "named", "--records", "1"],
    ):
        assert main([*words, "--profile", "local"]) == 0, capsys.readouterr().err
        assert main(words) == 1
    capsys.readouterr()

    assert main(["topic", "list", "--profile", "locl"]) == 2
    assert "did you mean local?" in capsys.readouterr().err
