"""Answers on their way out; leases end on every path."""

from collections.abc import Iterator

import pytest
import trio
import trio.testing

from trio_kafka.network.outgoing import Outgoing, Progress, release
from trio_kafka.records.file_range import FileRange
from trio_kafka.testing.simulation import simulated_world
from trio_kafka.wire.streamed import StreamedBody
from trio_kafka.world.protocols import RangeCutError, Socket
from trio_kafka.world.simulated import SimulatedWorld


async def pair(world: SimulatedWorld) -> tuple[Socket, Socket]:
    listener = await world.network.listen("127.0.0.1", 0)
    near = await world.network.connect("127.0.0.1", listener.address.port)
    return near, await listener.accept()


def received(socket: Socket) -> bytes:
    buffer = bytearray(1 << 20)
    try:
        return bytes(buffer[: socket.receive_into(buffer)])
    except BlockingIOError:
        return b""


async def drained(socket: Socket) -> bytes:
    await trio.sleep(1)
    return received(socket)


async def test_bytes_and_file_ranges_are_sent_in_order(
    autojump_clock: trio.testing.MockClock,
) -> None:
    world = simulated_world()
    near, far = await pair(world)
    file = world.directory("/data", create=True).create("log")
    file.append([b"0123456789"])
    lease = file.lease(10)
    out = Outgoing((), [b"head", FileRange(lease, 2, 5), b"", b"tail"])

    assert out.unsent_bytes == 13
    assert out.flush(near) is Progress.DONE
    assert await drained(far) == b"head23456tail"
    assert (out.unsent_bytes, out.taken) == (0, 13)
    near.close()
    far.close()


async def test_sending_stops_at_a_full_socket_and_resumes_at_the_same_byte(
    autojump_clock: trio.testing.MockClock,
) -> None:
    world = simulated_world()
    near, far = await pair(world)
    data = bytes(range(256)) * 2000
    out = Outgoing((), [data[:200_000], data[200_000:]])

    got = b""
    while out.flush(near) is Progress.BLOCKED:
        got += await drained(far)
    got += await drained(far)

    assert got == data
    near.close()
    far.close()


async def test_one_flush_sends_at_most_its_share_of_file_bytes(
    autojump_clock: trio.testing.MockClock,
) -> None:
    world = simulated_world()
    near, far = await pair(world)
    file = world.directory("/data", create=True).create("log")
    file.append([bytes(1000)])
    out = Outgoing((), [FileRange(file.lease(1000), 0, 1000)])

    assert out.flush(near, share=300) is Progress.SHARE_USED
    assert out.taken == 300
    assert out.flush(near, share=700) is Progress.DONE
    near.close()
    far.close()


async def test_one_flush_encodes_one_piece_of_a_streamed_response(
    autojump_clock: trio.testing.MockClock,
) -> None:
    near, far = await pair(simulated_world())
    numbers: list[int] = []

    def pieces() -> Iterator[bytes]:
        for number in range(10):
            numbers.append(number)
            yield bytes([number])

    out = Outgoing((), [b"head", StreamedBody(pieces(), 10)])
    for turn in range(10):
        assert out.flush(near) is Progress.SHARE_USED
        assert len(numbers) == turn + 1

    assert out.flush(near) is Progress.DONE
    assert await drained(far) == b"head" + bytes(range(10))
    near.close()
    far.close()


async def test_a_full_socket_stops_the_encoding_of_a_streamed_response(
    autojump_clock: trio.testing.MockClock,
) -> None:
    near, far = await pair(simulated_world())
    numbers: list[int] = []

    def pieces() -> Iterator[bytes]:
        for number in range(10):
            numbers.append(number)
            yield bytes([number]) * 100_000

    out = Outgoing((), [b"head", StreamedBody(pieces(), 1_000_000)])
    assert out.unsent_bytes == 1_000_004
    while out.flush(near) is Progress.SHARE_USED:
        pass
    at_rest = len(numbers)
    got = await drained(far)
    assert at_rest < 10, "the socket takes no more"
    while out.flush(near) is not Progress.DONE:
        got += await drained(far)
    got += await drained(far)

    assert got == b"head" + b"".join(bytes([number]) * 100_000 for number in range(10))
    assert out.taken == 1_000_004
    near.close()
    far.close()


async def test_bytes_already_taken_by_the_socket_are_not_sent_again(
    autojump_clock: trio.testing.MockClock,
) -> None:
    world = simulated_world()
    near, far = await pair(world)
    out = Outgoing((), [b"abcdef"], taken=4)

    assert out.flush(near) is Progress.DONE
    assert await drained(far) == b"ef"
    near.close()
    far.close()


async def test_a_truncated_file_is_an_error_and_its_lease_is_released(
    autojump_clock: trio.testing.MockClock,
) -> None:
    world = simulated_world()
    near, far = await pair(world)
    file = world.directory("/data", create=True).create("log")
    file.append([bytes(1000)])
    out = Outgoing((), [FileRange(file.lease(1000), 0, 1000)])
    file.truncate(500)

    with pytest.raises(RangeCutError):
        out.flush(near)
    out.release()
    out.release()
    assert out.unsent_bytes == 0
    near.close()
    far.close()


class CountedRange(FileRange):
    """Tells whether it was released."""

    released = 0

    def release(self) -> None:
        self.released += 1
        super().release()


async def test_a_lease_is_released_once_when_its_last_byte_is_sent_or_the_response_is_dropped(
    autojump_clock: trio.testing.MockClock,
) -> None:
    world = simulated_world()
    near, far = await pair(world)
    file = world.directory("/data", create=True).create("log")
    file.append([bytes(10)])
    sent, empty, kept, unsent = (CountedRange(file.lease(10), 0, n) for n in (10, 0, 10, 10))

    Outgoing((), [sent, b"x", empty]).flush(near)
    waiting = Outgoing((), [kept, b"x"])
    waiting.release()
    release([b"x", unsent])

    assert [lease.released for lease in (sent, empty, kept, unsent)] == [1, 1, 1, 1]
    near.close()
    far.close()
