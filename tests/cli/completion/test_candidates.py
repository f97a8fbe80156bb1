"""Words that can stand where a command line ends."""

import pytest

from tests.cli.kit import Shell
from trio_kafka.cli.completion.candidates import candidates, words_of


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("trio-kafka", [""]),
        ("trio-kafka topic ", ["topic", ""]),
        ("A=b /usr/bin/trio-kafka topic li", ["topic", "li"]),
        ("trio-kafka topic list --bootstrap h:1 'a", ["topic", "list", "--bootstrap", "h:1", "'a"]),
    ],
)
def test_words_of_a_line_end_at_the_cursor(line: str, words: list[str]) -> None:
    assert words_of(line) == words


@pytest.mark.parametrize(
    ("words", "names"),
    [
        (["to"], ["token", "top", "topic"]),
        (["topic", "de"], ["delete", "describe"]),
        (["topic", "list", "--js"], ["--json"]),
        (["produce", "t", "-z", "z"], ["zstd"]),
        (["config", "get", "br"], ["broker-loggers", "brokers"]),
        (["completion", "z"], ["zsh"]),
        (["nothing", "a"], []),
        (["version", "a"], []),
        (["topic", "list", "--timeout", ""], []),
    ],
)
def test_commands_options_and_choices_are_completed(words: list[str], names: list[str]) -> None:
    assert candidates(words) == names


def test_names_of_topics_groups_and_profiles_are_completed(shell: Shell) -> None:
    shell.kafka.create_topic("cats")
    shell.kafka.create_topic("cows")
    shell.run("consume", "cats", "--group", "readers", "--group-protocol", "classic")
    shell.run("consume", "cats", "--group", "re;rm $(x)", "--group-protocol", "classic")
    at = ["--bootstrap", shell.kafka.bootstrap]

    assert candidates(["topic", "describe", *at, "c"]) == ["cats", "cows"]
    assert candidates(["topic", "describe", *at, "--json", "cats", "co"]) == ["cows"]
    assert candidates(["consume", *at, "ca"]) == ["cats"]
    assert candidates(["group", "describe", *at, "re"]) == ["readers"]
    assert candidates(["consume", "cats", *at, "--group", ""]) == ["readers"]
