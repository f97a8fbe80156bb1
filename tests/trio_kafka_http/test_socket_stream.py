"""A socket as hypercorn sees it, and when it ends."""

from collections.abc import AsyncIterator

import pytest
import trio
from attrs import define
from trio.testing import MockClock

from trio_kafka.testing.simulation import simulated_world
from trio_kafka.world.protocols import Socket
from trio_kafka_http.socket_stream import SocketStream


@define
class Pair:
    stream: SocketStream
    far: Socket
    overs: list[float]


@pytest.fixture
async def pair(autojump_clock: MockClock) -> AsyncIterator[Pair]:
    world, overs = simulated_world(), []
    listener = await world.network.listen("127.0.0.1", 0)
    far = await world.network.connect("127.0.0.1", listener.address.port)
    near = await listener.accept()
    stream = SocketStream(
        near, stall_s=5.0, idle_s=3.0, over=lambda: overs.append(trio.current_time())
    )
    yield Pair(stream, far, overs)
    stream.close()
    far.close()
    listener.close()


async def test_bytes_are_sent_and_received_and_counted(
    pair: Pair, autojump_clock: MockClock
) -> None:
    pair.far.send(b"hello")
    assert await pair.stream.receive_some(1 << 16) == b"hello"
    await pair.stream.send_all(b"and back")
    await pair.far.wait_readable()
    buffer = bytearray(100)

    assert bytes(buffer[: pair.far.receive_into(buffer)]) == b"and back"
    assert (pair.stream.received, pair.stream.sent) == (5, 8)


async def test_stream_has_the_addresses_of_the_socket(
    pair: Pair, autojump_clock: MockClock
) -> None:
    host, port = pair.stream.socket.getpeername()

    assert (host, port) == (pair.far.local.host, pair.far.local.port)
    assert pair.stream.socket.getsockname()[1] == pair.far.peer.port


async def test_end_of_an_idle_connection_calls_the_callback(
    pair: Pair, autojump_clock: MockClock
) -> None:
    pair.far.close()

    assert await pair.stream.receive_some(100) == b""
    assert len(pair.overs) == 1


async def test_end_of_the_connection_calls_the_callback_after_the_current_request(
    pair: Pair, autojump_clock: MockClock
) -> None:
    pair.stream.begin_request()
    pair.far.shutdown_write()
    assert await pair.stream.receive_some(100) == b""
    assert pair.overs == []

    pair.stream.end_request()
    assert len(pair.overs) == 1


async def test_silence_without_a_request_ends_the_stream_after_the_idle_time(
    pair: Pair, autojump_clock: MockClock
) -> None:
    began = trio.current_time()

    assert await pair.stream.receive_some(100) == b""

    assert 2.9 < trio.current_time() - began <= 3.0


async def test_bytes_of_an_incomplete_request_do_not_extend_the_idle_time(
    pair: Pair, autojump_clock: MockClock
) -> None:
    began = trio.current_time()
    pair.far.send(b"G")
    assert await pair.stream.receive_some(100) == b"G"
    await trio.sleep(2)
    pair.far.send(b"E")
    assert await pair.stream.receive_some(100) == b"E"

    assert await pair.stream.receive_some(100) == b""
    assert trio.current_time() - began <= 3.0


async def test_idle_limit_is_suspended_during_a_request(
    pair: Pair, autojump_clock: MockClock
) -> None:
    async with trio.open_nursery() as nursery:
        result = []

        async def receive() -> None:
            result.append((await pair.stream.receive_some(100), trio.current_time()))

        nursery.start_soon(receive)
        await trio.sleep(1)
        pair.stream.begin_request()
        await trio.sleep(10)
        ended = trio.current_time()
        pair.stream.end_request()

    [(data, at)] = result
    assert (data, round(at - ended, 3)) == (b"", 3.0)


async def test_peer_that_reads_nothing_is_disconnected_after_the_send_timeout(
    pair: Pair, autojump_clock: MockClock
) -> None:
    began = trio.current_time()

    with pytest.raises(trio.BrokenResourceError):
        await pair.stream.send_all(bytes(1 << 24))

    assert 5.0 <= trio.current_time() - began < 6.0
    assert pair.stream.gone
    with pytest.raises(trio.ClosedResourceError):
        await pair.stream.send_all(b"more")


async def test_send_without_time_left_breaks_the_connection(
    pair: Pair, autojump_clock: MockClock
) -> None:
    began = trio.current_time()
    pair.stream.answer_by = began + 1.0

    with pytest.raises(trio.BrokenResourceError):
        await pair.stream.send_all(bytes(1 << 24))

    assert 1.0 <= trio.current_time() - began < 1.5


async def test_abort_wakes_a_shielded_send(pair: Pair, autojump_clock: MockClock) -> None:
    async with trio.open_nursery() as nursery:

        async def send() -> None:
            with trio.CancelScope(shield=True), pytest.raises(trio.ClosedResourceError):
                await pair.stream.send_all(bytes(1 << 24))

        nursery.start_soon(send)
        await trio.sleep(1)
        began = trio.current_time()
        pair.stream.abort()

    assert trio.current_time() == began


async def test_connection_reset_breaks_the_stream_in_both_directions(
    pair: Pair, autojump_clock: MockClock
) -> None:
    pair.far.abort()
    await trio.sleep(1)

    with pytest.raises(trio.BrokenResourceError):
        await pair.stream.receive_some(100)
    with pytest.raises(trio.ClosedResourceError):
        await pair.stream.send_eof()
    assert len(pair.overs) == 1


async def test_close_calls_the_callback_and_does_not_hide_an_exception(
    pair: Pair, autojump_clock: MockClock
) -> None:
    with trio.CancelScope() as scope:
        scope.cancel()
        with pytest.raises(ZeroDivisionError):
            try:
                raise ZeroDivisionError
            finally:
                await pair.stream.aclose()

    assert len(pair.overs) == 1


@define
class Costly:
    """A socket with TLS whose bytes cost much to decrypt."""

    beneath: Socket

    def receive_into(self, buffer: bytearray) -> int:
        raise AssertionError("decrypted, although nobody reads")

    def close(self) -> None:
        self.beneath.close()


async def test_bytes_that_are_dropped_at_the_close_are_not_decrypted(
    pair: Pair, autojump_clock: MockClock
) -> None:
    near = pair.stream._socket
    pair.stream._socket = Costly(near)  # type: ignore[assignment]
    pair.far.send(bytes(1000))
    await trio.sleep(1)

    await pair.stream.aclose()

    await trio.sleep(1)
    assert pair.far.receive_into(bytearray(10)) == 0  # and no reset
