"""Frames out of bytes in any portions, and buffers that go round."""

import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st

from trio_kafka.wire.frame import (
    LARGE,
    LEAST,
    SHORT,
    SMALL,
    Buffers,
    FrameLimits,
    Framer,
    FrameSizeError,
)

MOST = 4 << 20


def buffers() -> Buffers:
    return Buffers(lambda size: memoryview(bytearray(size)))


def framed(payload: bytes) -> bytes:
    return struct.pack(">i", len(payload)) + payload


def feed(framer: Framer, data: bytes, portion: int = 1 << 30) -> list[bytes]:
    """Receive `data` as a processor does: one frame in hand at a time."""
    got = []
    position = 0
    frame = framer.next()
    while True:
        while frame is not None:
            got.append(bytes(frame))
            framer.done()
            frame = framer.next()
        if position == len(data):
            framer.rest()
            return got
        room = framer.room()
        n = min(len(room), portion, len(data) - position)
        room[:n] = data[position : position + n]
        position += n
        frame = framer.received(n)


@given(
    st.lists(st.binary(min_size=10, max_size=300), max_size=8),
    st.integers(min_value=1, max_value=97),
)
def test_frames_are_received_unchanged_in_portions_of_any_size(
    payloads: list[bytes], portion: int
) -> None:
    pool = buffers()
    framer = Framer(pool, MOST)

    assert feed(framer, b"".join(map(framed, payloads)), portion) == payloads
    assert framer.held == 0


@pytest.mark.parametrize("size", [SMALL - 4, SMALL - 3, SMALL, LARGE - 4, LARGE, LARGE + 1, MOST])
def test_a_large_frame_and_the_small_frame_behind_it_are_received_whole(size: int) -> None:
    framer = Framer(buffers(), MOST)
    large, small = bytes(size - 1) + b"!", b"0123456789"

    assert feed(framer, framed(small) + framed(large) + framed(small)) == [small, large, small]
    assert framer.held == 0


def test_a_frame_that_crosses_the_end_of_the_buffer_is_received_whole() -> None:
    framer = Framer(buffers(), MOST)
    first, second = bytes(40_000), bytes(range(256)) * 150

    assert feed(framer, framed(first) + framed(second)) == [first, second]


def test_the_buffer_of_a_large_frame_ends_at_the_end_of_the_frame() -> None:
    framer = Framer(buffers(), MOST)
    framer.room()[:4] = struct.pack(">i", 200_000)
    framer.received(4)

    assert framer.next() is None
    assert len(framer.room()) == 200_000


@pytest.mark.parametrize("size", [-1, 0, 9, MOST + 1, 2**31 - 1, -(2**31)])
def test_an_invalid_frame_size_is_refused_as_soon_as_the_size_is_received(size: int) -> None:
    framer = Framer(buffers(), MOST)
    framer.room()[:4] = struct.pack(">i", size)

    with pytest.raises(FrameSizeError, match=str(size)):
        framer.received(4)
    with pytest.raises(FrameSizeError, match=str(size)):
        framer.next()


@pytest.mark.parametrize("size", [LEAST - 1, 101, SHORT])
def test_size_limits_apply_to_a_short_frame_received_whole_too(size: int) -> None:
    pool = buffers()
    pool.give(pool.take(SMALL))  # nearly always there is one
    framer = Framer(pool, 100)
    framer.room()[: 4 + size] = framed(bytes(size))
    with pytest.raises(FrameSizeError, match=f"{size} bytes: want {LEAST} to 100"):
        framer.received(4 + size)

    framer = Framer(pool, 100)
    pool.give(pool.take(SMALL))
    framer.room()[:104] = framed(bytes(100))
    assert framer.received(104) == bytes(100)
    assert framer.held == 0


def test_a_large_buffer_is_taken_only_after_the_frame_size_is_received() -> None:
    taken = []

    def allocate(size: int) -> memoryview:
        taken.append(size)
        return memoryview(bytearray(size))

    framer = Framer(Buffers(allocate), MOST)
    framer.room()
    assert taken == [SMALL]
    framer.room()[:4] = struct.pack(">i", MOST)
    framer.received(4)
    assert framer.next() is None
    framer.room()

    assert taken == [SMALL, MOST + 4]


def test_a_connection_without_pending_bytes_holds_no_buffer() -> None:
    pool = buffers()
    framer = Framer(pool, MOST)
    feed(framer, framed(bytes(10)))
    feed(framer, framed(bytes(100_000)))

    assert framer.held == 0
    assert pool.kept == SMALL + LARGE
    assert pool.fresh == 2


def test_the_next_frame_is_received_into_a_buffer_of_the_size_of_the_last_frame() -> None:
    pool = buffers()
    framer = Framer(pool, MOST)
    feed(framer, framed(bytes(500_000)))

    assert len(framer.room()) == 500_004


