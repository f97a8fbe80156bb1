import pytest

from tests.log.kit import batch, fill
from trio_kafka.log.recovery.verify import CheckProgress, check_segment
from trio_kafka.log.segment import Segment

WHOLE = [bytes(batch(2, base_offset=2 * n, leader_epoch=n, size=50)) for n in range(4)]
LARGE = bytes(batch(1, base_offset=8, leader_epoch=4, size=600_000))


async def check(world, content, checked=None):
    root = world.directory("/data", create=True)
    await fill(root, {"00000000000000000000.log": content})
    segment = Segment.open(root, 0, 0)
    checked = checked or CheckProgress(0)
    seen = []
    end = await check_segment(segment, checked, 100, see=lambda at, header: seen.append(at))
    return end, checked, seen, segment


async def test_segment_check_reports_and_indexes_all_whole_batches(autojump_clock, world):
    content = b"".join([*WHOLE, LARGE, bytes(batch(base_offset=9, leader_epoch=4))])

    end, checked, seen, segment = await check(world, content)

    assert end == len(content)
    assert (checked.end_offset, checked.epoch) == (10, 4)
    assert len(seen) == 6
    assert segment.offsets.entries.count == 5 - 1 + 0 or segment.offsets.entries.count > 1


@pytest.mark.parametrize(
    "tail",
    [
        b"\0" * 7,
        b"\0" * 5000,
        LARGE[:-1],
        LARGE[:-1] + b"\1",
        LARGE[:300_000] + bytes(300_000),
        b"\xff" * 200,
        WHOLE[0],
        bytes(batch(base_offset=8, leader_epoch=2)),
    ],
)
async def test_segment_check_ends_at_the_first_bytes_that_are_no_valid_batch(
    autojump_clock, world, tail
):
    end, checked, _, _ = await check(world, b"".join(WHOLE) + tail)

    assert end == sum(map(len, WHOLE))
    assert checked.end_offset == 8


async def test_segment_check_ends_before_a_batch_with_a_changed_byte(autojump_clock, world):
    content = bytearray(b"".join(WHOLE))
    content[2 * len(WHOLE[0]) + 70] ^= 1

    end, _, _, _ = await check(world, content)

    assert end == 2 * len(WHOLE[0])


async def test_segment_check_ends_at_an_offset_below_the_expected_offset(autojump_clock, world):
    end, _, _, _ = await check(world, WHOLE[0], CheckProgress(1))

    assert end == 0
