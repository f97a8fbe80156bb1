"""The client of the controls: addresses, tokens, failures, and how rules are shown."""

import socketserver
import threading
from collections.abc import Iterator

import pytest

from trio_kafka_builtin.fault_commands.client import ControlError, ask, show

RULE = {"name": "a", "topic": "t", "delay_s": [1, 2], "seen": 3, "hits": 2, "held": 0}


def test_rules_are_shown_as_a_table(capsys: pytest.CaptureFixture[str]) -> None:
    show([RULE], as_json=False)

    assert capsys.readouterr().out.splitlines() == [
        "NAME  SEEN  HITS  HELD  RULE",
        "a        3     2     0  topic=t delay_s=[1,2]",
    ]


def test_rules_are_shown_as_json(capsys: pytest.CaptureFixture[str]) -> None:
    show([RULE], as_json=True)

    assert '"name": "a"' in capsys.readouterr().out


@pytest.mark.parametrize(
    ("at", "why"),
    [
        (None, "no address: give --at URL or set TRIO_KAFKA_TESTING"),
        ("ftp://127.0.0.1:1", "want an address that begins with http://"),
        ("https://127.0.0.1:1", "is the broker running"),
        ("http://127.0.0.1:1", "is the broker running"),
    ],
)
def test_the_error_of_a_missing_or_unreachable_address_says_what_to_do(
    at: str | None, why: str
) -> None:
    with pytest.raises(ControlError, match=why):
        ask(at, "GET")


class OtherServer(socketserver.StreamRequestHandler):
    """Answers every request with a page."""

    def handle(self) -> None:
        self.rfile.readline()
        self.wfile.write(b"HTTP/1.0 200 OK\r\n\r\n<html>")


@pytest.fixture
def other_server() -> Iterator[str]:
    with socketserver.TCPServer(("127.0.0.1", 0), OtherServer) as server:
        thread = threading.Thread(target=server.handle_request)
        thread.start()
        yield f"http://127.0.0.1:{server.server_address[1]}"
        thread.join(10)


def test_an_answer_that_is_not_json_is_explained(other_server: str) -> None:
    with pytest.raises(ControlError, match="the answer is not JSON"):
        ask(other_server, "GET")
