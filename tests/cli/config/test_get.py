"""`trio-kafka config get`, `set` and `unset` with a broker."""

import json

from tests.cli.kit import Shell


def value(shell: Shell, name: str) -> tuple[str, str]:
    row = json.loads(shell.run("config", "get", "topics", "conf", name, "--json"))["settings"][0]
    return row["value"], row["source"]


def test_value_is_shown_with_its_source(shell: Shell) -> None:
    shell.kafka.create_topic("conf")

    before = value(shell, "segment.ms")
    shell.run("config", "set", "topics", "conf", "segment.ms=7")
    after = value(shell, "segment.ms")
    shell.run("config", "unset", "topics", "conf", "segment.ms")

    assert before == value(shell, "segment.ms") == ("604800000", "DEFAULT_CONFIG")
    assert after == ("7", "DYNAMIC_TOPIC_CONFIG")


def test_unknown_setting_gets_a_suggestion(shell: Shell) -> None:
    line = shell.fail("config", "get", "brokers", "1", "log.retention.msx")

    assert line.endswith("no setting log.retention.msx; did you mean log.retention.ms?")
