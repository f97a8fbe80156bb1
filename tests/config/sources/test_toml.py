from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from trio_kafka.config.setting import ConfigError
from trio_kafka.config.sources.toml import parse_toml

EXAMPLE = """
listeners = ["PLAINTEXT://:9092", "INSIDE://[::1]:9093"]
"log.retention.hours" = 2
"config.providers" = ["env"]
config.providers.env.class = "x"

[log]
dirs = ["/a", "/b"]
cleaner.min.cleanable.ratio = 0.25
segment = {bytes = 1_048_576}

[auto.create.topics]
enable = false
"""


def test_nested_toml_tables_become_dotted_setting_names():
    with pytest.raises(ConfigError):
        parse_toml("log.dir = 1\nlog.dir.x = 2", "f.toml")
    settings = parse_toml(EXAMPLE, "f.toml")

    assert {name: value.text for name, value in settings.items()} == {
        "listeners": "PLAINTEXT://:9092,INSIDE://[::1]:9093",
        "log.retention.hours": "2",
        "config.providers": "env",
        "config.providers.env.class": "x",
        "log.dirs": "/a,/b",
        "log.cleaner.min.cleanable.ratio": "0.25",
        "log.segment.bytes": "1048576",
        "auto.create.topics.enable": "false",
    }
    assert {value.where for value in settings.values()} == {"f.toml"}


@pytest.mark.parametrize(
    ("line", "text"),
    [
        ("x = []", ""),
        ("x = ['']", ""),
        ("x = [1, true, 'a']", "1,true,a"),
        ("x = true", "true"),
        ("x = -9223372036854775808", "-9223372036854775808"),
        ("x = 0x10", "16"),
        ("x = 1e-9", "1.0E-9"),
        ("x = 'a,b'", "a,b"),
        ('x = "a\\nb"', "a\nb"),
    ],
)
def test_toml_values_become_the_texts_of_a_properties_file(line, text):
    assert parse_toml(line, "f")["x"].text == text


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("x = ", "f: TOML: Invalid value (at end of document)"),
        ("x.y = 1\n'x.y' = 2", "f: x.y: is given twice, in two tables: remove one"),
        ("x = ['a,b']", "f: x: an item has a comma, which separates items: remove it"),
        (
            "x = 2026-01-01",
            "f: x: want a text, a number, a boolean or a list, not date",
        ),
        ("x = [[1]]", "f: x: want a text, a number, a boolean or a list, not list"),
        ("x = [{y = 1}]", "f: x: want a text, a number, a boolean or a list, not dict"),
        ("x = inf", "f: x: want a text, a number, a boolean or a list, not float"),
        ("[[x]]\ny = 1", "f: x: want a text, a number, a boolean or a list, not dict"),
        pytest.param(
            "x = 0x1" + "0" * 5000,
            "f: x: is a number of 20001 bits: want 64 at most",
            id="5000 hexadecimal digits",
        ),
    ],
)
def test_toml_values_that_no_setting_can_have_are_refused(text, message):
    with pytest.raises(ConfigError) as caught:
        parse_toml(text, "f")

    assert str(caught.value) == message


@pytest.mark.parametrize(
    "text",
    ["x = " + "9" * 5000, "x = " + "[" * 50_000, ".".join("x" * 3000) + " = 1"],
    ids=["5000 digits", "nested arrays", "nested tables"],
)
def test_a_text_too_deep_or_too_long_for_the_toml_parser_is_refused(text):
    with pytest.raises(ConfigError, match="f: TOML: "):
        parse_toml(text, "f")


@given(st.text())
def test_any_text_is_parsed_as_toml_or_raises_config_error(text):
    with suppress(ConfigError):
        assert all(value.where == "f" for value in parse_toml(text, "f").values())
