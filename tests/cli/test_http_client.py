"""HTTP client of commands, against a server in a thread."""

import ssl
import threading
from collections.abc import Iterator
from datetime import UTC, datetime
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import ClassVar

import pytest

from trio_kafka.cli import FAILED, CommandFailedError
from trio_kafka.cli.http_address import CA, PASSWORD, TOKEN, USER, HttpAddress, HttpCredentials
from trio_kafka.cli.http_client import read_json
from trio_kafka.security.tls.development import LOCAL_HOSTS, Identity

PAGES = {
    "/ui/good": (200, b'{"a": 1}'),
    "/ui/no-json": (200, b"<html>"),
    "/ui/refused": (503, b'{"message": "too many requests at once"}'),
    "/ui/bare": (500, b"oops"),
    "/ui/moved": (302, b""),
}


class Handler(BaseHTTPRequestHandler):
    tokens: ClassVar[list[str | None]] = []

    def do_GET(self) -> None:
        self.tokens.append(self.headers["Authorization"])
        status, body = PAGES.get(self.path, (404, b"{}"))
        self.send_response(status)
        if status == 302:
            self.send_header("Location", "/ui/good")
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


def test_a_user_of_the_environment_is_sent_where_no_token_is(
    at: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(USER, "ann")
    monkeypatch.setenv(PASSWORD, "s:ü")
    assert read_json(at, "good", 5.0) == {"a": 1}
    monkeypatch.setenv(TOKEN, "secret")
    assert read_json(at, "good", 5.0) == {"a": 1}
    assert Handler.tokens == ["Basic YW5uOnM6w7w=", "Bearer secret"]


def test_credentials_of_an_address_go_before_those_of_the_environment(
    at: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(TOKEN, "secret")

    assert read_json(HttpAddress(at, HttpCredentials(token="own")), "good", 5.0) == {"a": 1}
    assert read_json(HttpAddress(at, HttpCredentials()), "good", 5.0) == {"a": 1}
    assert Handler.tokens == ["Bearer own", None]


def test_a_password_leaves_this_machine_over_tls_only(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(USER, "ann")
    with pytest.raises(CommandFailedError, match="the password of ann needs https://"):
        read_json("http://kafka.example:8080/ui", "good", 5.0)


def test_https_is_spoken_with_servers_that_the_ca_vouches_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    now = datetime.now(UTC)
    authority = Identity.authority(now, "test")
    identity = authority.issue(now, "broker", hosts=LOCAL_HOSTS)
    files = {"ca.pem": authority.pem, "server.pem": identity.key_pem() + identity.pem}
    for name, text in files.items():
        (tmp_path / name).write_text(text)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(tmp_path / "server.pem")
    with HTTPServer(("127.0.0.1", 0), Handler) as server:
        server.socket = context.wrap_socket(server.socket, server_side=True)
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        try:
            at = f"https://127.0.0.1:{server.server_port}/ui"
            with pytest.raises(
                CommandFailedError, match=f"certificate.*; name the file .* by --ca or {CA}"
            ):
                read_json(at, "good", 5.0)
            monkeypatch.setenv(CA, str(tmp_path / "ca.pem"))
            assert read_json(at, "good", 5.0) == {"a": 1}
            monkeypatch.setenv(CA, str(tmp_path / "none.pem"))
            with pytest.raises(CommandFailedError, match=r"none\.pem: .*No such file"):
                read_json(at, "good", 5.0)
        finally:
            server.shutdown()
            thread.join()


@pytest.mark.parametrize(
    ("path", "words"),
    [
        ("no-json", "no admin UI answers there"),
        ("refused", "too many requests at once"),
        ("bare", "status 500"),
        ("nothing", "status 404"),
        ("moved", "status 302"),
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
