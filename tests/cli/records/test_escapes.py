"""Escapes in options, and of what a terminal must not see."""

import pytest

from trio_kafka.cli.records.escapes import show_bytes, unescape


def test_escapes_stand_for_their_bytes():
    assert unescape(r"a\tb\n\x00\xff\\n\r\0") == b"a\tb\n\x00\xff\\n\r\0"


@pytest.mark.parametrize("text", [r"\q", "a\\", r"\xg0"])
def test_unknown_escape_is_rejected(text):
    with pytest.raises(ValueError, match="escape"):
        unescape(text)


def test_bytes_for_a_terminal_are_escaped_unless_they_are_text():
    assert show_bytes("tea ☕\n".encode()) == "tea ☕\n"
    assert show_bytes(b"\x1b[2J\xff\x00") == "\\x1b[2J\\xff\\x00"
