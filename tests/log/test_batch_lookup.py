import pytest

from tests.log.kit import batch, fill
from trio_kafka.errors import ErrorCode, KafkaError
from trio_kafka.log.batch_lookup import CutBatchError, find_batch
from trio_kafka.log.files.operations import run_in_threads, run_now
from trio_kafka.log.index.entries import CorruptIndexError

SIZES = (10, 5000, 100, 9000, 10, 10)


async def filled(world, tail=b""):
    root = world.directory("/data", create=True)
    batches = [
        bytes(batch(2, size=size, base_offset=2 * number)) for number, size in enumerate(SIZES)
    ]
    await fill(root, {"f": b"".join(batches) + tail})
    starts = [sum(map(len, batches[:number])) for number in range(len(batches))]
    return root.open("f"), starts


async def test_batch_that_holds_an_offset_is_found_from_any_earlier_batch(autojump_clock, world):
    file, starts = await filled(world)

    for offset in range(12):
        for begin in starts[: offset // 2 + 1]:
            spot = run_now(find_batch(file, begin, offset))
            assert spot == await run_in_threads(find_batch(file, begin, offset))
            assert (spot.position, spot.base_offset) == (starts[offset // 2], offset // 2 * 2)
    assert run_now(find_batch(file, 0, 12)) is None


async def test_lookup_raises_corrupt_message_at_bytes_that_are_no_batch_header(
    autojump_clock, world
):
    file, _ = await filled(world, bytes(100))

    with pytest.raises(KafkaError) as caught:
        run_now(find_batch(file, 0, 99))
    assert caught.value.code is ErrorCode.CORRUPT_MESSAGE


@pytest.mark.parametrize(("number", "beside", "offset"), [(1, 3, 11), (2, 0, 0)])
async def test_lookup_from_a_wrong_position_raises_corrupt_index_error(
    autojump_clock, world, number, beside, offset
):
    file, starts = await filled(world)

    with pytest.raises(CorruptIndexError):
        run_now(find_batch(file, starts[number] + beside, offset))


async def test_lookup_of_a_cut_batch_raises_cut_batch_error_with_its_position(
    autojump_clock, world
):
    file, starts = await filled(world)
    file.truncate(file.size - 1)

    with pytest.raises(CutBatchError) as caught:
        run_now(find_batch(file, 0, 11))
    assert caught.value.position == starts[-1]
