import pytest
from hypothesis import given
from hypothesis import strategies as st

from trio_kafka.config.properties import SettingText, parse_properties
from trio_kafka.config.setting import ConfigError


def values(text):
    return {name: setting.text for name, setting in parse_properties(text, "f").items()}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a=1", {"a": "1"}),
        ("a:1", {"a": "1"}),
        ("a 1", {"a": "1"}),
        ("  a \t=\f 1  ", {"a": "1  "}),
        ("a = = 1", {"a": "= 1"}),
        ("a=b:c=d", {"a": "b:c=d"}),
        ("a", {"a": ""}),
        ("a=", {"a": ""}),
        ("# a=1\n! b=2\n\n \t\nc=3", {"c": "3"}),
        ("a=1#2", {"a": "1#2"}),
        ("a=1\r\nb=2\rc=3\n", {"a": "1", "b": "2", "c": "3"}),
        ("a=1\na=2", {"a": "2"}),
        ("a=one,\\\n   two", {"a": "one,two"}),
        ("a=one\\\\\nb=2", {"a": "one\\", "b": "2"}),
        ("a=one\\\n# not a comment", {"a": "one# not a comment"}),
        ("a=one\\", {"a": "one"}),
        ("a\\ b\\=c\\:d=1", {"a b=c:d": "1"}),
        ("a=\\t\\n\\r\\f\\q\\\\", {"a": "\t\n\r\fq\\"}),
        ("a=\\u00e9\\u20AC", {"a": "é€"}),
        ("a=\\uD83D\\uDE00", {"a": "\U0001f600"}),
        ("a=\u2028b\x85c", {"a": "\u2028b\x85c"}),
        ("", {}),
    ],
)
def test_properties_lines_are_parsed_as_by_java(text, expected):
    assert values(text) == expected


def test_each_property_has_the_number_of_its_first_line():
    text = "# head\na=1\n\nb=x,\\\n  y\nc=3"

    assert parse_properties(text, "server.properties") == {
        "a": SettingText("1", "server.properties:2"),
        "b": SettingText("x,y", "server.properties:4"),
        "c": SettingText("3", "server.properties:6"),
    }


def test_a_broken_escape_names_file_line_and_setting_but_not_the_value():
    with pytest.raises(ConfigError) as caught:
        parse_properties("a=1\nssl.key.password=secret\\u12x4", "f")

    message = "f:2: ssl.key.password: has \\u without four hexadecimal digits"
    assert str(caught.value) == message


def test_a_value_without_a_name_is_refused():
    with pytest.raises(
        ConfigError, match=r"^f:2: line: has a value without a name: want name=value$"
    ):
        parse_properties("a=1\n= secret", "f")


def escape(text, *, name):
    out = []
    for position, char in enumerate(text):
        if char in "\\=:#!" or (char == " " and (name or position == 0)):
            out.append("\\" + char)
        elif char.isascii() and char.isprintable():
            out.append(char)
        else:
            units = char.encode("utf-16-be")
            out.append(f"\\u{units[:2].hex()}" + (f"\\u{units[2:].hex()}" if units[2:] else ""))
    return "".join(out)


texts = st.text(st.characters(exclude_categories=["Cs"]))


@pytest.mark.slow
@given(st.dictionaries(texts.filter(bool), texts))
def test_escaped_names_and_values_survive_a_round_trip(settings):
    text = "\n".join(
        f"{escape(name, name=True)}={escape(value, name=False)}" for name, value in settings.items()
    )

    assert values(text) == settings


@given(st.text())
def test_any_text_without_escapes_is_parsed_without_error(text):
    settings = parse_properties(text.replace("\\", "").replace("=", "").replace(":", ""), "f")

    assert all(setting.where.startswith("f:") for setting in settings.values())
