import pytest

from tests.log.kit import batch, fill
from trio_kafka.log.recovery.check_job import check_in_job
from trio_kafka.log.recovery.verify import CheckProgress, check_segment
from trio_kafka.log.segment import Segment
from trio_kafka.scheduling.chunked_work import whole
from trio_kafka.world.real.world import RealWorld

NAME = "00000000000000000000.log"
BATCHES = [
    bytes(batch(2, base_offset=2 * n, leader_epoch=n // 3, size=50, timestamp=10 * n))
    for n in range(8)
]


@pytest.mark.slow
async def test_segment_check_in_a_worker_process_equals_the_check_in_the_loop(tmp_path):
    world = RealWorld()
    root = world.directory(str(tmp_path))
    content = b"".join(BATCHES)
    await fill(root, {NAME: content + BATCHES[0][:70]})
    segment, checked, seen = Segment.open(root, 0, 0), CheckProgress(0), []
    end = await check_segment(segment, checked, 100, see=lambda _, header: seen.append(header))

    async with world.kept_workers():
        result = await world.run_in_process(check_in_job, str(tmp_path), 0, CheckProgress(0), 100)

    assert (result.end, result.checked) == (end, checked) == (len(content), checked)
    assert result.summary == segment.summary()
    assert result.epochs == ((0, 0), (1, 6), (2, 12))
    segment.close()


async def test_segment_check_continues_from_the_epoch_of_the_previous_segment(
    autojump_clock, world
):
    root = world.directory("/data", create=True)
    await fill(root, {NAME: b"".join(BATCHES)})

    result = whole(check_in_job(root, 0, CheckProgress(0, epoch=1), 100))

    assert result.end == 0  # its first batch is of an older epoch
