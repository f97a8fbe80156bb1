"""Clients that lie, stall, flood and never read, against a broker process with an honest client."""

import socket
import struct
import time
from collections.abc import Callable
from contextlib import ExitStack, suppress
from pathlib import Path
from random import Random

import pytest
import trio

from tests.benchmarks import protocol
from tests.benchmarks.connection import Connection, connect
from tests.e2e.clients import end_offset, new_topic
from tests.e2e.witness import resident_bytes, witness
from tests.records.kit import encode_batch
from trio_kafka.errors import ErrorCode
from trio_kafka.protocol.messages.k18_api_versions import ApiVersionsRequest
from trio_kafka.records.batch import Record
from trio_kafka.testing.broker import served_broker
from trio_kafka.testing.processes import BrokerProcess
from trio_kafka.testing.scripted_client import frame
from trio_kafka.world.clock import SkippingClock
from trio_kafka.world.real import RealWorld

Size = Callable[[int, int], int]

pytestmark = [pytest.mark.slow, pytest.mark.timeout(300)]

MIB = 1 << 20
SMALL = 1 << 16  # no answer here is larger, where it is read


def outcome(connection: Connection) -> str:
    """Whether a connection whose client sends no more is closed or answered."""
    connection.socket.settimeout(10)
    with suppress(OSError):
        connection.socket.shutdown(socket.SHUT_WR)
    try:
        connection.answer()
    except (ConnectionError, ValueError):
        return "closed"
    return "answered"


def log_of(broker: BrokerProcess) -> str:
    return broker.log.read_text(errors="replace")


def wait_for_log(broker: BrokerProcess, text: str) -> None:
    end = time.monotonic() + 10
    while text not in log_of(broker):
        assert time.monotonic() < end, f"no {text!r} in the log"
        time.sleep(0.02)  # another process writes it


def test_requests_with_random_bodies_are_answered_or_close_their_connection(
    own_broker: BrokerProcess, size: Size
) -> None:
    chance, topic = Random(1), new_topic(own_broker)
    keys = [0, 1, 2, 3, 18, 19, 20, 22, 32, 60, 10001, 4, 77, -1]

    with witness(own_broker, topic):
        for n in range(size(300, 5000)):
            key = keys[n % len(keys)]
            body = chance.randbytes(chance.choice((0, 1, 7, 40, 500)))
            if chance.random() < 0.5:  # counts that promise much
                body = body[: chance.randrange(len(body) + 1)] + b"\x7f\xff\xff\xff" * 3
            request = frame(key, chance.randrange(-1, 19), body, flexible=chance.random() < 0.5)
            with connect(own_broker.address, SMALL) as connection:
                connection.send(request)
                outcome(connection)

    assert own_broker.process.poll() is None
    wait_for_log(own_broker, "connection closed")
    assert "Traceback" not in log_of(own_broker)


def test_invalid_frame_closes_its_connection_and_the_reason_is_logged(
    own_broker: BrokerProcess, size: Size
) -> None:
    chance, topic = Random(2), new_topic(own_broker)

    with witness(own_broker, topic):
        for _ in range(size(100, 1000)):
            with connect(own_broker.address, SMALL) as connection:
                with suppress(OSError):  # it may be closed before all is sent
                    connection.send(chance.randbytes(chance.randrange(1, 3000)))
                assert outcome(connection) == "closed"

    wait_for_log(own_broker, "connection closed")
    closed = [line for line in log_of(own_broker).splitlines() if "connection closed" in line]
    assert all("peer=" in line and "reason=" in line for line in closed)
    assert "Traceback" not in log_of(own_broker)


@pytest.mark.parametrize(
    ("sent", "reason"),
    [
        pytest.param(struct.pack(">i", -1), "bad frame", id="a negative size"),
        pytest.param(struct.pack(">i", 2**31 - 1), "bad frame", id="a giant size"),
        pytest.param(frame(30_000, 0), "unknown api", id="an unknown key"),
        pytest.param(frame(3, 99), "unknown api", id="an unknown version"),
        pytest.param(frame(3, 4, b"\x7f\xff\xff\xff"), "undecodable", id="a false count"),
        pytest.param(frame(3, 4, b"\x00")[:12], "left", id="half a frame"),
    ],
)
async def test_each_reason_to_close_a_connection_is_counted(
    tmp_path: Path, sent: bytes, reason: str
) -> None:
    world = RealWorld(SkippingClock())
    async with served_broker(world, {"log.dirs": str(tmp_path / "data")}) as broker:
        async with broker.connect() as client:
            await client.send(sent)
            if reason != "left":
                await client.wait_closed()
        with trio.fail_after(10):
            while not broker.closed(reason):
                await trio.sleep(0.005)  # a stream that ended is seen a little later

        assert (await broker.ask(ApiVersionsRequest(), 0)).error_code == 0


def batch_with(position: int, layout: str, *values: int) -> bytes:
    batch = bytearray(protocol.record_batch([b"one", b"two"]))
    struct.pack_into(layout, batch, position, *values)
    return bytes(batch)


