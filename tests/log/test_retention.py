import pytest
import trio

from tests.log.kit import append, batch, decompression, new_log, offsets, read, read_all
from trio_kafka.errors import ErrorCode, KafkaError, LogDirError
from trio_kafka.log.files.checkpoints import HIGH_WATERMARKS, START_OFFSETS, read_file
from trio_kafka.log.manager.directory import LogDirectory
from trio_kafka.log.read import find_slice, perform_in_threads
from trio_kafka.log.retention import LONGEST_S, delete_before, next_expiry_ms, retain
from trio_kafka.log.timestamp_search import offset_for_timestamp

SIZE = len(batch(timestamp=1))


async def nothing():
    await trio.lowlevel.checkpoint()


def filled(world, **settings):
    """Ten batches, two in a segment; each is 100 ms newer than the one before, the last is now."""
    log = new_log(
        world,
        segment_bytes=2 * SIZE,
        **{"message_timestamp_before_max_ms": 1 << 60, "retention_ms": -1, **settings},
    )
    now = log.now_ms()
    for number in range(10):
        append(log, batch(timestamp=now - 900 + 100 * number))
    return log


@pytest.mark.parametrize(
    ("keep", "start"),
    [(-1, 0), (10_000, 0), (400, 4), (401, 4), (399, 6), (500, 4), (301, 6), (199, 8)],
)
async def test_segments_whose_newest_record_exceeds_retention_ms_are_removed(
    autojump_clock, world, keep, start
):
    log = filled(world, retention_ms=keep)
    now = log.now_ms()

    await retain(log, now, nothing)

    assert log.start_offset == log.segments.first.base_offset == start
    assert offsets(await read_all(log)) == list(range(start, 10))


async def test_log_with_only_expired_records_begins_a_new_segment(autojump_clock, world):
    log = filled(world, retention_ms=1000)
    await trio.sleep(5)

    await retain(log, log.now_ms(), nothing)

    assert (log.start_offset, log.end_offset, log.size) == (10, 10, 0)
    assert append(log, batch()).first_offset == 10


@pytest.mark.parametrize(
    ("keep", "start"), [(-1, 0), (10 * SIZE, 0), (8 * SIZE + 1, 0), (8 * SIZE, 2), (5 * SIZE, 4)]
)
async def test_segments_beyond_retention_bytes_are_removed(autojump_clock, world, keep, start):
    log = filled(world, retention_bytes=keep)

    await retain(log, log.now_ms(), nothing)

    assert log.start_offset == start


async def test_segments_below_the_start_offset_are_removed_in_a_compacted_log_too(
    autojump_clock, world
):
    log = filled(world, cleanup_policy=frozenset({"compact"}), retention_ms=1, retention_bytes=1)
    log.set_start_offset(5)

    assert await retain(log, log.now_ms(), nothing) == 2

    assert (log.start_offset, log.segments.first.base_offset) == (5, 4)
    names = log.directory.names()
    assert not [name for name in names if name < f"{4:020}"]


async def test_segments_above_the_high_watermark_are_not_removed(autojump_clock, world):
    log = filled(world, retention_bytes=0)
    log.high_watermark = 5

    await retain(log, log.now_ms(), nothing)

    assert log.start_offset == 4


async def test_start_offset_checkpoint_is_written_before_a_segment_is_removed(
    autojump_clock, world
):
    log = filled(world)
    seen = []

    async def checkpoint():
        seen.append((log.start_offset, len(log.segments), log.directory.exists(f"{0:020}.log")))
        await trio.lowlevel.checkpoint()

    await delete_before(log, 5, checkpoint)

    assert seen == [(4, 5, True)]


async def test_lease_stays_readable_after_its_segment_is_removed(autojump_clock, world):
    log = filled(world)
    result = read(log, 0, 1 << 20, 10)

    await delete_before(log, 4, nothing)

    assert not result.lease.cut
    result.release()


async def test_reads_during_a_removal_get_offset_out_of_range_and_no_failure(
    autojump_clock, world, nursery
):
    log = filled(world)
    for segment in log.segments:
        segment.close()
    answers = []

    async def read():
        try:
            await perform_in_threads(log, lambda: find_slice(log, 0, 100, end_offset=10))
        except KafkaError as error:
            answers.append(error.code)

    async def look_up():
        answers.append((await offset_for_timestamp(log, 0, decompression(log.world))).offset)

    async def checkpoint():
        for _ in range(5):
            nursery.start_soon(read)
            nursery.start_soon(look_up)
        await trio.sleep(0.00001)

    await delete_before(log, 4, checkpoint)
    await trio.sleep(1)

    assert set(answers) <= {ErrorCode.OFFSET_OUT_OF_RANGE, 0, 4}
    assert len(answers) == 10
    assert log.failed is None


