"""Posts progress to the broker that runs this program as a pipeline, from a thread of its own.

A query never waits for it: what does not fit into the queue replaces the oldest post, and a post
that fails is dropped. The plugin `pipelines` gives URL and token by environment, to each child its
own.
"""

import atexit
import os
import threading
from collections import deque
from collections.abc import Mapping
from http.client import HTTPException
from typing import Any, Final
from urllib.error import HTTPError
from urllib.request import ProxyHandler, Request, build_opener

from trio_kafka.strict_json import dump_json

URL: Final = "TRIO_KAFKA_PIPELINE_URL"
TOKEN: Final = "TRIO_KAFKA_PIPELINE_TOKEN"  # noqa: S105 - the name of a variable
MOST_WAITING: Final = 100
LARGEST: Final = 120_000  # bytes of a body: the broker takes 131,072 unless a setting says other
_TIMEOUT_S: Final = 5.0
_LAST_POSTS_S: Final = 2.0  # for what still waits when the program ends
_WRONG_TOKEN: Final = 401


class Poster:
    """One thread that posts. It begins with the first post; the token is never shown."""

    def __init__(self, url: str, token: str) -> None:
        self.url = url
        self.posted = self.dropped = 0
        self._token = token
        self._waiting: deque[bytes] = deque()
        self._more = threading.Condition()
        self._thread: threading.Thread | None = None
        self._is_closed = False
        self._is_busy = False
        # The broker is on this machine: no proxy.
        self._opener = build_opener(ProxyHandler({}))

    def __repr__(self) -> str:
        return f"Poster({self.url!r})"

    def post(self, event: str, query: Mapping[str, object]) -> None:
        """Queue a post. Never waits, never raises for what the broker does."""
        body = encode(event, query)
        with self._more:
            if self._is_closed or body is None:
                self.dropped += 1
                return
            if len(self._waiting) >= MOST_WAITING:
                self._waiting.popleft()
                self.dropped += 1
            self._waiting.append(body)
            if self._thread is None:
                self._thread = threading.Thread(target=self._run, name="progress", daemon=True)
                self._thread.start()
                atexit.register(self.close)
            self._more.notify_all()

    def close(self, timeout_s: float = _LAST_POSTS_S) -> None:
        """Post what waits, for `timeout_s` at most, and take no more. Idempotent."""
        with self._more:
            self._more.wait_for(lambda: not self._waiting and not self._is_busy, timeout_s)
            self._end()

    def _run(self) -> None:
        while True:
            with self._more:
                self._is_busy = False
                self._more.notify_all()
                self._more.wait_for(lambda: self._waiting or self._is_closed)
                if self._is_closed:
                    return
                self._is_busy = True
                body = self._waiting.popleft()
            self._send(body)

    def _send(self, body: bytes) -> None:
        headers = {"Authorization": f"Bearer {self._token}", "Content-Type": "application/json"}
        try:
            request = Request(self.url, body, headers, method="POST")  # noqa: S310 - of the broker
            with self._opener.open(request, timeout=_TIMEOUT_S) as answer:
                answer.read()
        except HTTPError as error:
            error.close()
            with self._more:
                self.dropped += 1
                if error.code == _WRONG_TOKEN:  # this child is none of the broker's any more
                    self._end()
        except (OSError, HTTPException, ValueError):
            with self._more:
                self.dropped += 1
        else:
            with self._more:
                self.posted += 1

    def _end(self) -> None:
        self._is_closed = True
        self.dropped += len(self._waiting)
        self._waiting.clear()
        self._more.notify_all()


def poster_of(environment: Mapping[str, str] = os.environ) -> Poster | None:
    """Return a poster to the broker whose child this program is; None: it is no broker's."""
    url, token = environment.get(URL), environment.get(TOKEN)
    return Poster(url, token) if url and token else None


def encode(event: str, query: Mapping[str, Any]) -> bytes | None:
    """Return the body of a post, within its bound; None if it cannot be.

    Offsets are left out where a source has too many partitions.
    """
    for left_out in ((), ("startOffset",), ("startOffset", "endOffset", "latestOffset")):
        sources = [
            {name: value for name, value in source.items() if name not in left_out}
            for source in query.get("sources", ())
        ]
        posted = {**query, "sources": sources} if sources else dict(query)
        try:
            body = dump_json({"event": event, "query": posted}, compact=True).encode()
        except TypeError:
            return None
        if len(body) <= LARGEST:
            return body
    return None
