"""A client that keeps to the bytes: order of answers, and requests that have none."""

import struct

import pytest

from tests.benchmarks import protocol
from tests.benchmarks.connection import connect
from tests.e2e.clients import new_topic, read, values_of
from trio_kafka.testing.processes import BrokerProcess

pytestmark = pytest.mark.slow


def numbered(request: bytes, correlation: int) -> bytes:
    """The same request with this correlation id (after length, key and version)."""
    return request[:8] + struct.pack(">i", correlation) + request[12:]


def test_pipelined_requests_are_answered_in_order(shared_broker: BrokerProcess) -> None:
    topic = new_topic(shared_broker)
    batch = protocol.record_batch([b"value"])
    kinds = [
        protocol.frame(protocol.API_VERSIONS, 0),
        protocol.produce_request(topic, batch, acks=1),
        protocol.metadata_request(topic),
        protocol.produce_request(topic, batch, acks=-1),
        protocol.fetch_request(topic, 0, 1 << 20),
    ]
    requests = [numbered(kinds[n % len(kinds)], n) for n in range(200)]

    with connect(shared_broker.address) as connection:
        connection.send(b"".join(requests))
        answers = [struct.unpack_from(">i", connection.answer())[0] for _ in requests]

    assert answers == list(range(200))


def test_request_after_a_waiting_fetch_is_answered_after_the_fetch(
    shared_broker: BrokerProcess,
) -> None:
    topic = new_topic(shared_broker)
    waits = numbered(protocol.fetch_request(topic, 0, 1 << 20), 1)

    with connect(shared_broker.address) as connection:
        connection.send(waits + numbered(protocol.frame(protocol.API_VERSIONS, 0), 2))
        answers = [struct.unpack_from(">i", connection.answer())[0] for _ in range(2)]

    assert answers == [1, 2]


def test_produce_with_acks_0_gets_no_response_and_the_next_request_is_answered(
    shared_broker: BrokerProcess,
) -> None:
    topic = new_topic(shared_broker)
    silent = protocol.produce_request(topic, protocol.record_batch([b"unheard"]), acks=0)

    with connect(shared_broker.address) as connection:
        for n in range(3):
            connection.send(numbered(silent, n))
        connection.send(numbered(protocol.frame(protocol.API_VERSIONS, 0), 77))
        assert struct.unpack_from(">i", connection.answer()) == (77,)

    assert values_of(read(shared_broker, topic, 3)) == [b"unheard"] * 3


def test_produce_with_acks_0_is_appended_when_the_client_disconnects_at_once(
    shared_broker: BrokerProcess,
) -> None:
    topic = new_topic(shared_broker)
    silent = protocol.produce_request(topic, protocol.record_batch([b"unheard"]), acks=0)

    with connect(shared_broker.address) as connection:
        connection.send(silent * 20)

    assert values_of(read(shared_broker, topic, 20)) == [b"unheard"] * 20


def test_request_sent_byte_by_byte_is_answered(shared_broker: BrokerProcess) -> None:
    request = protocol.frame(protocol.API_VERSIONS, 0)

    with connect(shared_broker.address) as connection:
        for byte in request:
            connection.send(bytes([byte]))
        assert struct.unpack_from(">ih", connection.answer()) == (7, 0)


@pytest.mark.parametrize(
    "bad",
    [
        pytest.param(b"GET / HTTP/1.1\r\nHost: a\r\n\r\n", id="another protocol"),
        pytest.param(struct.pack(">i", -1), id="a negative size"),
        pytest.param(struct.pack(">i", 2**31 - 1), id="a size above the limit"),
        pytest.param(protocol.frame(30_000, 0), id="an unknown API key"),
        pytest.param(protocol.frame(protocol.METADATA, 99), id="an unknown version"),
        pytest.param(protocol.frame(protocol.METADATA, 4, b"\x7f\xff\xff\xff"), id="a false count"),
    ],
)
def test_invalid_request_closes_only_its_own_connection(
    shared_broker: BrokerProcess, bad: bytes
) -> None:
    with connect(shared_broker.address) as other, connect(shared_broker.address) as connection:
        connection.send(bad)
        with pytest.raises(ConnectionError):
            connection.answer()

        assert other.call(protocol.frame(protocol.API_VERSIONS, 0))
