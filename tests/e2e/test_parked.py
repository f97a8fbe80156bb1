"""Requests that wait, in a broker with one handler: they hold up nobody, and leave nothing."""

import struct
import threading
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from tests.benchmarks import protocol
from tests.benchmarks.connection import Connection, connect
from tests.e2e.clients import new_topic
from tests.e2e.tree import quiet_tree, read_tree, total
from tests.e2e.witness import witness
from trio_kafka.protocol.messages.k19_create_topics import CreatableTopic, CreateTopicsRequest
from trio_kafka.testing.processes import BrokerProcess, broker_process
from trio_kafka.testing.scripted_client import request_frame

pytestmark = [pytest.mark.slow, pytest.mark.timeout(120)]

SMALL = 1 << 16  # no answer here is larger
LONG_MS = 60_000


@pytest.fixture
def broker(tmp_path: Path) -> Iterator[BrokerProcess]:
    with broker_process(tmp_path, "num.io.threads=1") as broker:
        yield broker


def poll(topic: str) -> bytes:
    """Fetch 4 of what is not there yet, waiting for long."""
    head = struct.pack(">iiiibi", -1, LONG_MS, 1, 1 << 20, 0, 1) + protocol.string(topic)
    return protocol.frame(protocol.FETCH, 4, head + struct.pack(">iiqi", 1, 0, 0, 1 << 20))


def wait_until_parked(broker: BrokerProcess, count: int) -> None:
    pause = threading.Event()
    for _ in range(500):
        if total(read_tree(broker), "purgatory", "waiting") == count:
            return
        pause.wait(0.02)  # nothing tells another process
    raise AssertionError(f"not {count} requests are parked")


def test_hundred_parked_fetches_do_not_delay_requests_with_one_io_thread(
    broker: BrokerProcess,
) -> None:
    topic, other = new_topic(broker), new_topic(broker)
    with ExitStack() as stack:
        pollers = [stack.enter_context(connect(broker.address, SMALL)) for _ in range(100)]
        for poller in pollers:
            poller.send(poll(topic))
        wait_until_parked(broker, 100)

        with witness(broker, other), connect(broker.address, SMALL) as maker:
            for n in range(20):  # each takes the one token, and gives it back while it waits
                request = CreateTopicsRequest([CreatableTopic(f"made-{n}", 1, 1)], timeout_ms=9000)
                maker.call(request_frame(request, 5))
        for poller in pollers[:40]:
            poller.socket.close()
        wait_until_parked(broker, 60)
        write(broker, topic)
        for poller in pollers[40:]:
            assert protocol.fetch_answer(topic, poller.answer())[1] == 1

    quiet_tree(broker)


def write(broker: BrokerProcess, topic: str) -> None:
    with connect(broker.address, SMALL) as connection:
        request = protocol.produce_request(topic, protocol.record_batch([b"value"]), acks=1)
        assert protocol.produce_error(topic, connection.call(request)) == 0


def test_limiter_tokens_return_when_clients_disconnect_with_waiting_requests(
    broker: BrokerProcess,
) -> None:
    topic = new_topic(broker)

    for n in range(50):
        with connect(broker.address, SMALL) as leaving:
            request = CreateTopicsRequest([CreatableTopic(f"left-{n}", 1, 1)], timeout_ms=9000)
            leaving.send(request_frame(request, 5) + poll(topic))

    quiet_tree(broker)
    with connect(broker.address, SMALL) as connection:
        assert still_serves(connection)


def still_serves(connection: Connection) -> bool:
    """Also what needs the one token."""
    request = CreateTopicsRequest([CreatableTopic("x", 1, 1)], timeout_ms=9000, validate_only=True)
    return len(connection.call(request_frame(request, 5))) > 8
