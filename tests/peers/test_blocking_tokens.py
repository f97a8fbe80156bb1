"""Attempts to read a token: files, and an endpoint in a thread."""

import base64
import socket
import ssl
import threading
import time
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import attrs
import pytest

from tests.security.tokens.endpoint import token_endpoint
from trio_kafka.peers.blocking_tokens import TokenRefusedError, read_source
from trio_kafka.security.tls.development import LOCAL_HOSTS, Identity
from trio_kafka.security.tls.settings import TlsSettings
from trio_kafka.security.tokens.sources import (
    GivenToken,
    TokenEndpoint,
    TokenFile,
    UnsecuredClaims,
)

GOOD = (200, {"access_token": " t.o.k ", "token_type": "Bearer"})


def asking(url: str, **more: Any) -> TokenEndpoint:
    return TokenEndpoint(url=url, client_id="m/e", client_secret="s 3cret", **more)


def test_given_and_unsecured_tokens_need_no_other_party():
    assert read_source(GivenToken("t.o.k"), 0.0) == "t.o.k"
    assert (
        read_source(UnsecuredClaims({"unsecuredLoginStringClaim_sub": "ann"}), 0.0).count(".") == 2
    )


def test_a_file_is_read_anew_each_time(tmp_path: Path):
    path = tmp_path / "token"
    for text in ("one\n", "two"):
        path.write_text(text)
        assert read_source(TokenFile(str(path)), 0.0) == text.strip()


@pytest.mark.parametrize(
    ("content", "reason"),
    [(None, "No such file"), (b"\xff", "holds no token"), (bytes(2 << 20), "more than 1048576")],
)
def test_file_without_a_token_is_refused_by_its_path(tmp_path, content, reason):
    path = tmp_path / "token"
    if content is not None:
        path.write_bytes(content)

    with pytest.raises(TokenRefusedError, match=rf"^{path}: .*{reason}"):
        read_source(TokenFile(str(path)), 0.0)


def test_a_client_sends_its_credentials_and_scope_and_gets_a_token():
    with token_endpoint(lambda: GOOD) as endpoint:
        source = asking(endpoint.url, scope="a b")

        assert read_source(source, 0.0) == "t.o.k"
        assert read_source(attrs.evolve(source, urlencode=True, scope=""), 0.0) == "t.o.k"

    sent = [
        (base64.b64decode((request.credentials or "").removeprefix("Basic ")), request.form)
        for request in endpoint.requests
    ]
    assert sent == [
        (b"m/e:s 3cret", b"grant_type=client_credentials&scope=a+b"),
        (b"m%2Fe:s+3cret", b"grant_type=client_credentials"),
    ]


@pytest.mark.parametrize(
    ("status", "document", "reason"),
    [
        (
            401,
            {"error": "invalid_client", "error_description": "no \x1b you"},
            "401 .invalid_client: no \\? you",
        ),
        (400, {"error": "s 3cret is wrong"}, "answered 400$"),
        (400, {"error": "s+3cret"}, "answered 400$"),
        (400, {"error": base64.b64encode(b"m/e:s 3cret").decode()}, "answered 400$"),
        (404, b"<html>", "answered 404$"),
        (302, b"", "a redirect is not followed"),
        (200, b"<html>", "has no access_token"),
        (200, [], "has no access_token"),
        (200, {"access_token": 7}, "has no access_token"),
        (200, {"access_token": " "}, "has no access_token"),
        (200, bytes(2 << 20), "more than 1048576 bytes"),
    ],
)
def test_endpoint_that_gives_no_token_is_an_error_that_no_retry_mends(status, document, reason):
    with (
        token_endpoint(lambda: (status, document)) as endpoint,
        pytest.raises(TokenRefusedError, match=reason) as refused,
    ):
        read_source(asking(endpoint.url), 0.0)

    assert "3cret" not in str(refused.value)
    assert "bS9lOnMgM2NyZXQ" not in str(refused.value)
    assert len(endpoint.requests) == 1


@pytest.mark.parametrize("status", [408, 429, 500, 503, 204])
def test_endpoint_in_trouble_is_an_error_that_a_retry_may_mend(status):
    with (
        token_endpoint(lambda: (status, b"")) as endpoint,
        pytest.raises(OSError, match=rf"/token: answered {status}"),
    ):
        read_source(asking(endpoint.url), 0.0)


def test_endpoint_that_cannot_be_reached_or_is_no_http_may_be_tried_again():
    with pytest.raises(OSError, match=r"^http://[0-9.]+:1/: .*refused"):
        read_source(asking("http://127.0.0.1:1/"), 0.0)
    with Peer(b"SSH-2.0-x\r\n\r\n") as url, pytest.raises(OSError, match="no answer of HTTP"):
        read_source(asking(url), 0.0)


class Peer:
    """A server of one connection, which sends a text and stays open until the block ends."""

    def __init__(self, first: bytes, again: bytes = b"", every_s: float = 0.0) -> None:
        self._first, self._again, self._every_s = first, again, every_s
        self._ended = threading.Event()

    def __enter__(self) -> str:
        self._socket = socket.create_server(("127.0.0.1", 0))
        self._thread = threading.Thread(target=self._serve)
        self._thread.start()
        return f"http://127.0.0.1:{self._socket.getsockname()[1]}/token"

    def __exit__(self, *_: object) -> None:
        self._ended.set()
        self._thread.join()
        self._socket.close()

    def _serve(self) -> None:
        connected, _ = self._socket.accept()
        with connected:
            connected.sendall(self._first)
            try:
                while not self._ended.wait(self._every_s or None):
                    connected.sendall(self._again)
            except OSError:
                pass


@pytest.mark.parametrize("first", [b"HTTP/1.1 200 OK\r\n", b"HTTP/1.1 200 OK\r\n\r\n{"])
def test_endpoint_that_answers_byte_by_byte_is_left_at_the_deadline(first):
    began = time.monotonic()
    with (
        Peer(first, again=b"a", every_s=0.02) as url,
        pytest.raises(OSError, match="timed out"),
    ):
        read_source(asking(url, connect_s=0.1, read_s=0.1), 0.0)

    assert time.monotonic() - began < 8


@pytest.fixture
def authority(tmp_path: Path) -> tuple[str, ssl.SSLContext]:
    """The PEM of a CA, and the context of a server with a certificate of it."""
    now = datetime.now(UTC)
    ca = Identity.authority(now, "test")
    identity = ca.issue(now, "endpoint", hosts=LOCAL_HOSTS)
    (tmp_path / "server.pem").write_text(identity.key_pem() + identity.pem)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(tmp_path / "server.pem")
    return ca.pem, context


def test_certificate_of_an_endpoint_is_checked(authority):
    pem, context = authority
    trusting = TlsSettings(truststore_type="PEM", truststore_certificates=pem)
    with token_endpoint(lambda: GOOD, tls=context) as endpoint:
        assert read_source(asking(endpoint.url, tls=trusting), 0.0) == "t.o.k"
        with pytest.raises(TokenRefusedError, match="its certificate is not accepted"):
            read_source(asking(endpoint.url), 0.0)

    assert len(endpoint.requests) == 1


def test_store_of_an_endpoint_that_cannot_be_read_is_named():
    tls = TlsSettings(truststore_location="/none.pem")
    with pytest.raises(TokenRefusedError, match=r"^sasl\.jaas\.config: ssl\.truststore\.location"):
        read_source(asking("https://127.0.0.1:1/", tls=tls), 0.0)
