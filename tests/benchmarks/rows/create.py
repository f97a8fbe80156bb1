"""Many topics in one request: how long it takes, what it costs, how long others wait meanwhile."""

import threading
import time
from typing import Final
from uuid import uuid4

from tests.benchmarks.bounds import at_most
from tests.benchmarks.brokers import DELETE_DELAY_S
from tests.benchmarks.connection import connect
from tests.benchmarks.figures import Figure, Figures
from tests.benchmarks.rows.beside import EVERY_S, ask_on_time
from tests.benchmarks.rows.registry import Target, row
from trio_kafka.protocol.compiler import decoder
from trio_kafka.protocol.messages.k19_create_topics import (
    CreatableTopic,
    CreateTopicsRequest,
    CreateTopicsResponse,
)
from trio_kafka.protocol.messages.k20_delete_topics import (
    DeleteTopicsRequest,
    DeleteTopicsResponse,
)
from trio_kafka.testing.processes import Address
from trio_kafka.testing.scripted_client import request_frame

_WITHIN_MS: Final = 60_000
_ASKED_S: Final = 0.25


@row(
    "create-topics",
    at_most("took", must=5, aim=3),
    at_most("p99 beside it", must=20, aim=5),
    topics=900,  # Apache Kafka refuses requests that make more than 10,000 records of metadata
    partitions=10,
)
def create_topics(target: Target, topics: int, partitions: int) -> Figures:
    """CreateTopics, one request; another connection asks for ApiVersions each millisecond.

    Run it once and without warm-ups (`--repetitions 1 --warm-ups 0`), a minute after the last row:
    ext4 without a journal gives no inode that was deleted within the last minute to a new file, and
    looks through all of them for each one. That made 11 s of 2.
    """
    address = target.broker.address
    names = [f"bench-{uuid4().hex[:8]}-{number}" for number in range(topics)]
    expected = [CreatableTopic(name, partitions, 1) for name in names]
    took_s: list[float] = []
    response = CreateTopicsResponse()
    try:
        with target.meter() as meter:
            creating = _Creating(address, CreateTopicsRequest(expected, timeout_ms=_WITHIN_MS))
            creating.start()
            while not took_s or creating.is_alive():
                took_s += ask_on_time(address, EVERY_S, _ASKED_S)
        response = creating.answer()
    finally:
        _delete(address, [topic.name for topic in response.topics if not topic.error_code])
        time.sleep(DELETE_DELAY_S)
        target.broker.server.wait_until_idle()
    if failed := [topic for topic in response.topics if topic.error_code]:
        raise ValueError(f"CreateTopics: {len(failed)} failed, one with {failed[0].error_code}")
    took_s.sort()
    return {
        "took": Figure(creating.took_s, "s"),
        "server CPU": Figure(meter.server_cpu_s, "s"),
        "p99 beside it": Figure(took_s[int(len(took_s) * 0.99)] * 1e3, "ms"),
        "longest beside it": Figure(took_s[-1] * 1e3, "ms"),
    }


class _Creating(threading.Thread):
    """Waits for the answer, without needing this process's interpreter."""

    def __init__(self, address: Address, request: CreateTopicsRequest) -> None:
        super().__init__(daemon=True)
        self.took_s = 0.0
        self._address = address
        self._frame = request_frame(request, 5)
        self._content = b""

    def run(self) -> None:
        began = time.perf_counter()
        with connect(self._address) as connection:
            connection.socket.settimeout(2 * _WITHIN_MS / 1000)
            self._content = bytes(connection.call(self._frame))
        self.took_s = time.perf_counter() - began

    def answer(self) -> CreateTopicsResponse:
        """Raises ConnectionError if there is none."""
        if not self._content:
            raise ConnectionError("no answer to CreateTopics")
        return decoder(CreateTopicsResponse, 5)(self._content, 5)[0]


def _delete(address: Address, names: list[str]) -> None:
    request = DeleteTopicsRequest(topic_names=names, timeout_ms=_WITHIN_MS)
    with connect(address) as connection:
        connection.socket.settimeout(2 * _WITHIN_MS / 1000)
        content = bytes(connection.call(request_frame(request, 4)))
    answer = decoder(DeleteTopicsResponse, 4)(content, 5)[0]
    if failed := [response for response in answer.responses if response.error_code]:
        raise ValueError(f"DeleteTopics: {len(failed)} failed, one with {failed[0].error_code}")
