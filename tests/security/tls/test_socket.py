"""TLS over simulated sockets."""

import ssl
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest
import trio
from trio.testing import MockClock

from tests.certificates import client, serving, trusting
from trio_kafka.security.tls.contexts import client_context, server_identity
from trio_kafka.security.tls.errors import TlsCertificateError, TlsError
from trio_kafka.security.tls.handshake import shake_hands
from trio_kafka.security.tls.socket import TlsSocket, new_arrival_buffer
from trio_kafka.world.protocols import ColdRangeError, RangeCutError, Socket
from trio_kafka.world.simulated import Universe

ARRIVED = new_arrival_buffer()


@pytest.fixture
def autojump(autojump_clock: MockClock) -> MockClock:
    return autojump_clock


@asynccontextmanager
async def plain_pair(room: int | None = None) -> AsyncIterator[tuple[Socket, Socket]]:
    """Sockets of a client and of a server that are connected."""
    universe = Universe(1)
    world = universe.machine("broker")
    listener = await world.network.listen("broker", 9092, send_buffer=room, receive_buffer=room)
    near = await world.network.connect("broker", 9092, send_buffer=room, receive_buffer=room)
    far = await listener.accept()
    yield near, far
    near.close()
    far.close()
    listener.close()


@asynccontextmanager
async def pair(
    room: int | None = None, *, settings: dict[str, object] | None = None, identity: object = None
) -> AsyncIterator[tuple[TlsSocket, TlsSocket]]:
    """A client and a server that have shaken hands."""
    async with plain_pair(room) as (near, far):
        ends = secured(near, far, settings=settings, identity=identity)
        async with trio.open_nursery() as nursery:
            for end in ends:
                nursery.start_soon(shake_hands, end)
        yield ends


def secured(
    near: Socket,
    far: Socket,
    *,
    settings: dict[str, object] | None = None,
    identity: object = None,
) -> tuple[TlsSocket, TlsSocket]:
    server = server_identity(serving(**(settings or {}))).context
    trusts = client_context(trusting(identity, endpoint_identification_algorithm=""))
    return (
        TlsSocket(near, trusts, arrived=ARRIVED, host="broker"),
        TlsSocket(far, server, arrived=ARRIVED, is_server=True),
    )


async def receive_all(socket: TlsSocket, size: int, *, most: int = 1 << 16) -> bytes:
    data = bytearray()
    while len(data) < size:
        buffer = bytearray(most)
        try:
            count = socket.receive_into(buffer)
        except BlockingIOError:
            await socket.wait_readable()
            continue
        assert count, "the stream has ended"
        data += buffer[:count]
    return bytes(data)


async def send_all(socket: TlsSocket, data: bytes) -> list[int]:
    taken = []
    view = memoryview(data)
    while view:
        try:
            taken.append(socket.send(view))
        except BlockingIOError:
            await socket.wait_writable()
        else:
            view = view[taken[-1] :]
    return taken


async def test_bytes_arrive_as_they_were_sent_in_both_directions(autojump: MockClock) -> None:
    data = bytes(range(256)) * 4000
    async with pair() as (near, far):
        for sender, receiver in ((near, far), (far, near)):
            async with trio.open_nursery() as nursery:
                nursery.start_soon(send_all, sender, data)
                assert await receive_all(receiver, len(data)) == data

        assert near.session.startswith("TLSv1.3 TLS_AES")
        assert near.suite is not None
        assert near.session == f"{near.suite[1]} {near.suite[0]}"
        assert far.kept == near.kept == 0


async def test_a_short_receive_means_that_no_byte_is_left(autojump: MockClock) -> None:
    async with pair() as (near, far):
        await send_all(near, b"first")
        await send_all(near, b"second")
        await trio.sleep(1)
        buffer = bytearray(100)

        assert far.receive_into(buffer) == len(b"firstsecond")
        with pytest.raises(BlockingIOError):
            far.receive_into(buffer)


