"""Fifty connections at once, each with requests in flight: answers in order, each record once."""

import struct
import threading
from collections.abc import Callable

import pytest

from tests.benchmarks import protocol
from tests.benchmarks.connection import connect
from tests.e2e.clients import new_topic, read
from trio_kafka.testing.processes import BrokerProcess

Size = Callable[[int, int], int]

pytestmark = [pytest.mark.slow, pytest.mark.timeout(300)]

CLIENTS = 50
DEPTH = 20
SMALL = 1 << 17  # no answer here is larger


def numbered(request: bytes, correlation: int) -> bytes:
    """The same request with this correlation id (after length, key and version)."""
    return request[:8] + struct.pack(">i", correlation) + request[12:]


def run_at_once(act: Callable[[int], None]) -> None:
    """`act(n)` in a thread for each client. AssertionError if one of them fails."""
    failed: list[object] = []

    def run(client: int) -> None:
        try:
            act(client)
        except Exception as error:
            failed.append((client, error))

    threads = [threading.Thread(target=run, args=(client,)) for client in range(CLIENTS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failed == []


@pytest.mark.parametrize("acks", [1, -1])
def test_pipelined_produce_requests_are_answered_in_order_and_append_each_record_once(
    shared_broker: BrokerProcess, size: Size, acks: int
) -> None:
    topic, bursts = new_topic(shared_broker), size(3, 50)

    def write(client: int) -> None:
        last = -1
        with connect(shared_broker.address, SMALL) as connection:
            for burst in range(bursts):
                first = burst * DEPTH
                batches = [
                    protocol.record_batch([b"%d %d" % (client, first + n)]) for n in range(DEPTH)
                ]
                requests = [protocol.produce_request(topic, batch, acks) for batch in batches]
                connection.send(
                    b"".join(numbered(request, first + n) for n, request in enumerate(requests))
                )
                for n in range(DEPTH):
                    answer = connection.answer()
                    assert struct.unpack_from(">i", answer) == (first + n,)
                    assert protocol.produce_error(topic, answer) == 0
                    (offset,) = struct.unpack_from(">q", answer, 4 + 4 + 2 + len(topic) + 4 + 4 + 2)
                    assert offset > last
                    last = offset

    run_at_once(write)

    result = [
        bytes(message.value()) for message in read(shared_broker, topic, CLIENTS * bursts * DEPTH)
    ]
    for client in range(CLIENTS):
        mine = [value for value in result if value.startswith(b"%d " % client)]
        assert mine == [b"%d %d" % (client, n) for n in range(bursts * DEPTH)]


def test_requests_of_all_kinds_are_answered_in_the_order_of_each_connection(
    shared_broker: BrokerProcess, size: Size
) -> None:
    topic, bursts = new_topic(shared_broker), size(3, 50)
    kinds = [
        protocol.frame(protocol.API_VERSIONS, 0),
        protocol.produce_request(topic, protocol.record_batch([b"value"]), acks=-1),
        protocol.metadata_request(topic),
        protocol.fetch_request(topic, 0, 1 << 16),
        protocol.produce_request(topic, protocol.record_batch([b"value"]), acks=1),
    ]

    def ask(client: int) -> None:
        with connect(shared_broker.address, SMALL) as connection:
            for burst in range(bursts):
                ids = [burst * DEPTH + n for n in range(DEPTH)]
                # A write comes before the first read: no fetch waits for long.
                connection.send(b"".join(numbered(kinds[(n + 1 + client) % 5], n) for n in ids))
                answers = [struct.unpack_from(">i", connection.answer())[0] for _ in ids]
                assert answers == ids

    run_at_once(ask)
