"""HTTP with a deadline for the whole answer."""

import time
import urllib.error
import urllib.request

import pytest

from tests.peers.test_blocking_tokens import Peer
from tests.security.tokens.endpoint import token_endpoint
from trio_kafka.peers.blocking_http import timed_opener


def test_answer_is_read_to_its_end() -> None:
    with token_endpoint(lambda: (200, b"x" * 200_000)) as endpoint:
        opener = timed_opener(time.monotonic() + 10)
        with opener.open(endpoint.url, timeout=5) as answer:
            assert answer.read() == b"x" * 200_000


def test_redirect_is_an_error_and_not_followed() -> None:
    with token_endpoint(lambda: (307, b"")) as endpoint:
        opener = timed_opener(time.monotonic() + 10)
        with pytest.raises(urllib.error.HTTPError, match="307") as caught:
            opener.open(endpoint.url, timeout=5)
        caught.value.close()

    assert len(endpoint.requests) == 1


def test_proxy_of_the_environment_is_used(monkeypatch: pytest.MonkeyPatch) -> None:
    with token_endpoint(lambda: (200, b"by proxy")) as endpoint:
        monkeypatch.setenv("http_proxy", endpoint.url.removesuffix("/token"))
        monkeypatch.delenv("no_proxy", raising=False)
        opener = timed_opener(time.monotonic() + 10)
        with opener.open("http://issuer.example/token", timeout=5) as answer:
            assert answer.read() == b"by proxy"


def test_answer_that_comes_byte_by_byte_ends_at_the_deadline() -> None:
    began = time.monotonic()
    opener = timed_opener(began + 0.2)
    with (
        Peer(b"HTTP/1.1 200 OK\r\nA: ", again=b"a", every_s=0.02) as url,
        pytest.raises(TimeoutError, match="timed out"),
    ):
        opener.open(url, timeout=0.1)

    assert time.monotonic() - began < 8
