import pytest

from tests.log.kit import append, batch, fill, new_log
from trio_kafka.errors import ErrorCode, KafkaError
from trio_kafka.log.durability.sync import close
from trio_kafka.log.read import find_place
from trio_kafka.log.reading import run_cold, run_warm
from trio_kafka.log.recovery.partition import Known, open_log

SIZE = len(batch(2))


def filled(world):
    """Ten batches of two records, three in a segment."""
    log = new_log(world, segment_bytes=3 * SIZE)
    for _ in range(10):
        append(log, batch(2))
    return log


def place(log, offset, max_bytes=1 << 20, end=20, *, at_least_one=True):
    return run_warm(
        find_place(log.segments, offset, max_bytes, end, log.end_offset, at_least_one=at_least_one)
    )


async def test_a_place_begins_with_the_batch_and_ends_with_its_segment(autojump_clock, world):
    log = filled(world)

    found = [place(log, offset)[1:3] for offset in (0, 1, 3, 6, 19)]

    assert found == [(0, 3 * SIZE), (0, 3 * SIZE), (SIZE, 2 * SIZE), (0, 3 * SIZE), (0, SIZE)]


async def test_no_batch_that_ends_at_the_end_or_later_is_in_it(autojump_clock, world):
    log = filled(world)

    assert place(log, 0, end=4).size == 2 * SIZE
    assert place(log, 0, end=5).size == 2 * SIZE
    assert place(log, 0, end=6).size == 3 * SIZE
    assert place(log, 4, end=5) is None
    assert place(log, 5, end=5) is None


async def test_the_first_batch_is_never_cut_short(autojump_clock, world):
    log = filled(world)

    assert place(log, 0, 1).size == SIZE
    assert place(log, 0, SIZE - 1, at_least_one=False) is None
    assert place(log, 0, SIZE + 1, at_least_one=False).size == SIZE + 1


async def test_an_offset_of_a_later_segment_in_an_earlier_one_is_damage(autojump_clock, world):
    log = filled(world)
    file = log.segments.first.file
    content = bytearray(file.size)
    await file.read(0, content)
    content[SIZE + 6] ^= 1  # of the second batch's base offset
    await close(log)
    name = f"{0:020}.log"
    await log.directory.unlink(name)
    await fill(log.directory, {name: bytes(content)})
    again = await open_log(world, log.directory, log.partition, log.config, known=Known(clean=True))

    with pytest.raises(KafkaError) as caught:
        await run_cold(find_place(again.segments, 2, 1 << 20, 20, 20, at_least_one=True))
    assert caught.value.code is ErrorCode.CORRUPT_MESSAGE
    found = await run_cold(find_place(again.segments, 6, 1 << 20, 20, 20, at_least_one=True))
    assert found.first_offset == 6
