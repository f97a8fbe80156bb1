import getpass
import io
import sys
from pathlib import Path

import pytest

from trio_kafka.cli import CommandFailedError
from trio_kafka.cli.passwords import read_password


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_a_password_is_asked_for_twice_on_a_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    answers = ["s3cret", "s3cret", "one", "other"]
    monkeypatch.setattr(sys, "stdin", Terminal())
    monkeypatch.setattr(getpass, "getpass", lambda _prompt: answers.pop(0))

    assert read_password(None, "ann") == "s3cret"
    with pytest.raises(CommandFailedError, match="the two passwords differ"):
        read_password(None, "ann")


def test_a_password_is_the_first_line_of_a_file(tmp_path: Path) -> None:
    file = tmp_path / "password"
    file.write_bytes("pä ss\r\nmore\n".encode())

    assert read_password(str(file), "ann") == "pä ss"
    file.write_bytes(b"\xff")
    with pytest.raises(CommandFailedError, match="not a text in utf-8"):
        read_password(str(file), "ann")
