"""Frames whose memory is lent: as without a pool, and everything is given back."""

import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.wire.test_frame import MOST, buffers, feed, framed, limited, with_key
from trio_kafka.network.memory import MemoryPool
from trio_kafka.network.metered import MemoryFullError, MeteredFramer, framers
from trio_kafka.wire.frame import LARGE, SMALL, Framer, FrameSizeError

pytestmark = pytest.mark.leaves("its frames end with the test")

FRAME = framed(b"0123456789")


def clock() -> float:
    return 0.0


def metered(size: int = 1 << 30) -> tuple[MemoryPool, MeteredFramer]:
    pool = MemoryPool(size, clock)
    return pool, MeteredFramer(pool, buffers(), MOST)


def put(framer: Framer, data: bytes) -> memoryview | None:
    """Receive all of `data`, which ends where a frame does or before."""
    frame = None
    while data:
        room = framer.room()
        n = min(len(room), len(data))
        room[:n] = data[:n]
        frame = framer.received(n)
        data = data[n:]
    return frame


def test_framers_are_metered_only_when_a_memory_pool_is_given() -> None:
    new_framer = framers(None, buffers(), MOST)
    assert type(new_framer()) is Framer

    assert type(framers(MemoryPool(5, clock), buffers(), MOST)()) is MeteredFramer


@given(
    st.lists(st.binary(min_size=10, max_size=300), max_size=8),
    st.integers(min_value=1, max_value=97),
)
def test_frames_are_received_unchanged_in_portions_of_any_size(
    payloads: list[bytes], portion: int
) -> None:
    pool, framer = metered()

    assert feed(framer, b"".join(map(framed, payloads)), portion) == payloads
    assert framer.held == 0
    assert pool.free == pool.size


@pytest.mark.parametrize("size", [SMALL - 4, SMALL, SMALL + 1, LARGE - 4, LARGE, LARGE + 1, MOST])
def test_large_frames_between_small_frames_are_received_whole(size: int) -> None:
    pool, framer = metered()
    large, small = bytes(size - 1) + b"!", b"0123456789"

    assert feed(framer, framed(small) + framed(large) + framed(small)) == [small, large, small]
    assert pool.free == pool.size


def test_a_frame_takes_its_size_from_the_pool_once_until_it_is_done() -> None:
    pool, framer = metered(1000)
    put(framer, struct.pack(">i", 500))
    assert pool.free == 1000
    assert framer.pending
    framer.room()
    assert pool.free == 500
    framer.room()
    assert pool.free == 500

    assert put(framer, bytes(500)) is not None
    framer.rest()
    assert pool.free == 500
    framer.done()
    framer.done()

    assert pool.free == 1000
    assert not framer.pending


def test_large_buffers_are_reused_and_small_buffers_have_the_exact_size() -> None:
    kept = buffers()
    framer = MeteredFramer(MemoryPool(1 << 30, clock), kept, MOST)
    for size in (100, SMALL + 1, SMALL):
        put(framer, framed(bytes(size)))
        assert framer.held == (LARGE if size > SMALL else size)
        framer.done()

    assert kept.kept == LARGE
    assert kept.fresh == 1


def test_a_metered_framer_does_not_read_beyond_the_current_frame() -> None:
    _, framer = metered()
    assert len(framer.room()) == 4
    put(framer, FRAME[:4])
    assert len(framer.room()) == 10
    put(framer, FRAME[4:9])

    assert len(framer.room()) == 5


@pytest.mark.parametrize("size", [-1, 0, 9, MOST + 1])
def test_an_invalid_frame_size_takes_no_memory_from_the_pool(size: int) -> None:
    pool, framer = metered()
    for _ in range(2):
        with pytest.raises(FrameSizeError, match=f"frame of {size} bytes"):
            put(framer, struct.pack(">i", size)) if not framer.pending else framer.next()

    assert pool.free == pool.size


def test_a_framer_without_memory_waits_and_holds_only_the_four_size_bytes() -> None:
    pool, framer = metered(1)
    assert pool.take(1)
    calls: list[str] = []
    put(framer, FRAME[:4])
    with pytest.raises(MemoryFullError) as full:
        framer.room()
    full.value.wait(lambda: calls.append("told"))
    assert (framer.held, len(pool)) == (4, 1)

    pool.give(1)

    assert calls == ["told"]
    assert pool.free == 1 - 10
    assert put(framer, FRAME[4:]) == b"0123456789"
    framer.done()
    assert pool.free == 1


@pytest.mark.parametrize("when", ["size", "half", "whole", "waiting", "granted"])
def test_a_dropped_framer_returns_its_memory_at_every_stage(when: str) -> None:
    pool, framer = metered(5)
    if when == "size":
        put(framer, FRAME[:4])
    elif when == "half":
        put(framer, FRAME[:9])
    elif when == "whole":
        put(framer, FRAME)
    else:
        pool.take(5)
        put(framer, FRAME[:4])
        with pytest.raises(MemoryFullError) as full:
            framer.room()
        full.value.wait(lambda: None)
        if when == "granted":
            pool.give(5)
            assert pool.free == -5

    framer.drop()
    framer.drop()

    assert len(pool) == 0
    if when == "waiting":
        pool.give(5)
    assert pool.free == 5
    assert not framer.pending
    assert framer.held == 0


@pytest.mark.parametrize("portion", [1, 3, 1 << 30])
def test_a_frame_within_the_limit_of_its_api_is_received_whole(portion: int) -> None:
    pool = MemoryPool(1 << 30, clock)
    framer = MeteredFramer(pool, buffers(), limited())
    data = with_key(7, SMALL + 100) + with_key(3, 20)

    assert feed(framer, data, portion) == [data[4 : SMALL + 104], data[-20:]]
    assert pool.free == pool.size


def test_a_frame_above_the_limit_of_its_api_takes_nothing_from_the_pool() -> None:
    pool = MemoryPool(1 << 30, clock)
    framer = MeteredFramer(pool, buffers(), limited())

    with pytest.raises(FrameSizeError, match="API key 3: want at most"):
        put(framer, with_key(3, SMALL + 1)[:8])

    assert pool.free == pool.size