@pytest.mark.parametrize(
    "batch",
    [
        pytest.param(batch_with(17, ">I", 1), id="a wrong CRC"),
        pytest.param(batch_with(8, ">i", MIB), id="a length beyond its bytes"),
        pytest.param(batch_with(8, ">i", -1), id="a negative length"),
        pytest.param(batch_with(8, ">i", 20), id="a length below its header"),
        pytest.param(batch_with(16, ">b", 7), id="an unknown magic"),
        pytest.param(batch_with(57, ">i", 1 << 30), id="a count that is not its own"),
        pytest.param(batch_with(23, ">i", 99), id="a last offset that is not its own"),
        pytest.param(b"", id="nothing"),
        pytest.param(b"\0" * 61, id="zeros"),
    ],
)
def test_batch_with_an_invalid_header_is_rejected_and_not_appended(
    shared_broker: BrokerProcess, batch: bytes
) -> None:
    topic = new_topic(shared_broker)

    with connect(shared_broker.address, SMALL) as connection:
        answer = connection.call(protocol.produce_request(topic, batch, acks=1))
        error = protocol.produce_error(topic, answer)
        honest = protocol.produce_request(topic, protocol.record_batch([b"value"]), acks=1)
        assert protocol.produce_error(topic, connection.call(honest)) == 0

    assert error in {
        ErrorCode.CORRUPT_MESSAGE,
        ErrorCode.INVALID_RECORD,
        ErrorCode.UNSUPPORTED_FOR_MESSAGE_FORMAT,
    }
    assert end_offset(shared_broker, topic, 0) == 1


def test_produce_with_a_sequence_gap_or_old_epoch_is_rejected(shared_broker: BrokerProcess) -> None:
    topic, now = new_topic(shared_broker), int(time.time() * 1000)

    def produce(connection: Connection, sequence: int, epoch: int = 5) -> int:
        batch = encode_batch(
            [Record(timestamp=now, value=b"v")],
            producer_id=1 << 40,
            producer_epoch=epoch,
            base_sequence=sequence,
        )
        request = protocol.produce_request(topic, batch, acks=1)
        return protocol.produce_error(topic, connection.call(request))

    with connect(shared_broker.address, SMALL) as connection:
        assert produce(connection, 0) == 0
        assert produce(connection, 2) == ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER
        assert produce(connection, 0) == 0  # repeated, not written again
        assert produce(connection, 1, epoch=4) == ErrorCode.INVALID_PRODUCER_EPOCH
        assert produce(connection, 1) == 0

    assert end_offset(shared_broker, topic, 0) == 2


def test_incomplete_large_frames_take_memory_only_for_the_received_bytes(
    own_broker: BrokerProcess,
) -> None:
    topic = new_topic(own_broker)
    promise = struct.pack(">i", 90 * MIB) + struct.pack(">hhi", 0, 7, 1) + bytes(64 << 10)

    with ExitStack() as stack, witness(own_broker, topic):
        before = resident_bytes(own_broker)
        for _ in range(50):
            stack.enter_context(connect(own_broker.address, SMALL)).send(promise)
        time.sleep(0.5)  # the broker reads what has come
        grown = resident_bytes(own_broker) - before

    print(f"50 promises of 90 MiB: {grown / MIB:.1f} MiB")
    assert grown < 40 * MIB


def test_clients_that_never_read_their_responses_take_little_memory(
    own_broker: BrokerProcess,
) -> None:
    topic, other = new_topic(own_broker), new_topic(own_broker)
    batch = protocol.record_batch([bytes(900_000)])
    with connect(own_broker.address, SMALL) as connection:
        for _ in range(32):
            request = protocol.produce_request(topic, batch, acks=1)
            assert protocol.produce_error(topic, connection.call(request)) == 0

    with ExitStack() as stack, witness(own_broker, other):
        before = resident_bytes(own_broker)
        for n in range(200):
            request = protocol.fetch_request(topic, n % 32, 30 * MIB)
            stack.enter_context(connect(own_broker.address, SMALL)).send(request * 20)
        time.sleep(1.0)  # whatever the broker does for them, it has begun
        grown = resident_bytes(own_broker) - before

    print(f"200 readers that never read: {grown / MIB:.1f} MiB")
    assert grown < 100 * MIB


def test_clients_that_send_byte_by_byte_do_not_delay_other_clients(
    own_broker: BrokerProcess,
) -> None:
    topic = new_topic(own_broker)
    request = protocol.metadata_request(topic)

    with ExitStack() as stack, witness(own_broker, topic):
        slow = [stack.enter_context(connect(own_broker.address, SMALL)) for _ in range(50)]
        for byte in request:
            for connection in slow:
                connection.send(bytes([byte]))
            time.sleep(0.005)  # slow, as its name says
        for connection in slow:
            assert len(connection.answer()) > 20


def test_requests_of_clients_that_do_not_read_stay_in_the_socket_buffers(
    own_broker: BrokerProcess,
) -> None:
    topic = new_topic(own_broker)
    request = protocol.metadata_request(topic) * 1000

    with ExitStack() as stack, witness(own_broker, topic):
        before, sent = resident_bytes(own_broker), 0
        floods = [stack.enter_context(connect(own_broker.address, SMALL)).socket for _ in range(20)]
        for flood in floods:
            flood.settimeout(0.05)
            with suppress(TimeoutError):
                while True:
                    sent += flood.send(request)
        grown = resident_bytes(own_broker) - before

    print(f"a flood of {sent / MIB:.1f} MiB of requests: {grown / MIB:.1f} MiB")
    assert grown < 100 * MIB
