"""HTTP client of commands, against a server in a thread."""

import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from typing import ClassVar

import pytest

from trio_kafka.cli import FAILED, CommandFailedError
from trio_kafka.cli.http_client import TOKEN, read_json

PAGES = {
    "/ui/good": (200, b'{"a": 1}'),
    "/ui/no-json": (200, b"<html>"),
    "/ui/refused": (503, b'{"message": "too many requests at once"}'),
    "/ui/bare": (500, b"oops"),
}


class Handler(BaseHTTPRequestHandler):
    tokens: ClassVar[list[str | None]] = []

    def do_GET(self) -> None:
        self.tokens.append(self.headers["Authorization"])
        status, body = PAGES.get(self.path, (404, b"{}"))
        self.send_response(status)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        """Print nothing."""


@pytest.fixture
def at() -> Iterator[str]:
    Handler.tokens = []
    with HTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}/ui"
        server.shutdown()
        thread.join()


def test_document_is_read_with_the_token_of_the_environment(
    at: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert read_json(at, "good", 5.0) == {"a": 1}
    monkeypatch.setenv(TOKEN, "secret")
    assert read_json(f"{at}/", "good", 5.0) == {"a": 1}
    assert Handler.tokens == [None, "Bearer secret"]


@pytest.mark.parametrize(
    ("path", "words"),
    [
        ("no-json", "no admin UI answers there"),
        ("refused", "too many requests at once"),
        ("bare", "status 500"),
        ("nothing", "status 404"),
    ],
)
def test_answer_that_is_no_document_is_one_line(at: str, path: str, words: str) -> None:
    with pytest.raises(CommandFailedError, match=words) as failed:
        read_json(at, path, 5.0)
    assert failed.value.status == FAILED


def test_address_without_a_server_and_one_that_is_no_http_are_named() -> None:
    with pytest.raises(CommandFailedError, match=r"^http://127.0.0.1:1: .*is the broker running"):
        read_json("http://127.0.0.1:1", "a", 5.0)
    with pytest.raises(CommandFailedError, match="begins with http://"):
        read_json("file:///etc", "a", 5.0)