def test_a_long_frame_keeps_its_buffer_until_the_frame_is_done() -> None:
    pool = buffers()
    framer = Framer(pool, MOST)
    first_bytes, later_bytes = b"1" * (SHORT + 1), b"2" * (SHORT + 1)
    data = framed(first_bytes) + framed(later_bytes)
    framer.room()[: len(data)] = data
    first = framer.received(len(data))

    assert isinstance(first, memoryview)
    framer.rest()
    assert first == first_bytes
    assert framer.pending
    framer.done()
    framer.done()
    second = framer.next()
    assert second == later_bytes
    framer.rest()
    assert framer.held == SMALL
    framer.done()
    assert framer.held == 0
    framer.drop()
    assert pool.kept == SMALL


@pytest.mark.parametrize("size", [LEAST, SHORT])
def test_a_short_frame_is_copied_and_releases_its_buffer_at_once(size: int) -> None:
    pool = buffers()
    framer = Framer(pool, MOST)
    data = framed(b"1" * size) + framed(b"2" * size)
    room = framer.room()
    room[: len(data)] = data
    first = framer.received(len(data))
    assert framer.held == SMALL  # for the frame behind it
    second = framer.next()
    assert (framer.held, framer.pending, pool.kept) == (0, False, SMALL)

    room[: len(data)] = bytes(len(data))
    assert (first, second) == (b"1" * size, b"2" * size)
    framer.done()
    framer.rest()
    assert pool.kept == SMALL


def test_after_a_short_frame_behind_a_large_frame_the_next_buffer_is_small() -> None:
    framer = Framer(buffers(), MOST)
    feed(framer, framed(bytes(500_000)))
    room = framer.room()
    room[: 4 + LEAST] = framed(bytes(LEAST))
    assert framer.received(4 + LEAST) == bytes(LEAST)

    assert len(framer.room()) == SMALL


def test_the_pool_keeps_a_limited_number_of_buffers() -> None:
    pool = Buffers(lambda size: memoryview(bytearray(size)), small=2, large=1)
    views = [pool.take(1) for _ in range(4)] + [pool.take(LARGE) for _ in range(3)]
    for view in views:
        pool.give(view)

    assert pool.kept == 2 * SMALL + LARGE
    assert pool.take(5) is views[3]


def test_the_missing_bytes_of_a_frame_are_known_once_its_size_is_received() -> None:
    framer = Framer(buffers(), 1 << 20)
    data, seen = framed(bytes(2000)), [framer.missing]
    for portion in (data[:3], data[3:104], data[104:2003]):
        room = framer.room()
        room[: len(portion)] = portion
        assert framer.received(len(portion)) is None
        seen.append(framer.missing)

    assert seen == [0, 0, 1900, 1]


def limited(common: int = SMALL, declared: int = 2 * SMALL) -> FrameLimits:
    """Frames of key 7 have a size of their own."""
    return FrameLimits(whole=MOST, common=common, declared=lambda key: declared if key == 7 else 0)


def with_key(key: int, size: int) -> bytes:
    return framed(struct.pack(">h", key) + bytes(size - 2))


@pytest.mark.parametrize(
    ("key", "size", "fits"),
    [
        (3, SMALL, True),
        (3, SMALL + 1, False),
        (7, 2 * SMALL, True),
        (7, 2 * SMALL + 1, False),
    ],
)
@pytest.mark.parametrize("portion", [1, 5, 1 << 30])
def test_the_size_of_a_frame_is_limited_to_what_its_api_declares(
    key: int, size: int, portion: int, fits: bool
) -> None:
    framer = Framer(buffers(), limited())
    data = with_key(key, size)
    if fits:
        assert feed(framer, data, portion) == [data[4:]]
        return
    with pytest.raises(FrameSizeError, match=f"API key {key}: want at most"):
        feed(framer, data, portion)


def test_the_frame_size_declared_by_an_api_is_limited_to_the_overall_maximum() -> None:
    framer = Framer(buffers(), limited(declared=2 * MOST))

    with pytest.raises(FrameSizeError, match=f"want 10 to {MOST}"):
        feed(framer, with_key(7, MOST + 1))


def test_the_api_key_of_a_large_frame_is_checked_before_its_buffer_is_allocated() -> None:
    taken = []

    def allocate(size: int) -> memoryview:
        taken.append(size)
        return memoryview(bytearray(size))

    framer = Framer(Buffers(allocate), limited())
    data = with_key(3, MOST)
    framer.room()[:5] = data[:5]
    assert framer.received(5) is None
    framer.room()[:1] = data[5:6]
    with pytest.raises(FrameSizeError):
        framer.received(1)

    assert taken == [SMALL]
