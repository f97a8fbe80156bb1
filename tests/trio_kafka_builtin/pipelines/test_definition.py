"""A pipeline's TOML file."""

import pytest
from hypothesis import given, strategies

from trio_kafka_builtin.pipelines.definition import (
    KEYS,
    Definition,
    DefinitionError,
    name_of,
    read_definition,
)

WHOLE = """
command = ["spark-submit", "app.py"]
directory = "jobs"
restart = "always"
pause_s = 2
longest_pause_s = 30.5
healthy_s = 0
grace_s = 20
enabled = false

[environment]
WORD = "secret"
"""


def test_a_definition_needs_only_a_command() -> None:
    definition = read_definition("a", 'command = ["true"]', "/etc/p")

    assert definition == Definition(name="a", command=("true",), directory="/etc/p")


def test_every_key_of_a_definition_is_read() -> None:
    definition = read_definition("a", WHOLE, "/etc/p")

    assert definition == Definition(
        name="a",
        command=("spark-submit", "app.py"),
        directory="/etc/p/jobs",
        environment={"WORD": "secret"},
        restart="always",
        pause_s=2,
        longest_pause_s=30.5,
        healthy_s=0,
        grace_s=20,
        enabled=False,
    )
    assert [key for key in KEYS if key not in WHOLE] == []
    assert "secret" not in repr(definition)
    assert read_definition("a", 'command=["x"]\ndirectory="/d"', "/e").directory == "/d"


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("", "command is not set, want a list of texts"),
        ("command = 'true'", "command is 'true'"),
        ("command = []", "command is []"),
        ("command = ['']", "command is ['']"),
        ("command = ['a', 1]", "command is ['a', 1]"),
        ('command = ["a\\u0000"]', "want a list of texts"),
        ("command", "no TOML"),
        ("a = " + "[" * 5000, "no TOML"),
        ("comand = ['a']", "unknown key 'comand': did you mean command?"),
        ("zzz = 1", "unknown key 'zzz': want one of command, directory"),
        ("restart = 'sometimes'", "restart is 'sometimes', want one of on-failure, always, never"),
        ("restart = []", "restart is []"),
        ("pause_s = -1", "pause_s is -1, want seconds from 0 to 86400"),
        ("pause_s = nan", "pause_s is nan"),
        ("grace_s = true", "grace_s is True"),
        ("healthy_s = '1'", "healthy_s is '1'"),
        ("pause_s = 5\nlongest_pause_s = 4", "longest_pause_s is 4, want at least pause_s, 5"),
        ("enabled = 1", "enabled is 1, want true or false"),
        ("directory = ''", "directory is ''"),
        ("directory = 1", "directory is 1"),
        ("environment = 1", "environment is 1, want a table"),
        ("environment = {'a b' = 'c'}", "'a b' is not a variable name"),
        ("environment = {A = 1}", "environment: A is a int, want a text"),
        ("environment = {TRIO_KAFKA_PIPELINE_TOKEN = 'x'}", "is set by the broker"),
    ],
)
def test_an_invalid_definition_is_refused_with_a_reason(text: str, why: str) -> None:
    if "command" not in text and "comand" not in text and text and "zzz" not in text:
        text = f"command = ['a']\n{text}"
    with pytest.raises(DefinitionError) as caught:
        read_definition("a", text, "/d")

    assert why in str(caught.value)


@given(strategies.text(max_size=200))
def test_any_text_is_a_definition_or_an_error_that_says_why(text: str) -> None:
    try:
        read_definition("a", text, "/d")
    except DefinitionError as error:
        assert str(error)  # noqa: PT017


def test_errors_do_not_show_values_of_environment_variables() -> None:
    with pytest.raises(DefinitionError) as caught:
        read_definition("a", "command=['a']\nenvironment={A=['secret']}", "/d")

    assert "secret" not in str(caught.value)


@pytest.mark.parametrize("file", ["A.toml", ".toml", "a b.toml", "a/b.toml", "é.toml", "-a.toml"])
def test_invalid_pipeline_file_names_are_refused(file: str) -> None:
    with pytest.raises(DefinitionError, match="want a name"):
        name_of(file)


def test_a_pipeline_has_the_name_of_its_file() -> None:
    assert name_of("word_count-2.toml") == "word_count-2"
