import pytest

from tests.log.kit import batch, fill
from trio_kafka.log.recovery.damage import looks_lost


async def lost(world, content, begin, end=None):
    root = world.directory("/data", create=True)
    await fill(root, {"f": content})
    return await looks_lost(root.open("f"), begin, len(content) if end is None else end)


@pytest.mark.parametrize("kept", [0, 5, 12, 60, 70])
async def test_a_file_that_ends_within_a_batch_looks_torn(autojump_clock, world, kept):
    assert await lost(world, bytes(batch()[:kept]), 0)


@pytest.mark.parametrize("kept", [0, 512, 1024])
async def test_zeros_from_a_sector_to_the_next_batch_look_torn(autojump_clock, world, kept):
    whole = bytes(batch(size=1100)).replace(b"\0" * 1100, b"x" * 1100)
    torn = whole[:kept] + bytes(len(whole) - kept)

    assert await lost(world, torn + bytes(batch()), 0, len(torn))


async def test_a_flipped_byte_does_not_look_torn(autojump_clock, world):
    changed = batch(size=700).replace(b"\0" * 700, b"x" * 700)
    changed[300] ^= 1

    assert not await lost(world, bytes(changed + batch()), 0, len(changed))
