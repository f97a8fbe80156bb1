from contextlib import nullcontext

import pytest
import trio

from tests.log.kit import decompression
from trio_kafka.errors import ErrorCode, KafkaError
from trio_kafka.introspect.tree import Node
from trio_kafka.log.decompression import GLANCE, MOST, SMALL, Decompression, is_large
from trio_kafka.records.compression import Codec, compress
from trio_kafka.records.zstd_window import LARGEST_WINDOW

MIB = 1 << 20
LIMIT = 16 * MIB
FEW = compress(Codec.LZ4, b"few" * 100)
MANY = compress(Codec.LZ4, bytes(SMALL + 1))
BOMB = compress(Codec.LZ4, bytes(LIMIT + 1))
PACKED = [Codec.GZIP, Codec.SNAPPY, Codec.LZ4, Codec.ZSTD]


class Holders:
    """Tasks that hold unpacked records until they are let go."""

    def __init__(self, memory: Decompression, nursery: trio.Nursery) -> None:
        self.memory = memory
        self.nursery = nursery
        self.held: list[str] = []
        self.go = trio.Event()

    def start(self, name: str, block: bytes) -> trio.CancelScope:
        scope = trio.CancelScope()
        self.nursery.start_soon(self._hold, name, block, scope)
        return scope

    async def _hold(self, name: str, block: bytes, scope: trio.CancelScope) -> None:
        with scope:
            async with self.memory.unpacked(Codec.LZ4, block, LIMIT):
                self.held.append(name)
                await self.go.wait()


@pytest.mark.parametrize("size", [0, 1, SMALL, SMALL + 1, LIMIT])
@pytest.mark.parametrize("codec", Codec)
async def test_records_up_to_the_limit_are_decompressed(
    world, autojump_clock, codec: Codec, size: int
) -> None:
    packed = compress(codec, bytes(size))

    async with decompression(world).unpacked(codec, packed, LIMIT) as plain:
        assert len(plain) == size
        assert is_large(plain) == (size > SMALL)
        assert (type(plain) is bytes) == (size <= SMALL)


@pytest.mark.parametrize("codec", Codec)
@pytest.mark.parametrize("limit", [SMALL, LIMIT])
async def test_records_above_the_limit_are_a_corrupt_message(
    world, autojump_clock, codec: Codec, limit: int
) -> None:
    with pytest.raises(KafkaError) as caught:
        async with decompression(world).unpacked(codec, compress(codec, bytes(limit + 1)), limit):
            pytest.fail("unpacked")

    assert caught.value.code is ErrorCode.CORRUPT_MESSAGE


async def test_two_small_batches_and_one_large_batch_are_decompressed_at_a_time(
    world, nursery, autojump_clock
) -> None:
    holders = Holders(decompression(world), nursery)
    for _ in range(3):
        holders.start("large", MANY)
    await trio.sleep(1)
    assert holders.held == ["large"]
    for _ in range(3):
        holders.start("small", FEW)
    await trio.sleep(1)
    assert holders.held == ["large", "small", "small"]

    holders.go.set()
    await trio.sleep(1)

    assert len(holders.held) == 6


async def test_refused_batch_and_cancelled_waiter_release_their_decompression_slots(
    world, nursery, autojump_clock
) -> None:
    holders = Holders(decompression(world), nursery)
    holder = holders.start("first", MANY)
    await trio.sleep(1)
    waiter = holders.start("second", MANY)
    await trio.sleep(1)

    waiter.cancel()
    holder.cancel()
    await trio.sleep(1)
    with pytest.raises(KafkaError):
        async with holders.memory.unpacked(Codec.LZ4, BOMB, LIMIT):
            pytest.fail("unpacked")
    holders.start("third", MANY)
    await trio.sleep(1)

    assert holders.held == ["first", "third"]
    holders.go.set()


async def test_decompression_without_waiting_raises_would_block_behind_a_waiter(
    world, nursery, autojump_clock
) -> None:
    holders = Holders(decompression(world), nursery)
    holders.start("first", MANY)
    await trio.sleep(1)
    holders.start("waits", MANY)
    await trio.sleep(1)

    with pytest.raises(trio.WouldBlock):
        async with holders.memory.unpacked(Codec.LZ4, MANY, LIMIT, wait=False):
            pytest.fail("unpacked")
    for size, large in ((GLANCE, False), (GLANCE + 1, True)):
        packed = compress(Codec.LZ4, bytes(size))
        with pytest.raises(trio.WouldBlock) if large else nullcontext():
            async with holders.memory.unpacked(Codec.LZ4, packed, LIMIT, wait=False) as plain:
                assert len(plain) == size
    holders.go.set()


async def test_memory_of_a_large_batch_is_reused_after_an_error(world, autojump_clock) -> None:
    memory = decompression(world)
    packed = compress(Codec.ZSTD, b"x" * (SMALL + 1))
    with pytest.raises(ZeroDivisionError):
        async with memory.unpacked(Codec.ZSTD, packed, LIMIT) as plain:
            kept = memoryview(plain)[-10:]
            assert bytes(kept) == b"x" * 10
            raise ZeroDivisionError

    assert bytes(kept) == bytes(10)


@pytest.mark.slow
async def test_records_behind_a_large_zstd_window_have_a_lower_limit(world, autojump_clock) -> None:
    limit = MOST - LARGEST_WINDOW
    skipped = bytes.fromhex("502a4d18") + (10).to_bytes(4, "little")
    claim = skipped + bytes.fromhex("28b52ffd00") + bytes([8 * 17]) + bytes(4)
    packed = compress(Codec.ZSTD, bytes(limit))
    over = compress(Codec.ZSTD, bytes(limit + 1))
    memory = decompression(world)

    async with memory.unpacked(Codec.ZSTD, claim + packed, MOST) as plain:
        assert len(plain) == limit
    async with memory.unpacked(Codec.ZSTD, over, MOST) as plain:
        assert len(plain) == limit + 1
    with pytest.raises(KafkaError):
        async with memory.unpacked(Codec.ZSTD, claim + over, MOST):
            pytest.fail("unpacked")


async def test_decompression_nodes_show_tokens_and_waiting_tasks(
    world, nursery, autojump_clock
) -> None:
    node = Node("broker", "broker")
    holders = Holders(Decompression(world, node), nursery)
    for _ in range(3):
        holders.start("large", MANY)
    await trio.sleep(1)

    small, large = (child.figures() for child in node.children)

    assert (small["tokens"], small["borrowed"]) == (2, 0)
    assert (large["tokens"], large["borrowed"], large["waiting"]) == (1, 1, 2)
    holders.go.set()
