"""Rules as words of a command line, and as files."""

from pathlib import Path

import pytest

from trio_kafka.controls.faults import tables
from trio_kafka_builtin.fault_commands.add import TEXTS, rules_in, table_of
from trio_kafka_builtin.fault_commands.client import ControlError


def test_command_line_words_become_the_fields_of_a_rule() -> None:
    words = ["api=Produce", "topic=7", "error=6", "delay_s=[0.1,2]", "drop", "seed=a=b", "x=yes"]

    assert table_of(words) == {
        "api": "Produce",
        "topic": "7",
        "error": 6,
        "delay_s": [0.1, 2],
        "drop": True,
        "seed": "a=b",
        "x": "yes",
    }


def test_a_field_given_twice_is_rejected() -> None:
    with pytest.raises(ControlError, match="topic is given twice"):
        table_of(["topic=a", "topic=b"])


def test_the_text_fields_of_the_command_equal_the_text_fields_of_fault_rules() -> None:
    texts = {key for key, read in tables._READ.items() if read in (tables._text, tables._name)}

    assert texts == TEXTS


def test_rules_are_read_from_toml_and_json_files(tmp_path: Path) -> None:
    (tmp_path / "a.toml").write_text('[[rules]]\ntopic = "t"\n')
    (tmp_path / "a.json").write_text('{"rules": [{"topic": "t"}]}')

    assert [rules_in(str(tmp_path / name)) for name in ("a.toml", "a.json")] == [
        [{"topic": "t"}]
    ] * 2


@pytest.mark.parametrize("text", ["[", "[1]", '{"rulse": []}'])
def test_the_error_of_an_invalid_or_missing_rules_file_names_the_file(
    tmp_path: Path, text: str
) -> None:
    (tmp_path / "bad.json").write_text(text)

    with pytest.raises(ControlError, match=r"bad\.json: "):
        rules_in(str(tmp_path / "bad.json"))
    with pytest.raises(ControlError, match=r"none\.json: "):
        rules_in(str(tmp_path / "none.json"))