async def test_start_offset_checkpoint_is_kept_until_the_segments_are_removed(
    autojump_clock, world
):
    log = filled(world)
    log_dir = LogDirectory(world, world.directory("/"), list)
    log_dir.logs[log.partition] = log
    await log_dir.write(HIGH_WATERMARKS)
    seen = []

    async def watch():
        while log.writer.change != "removal":
            await trio.sleep(0.00001)
        await log_dir.write_start_offsets()
        seen.append(await read_file(log_dir.root, START_OFFSETS))

    async with trio.open_nursery() as nursery:
        nursery.start_soon(watch)
        await delete_before(log, 5, nothing)

    assert seen == [b"0\n1\nt 0 4\n"]
    await log_dir.write_start_offsets()
    assert await read_file(log_dir.root, START_OFFSETS) == b"0\n0\n"


async def test_only_segments_below_the_checkpointed_start_offset_are_removed(autojump_clock, world):
    log = new_log(world, segment_bytes=100)
    for _ in range(5):
        append(log, batch(1, size=30))

    async def checkpoint() -> None:
        await trio.lowlevel.checkpoint()
        log.set_start_offset(4)  # meanwhile, and not written down

    assert await delete_before(log, 2, checkpoint) == 2
    assert [segment.base_offset for segment in log.segments] == [2, 3, 4]


async def test_cancelled_removal_leaves_no_files_of_removed_segments(autojump_clock, world):
    log = filled(world)
    unlinked = []
    with trio.CancelScope() as scope:

        def fault(machine, call, target):
            del machine
            if call == "unlink" and target.endswith(".log"):
                unlinked.append(target)
                scope.cancel()

        world.universe.fault = fault
        await delete_before(log, 6, nothing)

    assert len(unlinked) == 3
    assert scope.cancel_called
    files = [name for name in log.directory.names() if name.endswith(".log")]
    assert files == [f"{segment.base_offset:020}.log" for segment in log.segments]
    assert log.writer.change is None
    assert log.failed is None


async def test_log_fails_when_a_removal_exceeds_its_timeout(autojump_clock, world):
    log = filled(world)

    def fault(machine, call, target):
        del machine, target
        return LONGEST_S + 1 if call == "names" else None

    world.universe.fault = fault

    with pytest.raises(LogDirError, match="removal of segments took longer than 300 s"):
        await delete_before(log, 6, nothing)
    assert log.failed is not None


async def test_removal_of_segments_of_a_log_closed_meanwhile_touches_no_file(autojump_clock, world):
    log = filled(world)
    names = log.directory.names()

    async def checkpoint():
        await trio.lowlevel.checkpoint()
        log.abandon()

    with pytest.raises(KafkaError) as caught:
        await delete_before(log, 6, checkpoint)
    assert caught.value.code is ErrorCode.NOT_LEADER_OR_FOLLOWER
    assert log.directory.names() == names


async def test_segments_without_timestamps_are_as_old_as_their_files(autojump_clock, world):
    log = new_log(world, segment_bytes=2 * SIZE, retention_ms=1000)
    for _ in range(6):
        append(log, batch())
        await trio.sleep(0.4)
    assert len(log.segments) == 3

    await retain(log, log.now_ms(), nothing)

    assert log.start_offset == 4


async def test_missing_file_of_a_segment_without_timestamps_does_not_stop_retention(
    autojump_clock, world
):
    log = new_log(world, segment_bytes=2 * SIZE, retention_ms=1000)
    for _ in range(6):
        append(log, batch())
    log.segments.first.close()
    await log.directory.unlink(f"{0:020}.log")

    await trio.sleep(2)
    await retain(log, log.now_ms(), nothing)

    assert log.failed is None
    assert log.start_offset == 6


@pytest.mark.parametrize(
    ("settings", "left_ms"),
    [
        ({"retention_ms": 10_000}, 10_000 - 800 + 1),
        ({"retention_ms": -1}, None),
        ({"retention_ms": 10_000, "cleanup_policy": frozenset({"compact"})}, None),
    ],
)
async def test_next_expiry_is_the_time_at_which_the_first_segment_is_removed(
    autojump_clock, world, settings, left_ms
):
    log = filled(world, **settings)

    expiry_ms = await next_expiry_ms(log)

    assert (None if expiry_ms is None else expiry_ms - log.now_ms()) == left_ms
    if expiry_ms is not None:
        await retain(log, expiry_ms - 1, nothing)
        assert log.start_offset == 0
        await retain(log, expiry_ms, nothing)
        assert log.start_offset == 2


async def test_empty_log_has_no_next_expiry(autojump_clock, world):
    assert await next_expiry_ms(new_log(world, retention_ms=1)) is None
