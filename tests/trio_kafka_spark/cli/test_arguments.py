"""Mistakes in the arguments of Spark's commands are told before a session is started."""

import pytest

from trio_kafka.cli import main
from trio_kafka_spark.cli import outputs

MISTAKES = {
    "skew": [],
    "usage": [],
    "fill": ["--path", "/a", "--topic", "t", "--pattern", "t"],
    "verify": ["--path", "/a", "--option", "x"],
    "dump": ["--bootstrap", "h:1"],
    "lag": ["--path", "/a", "--option", "mood=x"],
    "requests": ["--path", "/a", "--bootstrap", "h:1"],
    "compaction": ["--path", "/a"],
    "repartition": ["--topic", "t", "--to-topic", "u", "--to-option", "x"],
    "replay": ["--to-topic", "u"],
    "restore": ["--parquet", "/p", "--path", "/a"],
}


@pytest.mark.parametrize("command", MISTAKES)
def test_a_wrong_argument_is_reported_in_one_line_before_spark_starts(
    command: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise AssertionError("a session was started")

    monkeypatch.setattr(outputs, "session", refuse)

    assert main(["spark", command, *MISTAKES[command]]) == 1

    error = capsys.readouterr().err
    assert error.startswith("trio-kafka: ")
    assert len(error.splitlines()) == 1
