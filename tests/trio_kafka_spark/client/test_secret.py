import pickle
from pathlib import Path

import pytest

from trio_kafka_spark.client.errors import OptionError
from trio_kafka_spark.client.secret import HIDDEN, Secret, resolve

OPTION = "kafka.ssl.key.password"


def test_the_text_of_a_secret_is_hidden_until_revealed() -> None:
    secret = Secret(OPTION, "s3cret")

    shown = f"{secret} {secret!r} {[secret]} {(secret,)!s}"
    assert "s3cret" not in shown
    assert HIDDEN in shown
    assert secret.reveal() == "s3cret"
    assert pickle.loads(pickle.dumps(secret)) == secret


def test_a_variable_is_resolved_on_use_and_its_value_is_not_pickled(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "passwords").write_text("a.b = fr\\u00fchling\n", encoding="utf-8")
    (tmp_path / "whole").write_text("content", encoding="utf-8")
    monkeypatch.setenv("THE_PASSWORD", "s3cret")
    secret = Secret(OPTION, "${env:THE_PASSWORD}")

    assert secret.is_variable
    assert b"s3cret" not in pickle.dumps(secret)
    assert secret.reveal() == "s3cret"
    assert resolve(OPTION, f"<${{file:{tmp_path}/passwords:a.b}}>") == "<frühling>"
    assert resolve(OPTION, f"${{directory:{tmp_path}:whole}}") == "content"


def test_a_variable_inside_the_value_of_a_variable_is_not_resolved(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("THE_PASSWORD", "${env:OTHER}")

    assert resolve(OPTION, "${env:THE_PASSWORD}") == "${env:OTHER}"


@pytest.mark.parametrize("text", ["$", "${", "${env}", "${vault:a:b}", "$env:A", "{env:A}"])
def test_text_without_a_variable_is_unchanged(text: str) -> None:
    assert resolve(OPTION, text) == text
    assert not Secret(OPTION, text).is_variable


def test_the_error_of_a_missing_variable_names_option_and_variable(
    tmp_path: Path,
) -> None:
    (tmp_path / "broken").write_text("a=\\uXYZ s3cret", encoding="utf-8")
    (tmp_path / "some").write_text("b=s3cret", encoding="utf-8")
    variables = {
        "${env:THERE_IS_NO_SUCH_NAME}": "no such value",
        "${file:/nowhere/at-all:a}": "No such file",
        f"${{file:{tmp_path}/some:a}}": "no such value",
        f"${{file:{tmp_path}/broken:a}}": "cannot be parsed",
        f"${{directory:{tmp_path}:..}}": "no such value",
    }
    for variable, reason in variables.items():
        with pytest.raises(OptionError, match=reason) as caught:
            resolve(OPTION, variable)
        assert (OPTION in str(caught.value), variable in str(caught.value)) == (True, True)
        assert "s3cret" not in str(caught.value)
