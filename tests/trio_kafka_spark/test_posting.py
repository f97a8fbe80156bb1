"""Posts to the broker: never in the way of the program."""

import json
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest

from trio_kafka_spark.posting import (
    LARGEST,
    MOST_WAITING,
    TOKEN,
    URL,
    Poster,
    encode,
    poster_of,
)


class Plane(ThreadingHTTPServer):
    """Takes posts as the broker does. `status`: its answer; `gate`: posts wait until it is set."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.bodies: list[Any] = []
        self.tokens: set[str | None] = set()
        self.status = 204
        self.gate = threading.Event()
        self.came = threading.Event()
        self.more = threading.Condition()
        self.gate.set()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}/pipelines/p/progress"


class Handler(BaseHTTPRequestHandler):
    server: Plane

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["content-length"]))
        self.server.came.set()
        self.server.gate.wait(20)
        self.server.tokens.add(self.headers["authorization"])
        with self.server.more:
            self.server.bodies.append(json.loads(body))
            self.server.more.notify_all()
        self.send_response(self.server.status)
        self.end_headers()

    def log_message(self, *_: object) -> None:
        """Says nothing."""


@contextmanager
def plane() -> Iterator[Plane]:
    with Plane() as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        try:
            yield server
        finally:
            server.gate.set()
            server.shutdown()
            thread.join()


def test_posts_arrive_in_order_with_the_token(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("http_proxy", "http://127.0.0.1:1")
    with plane() as server:
        poster = Poster(server.url, "s3cret")
        for number in range(10):
            poster.post("progress", {"id": "a", "batchId": number})
        poster.close(20)

        assert [body["query"]["batchId"] for body in server.bodies] == list(range(10))
        assert server.tokens == {"Bearer s3cret"}
        assert (poster.posted, poster.dropped) == (10, 0)
        assert "s3cret" not in repr(poster)


def test_posts_do_not_block_on_a_hanging_broker_and_the_oldest_are_dropped() -> None:
    with plane() as server:
        server.gate.clear()
        poster = Poster(server.url, "t")
        poster.post("progress", {"id": "a", "batchId": -1})
        assert server.came.wait(20)
        for number in range(MOST_WAITING + 50):
            poster.post("progress", {"id": "a", "batchId": number})
        assert poster.dropped == 50
        server.gate.set()
        poster.close(20)

        assert [body["query"]["batchId"] for body in server.bodies] == [-1, *range(50, 150)]


def test_a_rejected_token_ends_posting_and_drops_later_posts() -> None:
    with plane() as server:
        server.status = 401
        poster = Poster(server.url, "t")
        poster.post("started", {"id": "a"})
        poster.close(20)
        poster.post("started", {"id": "b"})

        assert len(server.bodies) == 1
        assert (poster.posted, poster.dropped) == (0, 2)


@pytest.mark.parametrize("url", ["http://127.0.0.1:1/x", "http://plane.example:port/", "nonsense"])
def test_a_post_to_an_unreachable_broker_is_dropped_without_an_error(url: str) -> None:
    poster = Poster(url, "t")
    poster.post("started", {"id": "a"})
    poster.close(20)

    assert (poster.posted, poster.dropped) == (0, 1)


def test_a_failed_post_is_dropped_and_the_next_post_is_sent() -> None:
    with plane() as server:
        server.status = 503
        poster = Poster(server.url, "t")
        poster.post("started", {"id": "a"})
        with poster._more:
            assert poster._more.wait_for(lambda: poster.dropped, 20)
        server.status = 204
        poster.post("started", {"id": "b"})
        poster.close(20)

        assert (poster.posted, poster.dropped) == (1, 1)


def test_a_post_just_before_the_end_of_a_program_arrives() -> None:
    program = (
        "from trio_kafka_spark.posting import poster_of; poster_of().post('started', {'id': 'a'})"
    )
    with plane() as server:
        environment = {URL: server.url, TOKEN: "t"}
        subprocess.run([sys.executable, "-c", program], env=environment, check=True)

        assert [body["query"]["id"] for body in server.bodies] == ["a"]


def test_a_program_without_url_and_token_has_no_poster() -> None:
    assert poster_of({}) is None
    assert poster_of({URL: "http://plane.example"}) is None
    poster = poster_of({URL: "http://plane.example", TOKEN: "t"})
    assert poster is not None
    assert poster.url == "http://plane.example"


def test_an_encoded_post_stays_within_its_size_limit() -> None:
    def source(count: int) -> dict[str, Any]:
        offsets = {"topic": {str(number): 10**9 for number in range(count)}}
        return {
            "description": "d",
            "startOffset": offsets,
            "endOffset": offsets,
            "latestOffset": offsets,
        }

    def names(count: int) -> set[str]:
        body = encode("progress", {"id": "a", "sources": [source(count)]})
        assert body is not None
        assert len(body) <= LARGEST
        return set(json.loads(body)["query"]["sources"][0])

    assert names(100) == {"description", "startOffset", "endOffset", "latestOffset"}
    assert names(2700) == {"description", "endOffset", "latestOffset"}
    assert names(100_000) == {"description"}
    assert encode("progress", {"id": "x" * LARGEST}) is None
    assert encode("progress", {"id": object()}) is None