async def test_one_record_is_received_in_several_buffers(autojump: MockClock) -> None:
    async with pair() as (near, far):
        await send_all(near, b"onetwothree")
        await trio.sleep(1)

        parts = []
        for size in (3, 3, 100):
            buffer = bytearray(size)
            parts.append(bytes(buffer[: far.receive_into(buffer)]))

    assert parts == [b"one", b"two", b"three"]


async def test_a_long_receive_stops_at_its_bound_and_says_that_there_is_more(
    autojump: MockClock,
) -> None:
    data = bytes(600_000)
    async with pair(1 << 20) as (near, far):
        await send_all(near, data)
        await trio.sleep(1)
        buffer = bytearray(1 << 20)

        counts, more = [], []
        while sum(counts) < len(data):
            counts.append(far.receive_into(buffer))
            more.append(far.more)

    assert counts == [256 << 10, 256 << 10, len(data) - (512 << 10)]
    assert more == [True, True, False]


async def test_the_last_byte_counts_as_sent_only_when_all_ciphertext_has_left(
    autojump: MockClock,
) -> None:
    data = bytes(range(256)) * 40
    async with pair(4000) as (near, far):
        taken = near.send(data)

        assert taken < len(data)
        with pytest.raises(BlockingIOError):
            near.send(data[taken:])
        assert near.kept > 0
        async with trio.open_nursery() as nursery:
            nursery.start_soon(send_all, near, data[taken:])
            assert await receive_all(far, len(data)) == data
        assert near.kept == 0


async def test_one_byte_that_does_not_leave_is_sent_once(autojump: MockClock) -> None:
    async with pair(4000) as (near, far):
        sent = 0
        with pytest.raises(BlockingIOError):
            while True:
                sent += near.send(b"x")

        async with trio.open_nursery() as nursery:
            nursery.start_soon(send_all, near, b"x")
            data = await receive_all(far, sent + 1)
        await trio.sleep(1)

        assert data == b"x" * (sent + 1)
        with pytest.raises(BlockingIOError):
            far.receive_into(bytearray(100))


class FileLease:
    """A lease on bytes. warm: so many of them are in memory."""

    key = -1
    cut = False

    def __init__(self, data: bytes) -> None:
        self.data = data
        self.end = self.warm = len(data)

    def try_read(self, start: int, buffer: bytearray | memoryview) -> int:
        size = min(len(buffer), max(self.warm - start, 0))
        if not size and start < self.end:
            raise BlockingIOError
        memoryview(buffer)[:size] = self.data[start : start + size]
        return size

    def content(self, start: int, limit: int) -> bytes:
        return self.data[start : min(self.end, start + limit)]

    async def read(self, start: int, limit: int) -> bytes:
        raise NotImplementedError

    def release(self) -> None:
        pass


async def test_a_range_of_a_file_is_sent_in_pieces_through_a_small_window(
    autojump: MockClock,
) -> None:
    data = bytes(range(256)) * 2000
    lease = FileLease(data)

    async def send_file(socket: TlsSocket) -> None:
        position = 0
        while position < len(data):
            try:
                position += socket.send_file_range(lease, position, len(data) - position)
            except BlockingIOError:
                await socket.wait_writable()

    async with pair(20_000) as (near, far):
        async with trio.open_nursery() as nursery:
            nursery.start_soon(send_file, near)
            assert await receive_all(far, len(data)) == data
        lease.cut = True
        with pytest.raises(RangeCutError):
            near.send_file_range(lease, 0, 1)


async def test_only_the_bytes_of_a_range_that_are_in_memory_are_sent(autojump: MockClock) -> None:
    lease = FileLease(bytes(range(256)) * 100)
    lease.warm = 5000
    async with pair() as (near, far):
        assert near.send_file_range(lease, 1000, 20_000) == 4000
        with pytest.raises(ColdRangeError):
            near.send_file_range(lease, 5000, 20_000)

        assert await receive_all(far, 4000) == lease.data[1000:5000]


