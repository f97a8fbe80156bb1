"""`trio-kafka profile add`."""

import json
from pathlib import Path

import pytest

from trio_kafka.cli import main
from trio_kafka.cli.saved_profiles import read_profiles


def test_profile_has_settings_of_files_and_options(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "kcat.conf"
    path.write_text("metadata.broker.list=f:1\nclient.id=c\n")
    words = ["-F", str(path), "-X", "linger.ms=5", "-X", "ssl.key.password=x", "--json"]

    assert main(["profile", "add", "prod", *words]) == 0

    assert json.loads(capsys.readouterr().out)["settings"]["ssl.key.password"] == "(hidden)"
    assert read_profiles().find("prod") == {
        "bootstrap.servers": "f:1",
        "client.id": "c",
        "linger.ms": "5",
        "ssl.key.password": "x",
    }


@pytest.mark.parametrize(
    ("words", "reason"),
    [
        (["a b", "--bootstrap", "h:1"], "want letters"),
        (["a"], "give --bootstrap"),
        (["a", "--bootstrap", "h"], "not an address"),
        (["a", "--bootstrap", "h:1", "-X", "lingr.ms=1"], "did you mean linger.ms?"),
        (["a", "--bootstrap", "h:1", "-X", "security.protocol=NONE"], "is not one of"),
    ],
)
def test_wrong_profile_is_refused(
    words: list[str], reason: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["profile", "add", *words]) != 0

    assert reason in capsys.readouterr().err
    assert read_profiles().profiles == {}


def test_existing_profile_is_only_replaced_with_the_option(
    capsys: pytest.CaptureFixture[str],
) -> None:
    words = ["profile", "add", "a", "--bootstrap"]
    assert main([*words, "h:1"]) == 0

    assert main([*words, "h:2"]) == 2
    assert "--replace" in capsys.readouterr().err
    assert main([*words, "h:2", "--replace"]) == 0
    assert read_profiles().find("a")["bootstrap.servers"] == "h:2"