async def test_the_end_of_the_stream_is_seen_with_and_without_a_farewell(
    autojump: MockClock,
) -> None:
    for end in (TlsSocket.close, lambda socket: socket.beneath.close()):
        async with pair() as (near, far):
            await trio.sleep(1)
            with pytest.raises(BlockingIOError):  # takes the server's session tickets
                near.receive_into(bytearray(100))
            await send_all(near, b"last")
            end(near)
            await trio.sleep(1)
            buffer = bytearray(100)

            assert far.receive_into(buffer) == 4
            assert far.receive_into(buffer) == 0
            assert far.receive_into(buffer) == 0


async def test_the_end_behind_a_part_of_a_record_is_seen_at_once(autojump: MockClock) -> None:
    """No edge of epoll would tell of an end that arrived together with these bytes."""
    async with pair() as (near, far):
        near.beneath.send(b"\x17\x03\x03\x00\x40part")
        near.beneath.shutdown_write()
        await trio.sleep(1)

        assert far.receive_into(bytearray(100)) == 0


async def test_a_peer_that_sends_no_more_still_gets_its_answer(autojump: MockClock) -> None:
    for end in (TlsSocket.shutdown_write, lambda socket: socket.beneath.shutdown_write()):
        async with pair() as (near, far):
            await send_all(near, b"question")
            end(near)
            await trio.sleep(1)
            assert far.receive_into(bytearray(8)) == 8
            assert far.receive_into(bytearray(8)) == 0

            await send_all(far, b"answer")

            assert await receive_all(near, 6) == b"answer"


async def test_a_close_says_farewell_to_the_peer(autojump: MockClock) -> None:
    async with pair() as (near, far):
        await trio.sleep(1)
        with pytest.raises(BlockingIOError):
            near.receive_into(bytearray(100))
        far.close()
        await trio.sleep(1)
        buffer = bytearray(100)

        assert near.beneath.receive_into(buffer) > 0
        assert near.beneath.receive_into(buffer) == 0


async def test_a_server_asks_for_a_certificate_and_knows_its_name(autojump: MockClock) -> None:
    async with pair(settings={"client_auth": "required"}, identity=client()) as (_, far):
        assert far.peer_certificate == ssl.PEM_cert_to_DER_cert(client().pem)
    async with pair(settings={"client_auth": "requested"}) as (_, far):
        assert far.peer_certificate is None


async def test_a_client_that_does_not_trust_the_server_fails_with_an_alert(
    autojump: MockClock,
) -> None:
    async with plain_pair() as (near, far):
        strange = client_context(trusting(truststore_certificates=client().pem))
        _, server = secured(near, far)
        ours = TlsSocket(near, strange, arrived=ARRIVED, host="broker")
        async with trio.open_nursery() as nursery:
            nursery.start_soon(fails, server, TlsError, "does not trust the issuer of our")
            nursery.start_soon(fails, ours, TlsCertificateError, "not accepted: unable to get")


async def fails(socket: TlsSocket, error: type[TlsError], reason: str) -> None:
    with pytest.raises(error, match=reason):
        await shake_hands(socket)


@pytest.mark.parametrize(
    ("first", "reason"),
    [
        (b"GET / HTTP/1.1\r\n\r\n", "speaks HTTP"),
        (b"\0\0\0\x20\0\x12\0\4\0\0\0\0\0\4abcd", "Kafka's protocol without TLS"),
        (b"SSH-2.0-x\r\n", "speaks SSH"),
        (b"\x16\x03\x01\0\x05garbage", "TLS: "),
    ],
)
async def test_a_peer_without_tls_is_named_by_its_first_bytes(
    autojump: MockClock, first: bytes, reason: str
) -> None:
    async with plain_pair() as (near, far):
        _, server = secured(near, far)
        near.send(first)
        near.shutdown_write()

        with pytest.raises(TlsError, match=reason):
            await shake_hands(server)


async def test_garbage_after_the_handshake_ends_the_connection(autojump: MockClock) -> None:
    async with pair() as (near, far):
        near.beneath.send(b"\x17\x03\x03\0\x20" + bytes(32))
        await trio.sleep(1)

        with pytest.raises(TlsError, match="bad record mac"):
            far.receive_into(bytearray(100))
