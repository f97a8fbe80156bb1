import pytest
import trio

from tests.log.kit import PARTITION, append, batch, decompression, new_log, offsets, read, read_all
from trio_kafka.errors import InvariantError, KafkaError, LogDirError
from trio_kafka.log.config import LogConfig
from trio_kafka.log.durability.sync import close, sync
from trio_kafka.log.files.operations import ReadBytes
from trio_kafka.log.log import Log
from trio_kafka.log.read import perform_in_threads
from trio_kafka.log.recovery.partition import open_log
from trio_kafka.log.recovery.segment_loader import Recovery
from trio_kafka.log.rolling import roll
from trio_kafka.log.timestamp_search import largest_timestamp
from trio_kafka.log.truncate import BYTES_A_TURN, restart_at, truncate_to
from trio_kafka.testing.simulation import fault_on, run_simulated, run_until_crash


def filled(world, **settings):
    """A log of 20 batches of 2 records in several segments, an epoch for each four batches."""
    log = new_log(world, segment_bytes=600, index_interval_bytes=100, **settings)
    for number in range(20):
        append(log, batch(2, size=30, timestamp=1000 + 10 * number), epoch=number // 4)
    return log


@pytest.fixture
def filled_log(world):
    return filled(world, message_timestamp_after_max_ms=1 << 60)


@pytest.mark.parametrize("end", [38, 30, 16, 8, 2, 0])
async def test_truncated_log_ends_at_the_offset_and_is_appended_to_there(
    autojump_clock, filled_log, end
):
    await truncate_to(filled_log, end)

    assert filled_log.end_offset == end
    assert filled_log.high_watermark == end
    assert offsets(await read_all(filled_log)) == list(range(end))
    assert all(start < end for _, start in filled_log.epochs.rows)
    assert append(filled_log, batch()).first_offset == end
    assert offsets(await read_all(filled_log)) == list(range(end + 1))


async def test_truncation_inside_a_batch_removes_the_whole_batch(autojump_clock, filled_log):
    await truncate_to(filled_log, 15)

    assert filled_log.end_offset == 14


async def test_largest_timestamp_after_a_truncation_is_of_the_remaining_records(
    autojump_clock, filled_log
):
    await truncate_to(filled_log, 16)

    assert await largest_timestamp(filled_log, decompression(filled_log.world)) == (15, 1071, 1)


async def test_truncated_log_is_the_same_after_a_restart(autojump_clock, filled_log):
    world = filled_log.world
    await sync(filled_log)
    await truncate_to(filled_log, 16)
    append(filled_log, batch(), epoch=9)
    await close(filled_log)

    again = await open_log(
        world,
        filled_log.directory,
        PARTITION,
        config=filled_log.config,
        recovery=Recovery(clean=True),
    )

    assert offsets(await read_all(again)) == list(range(17))
    assert again.epochs.rows == [(0, 0), (1, 8), (9, 16)]


async def test_recovery_point_is_lowered_before_a_truncation_removes_bytes(
    autojump_clock, filled_log
):
    await sync(filled_log)
    seen = []

    async def before_cut(_, cut=None):
        seen.append((filled_log.recovery_point, filled_log.size))
        await trio.lowlevel.checkpoint()

    filled_log.lower_checkpoints = before_cut
    size = filled_log.size
    await truncate_to(filled_log, 16)

    assert seen == [(16, size)]


async def test_flush_is_not_due_after_its_records_are_truncated(autojump_clock, world):
    log = new_log(world, flush_messages=3)
    for _ in range(3):
        append(log, batch())
    assert log.durable_end == 0

    await truncate_to(log, 1)
    await sync(log)
    append(log, batch())

    assert log.durable_end == log.end_offset == 2  # no flush is due for it


async def test_leases_of_truncated_bytes_are_marked_as_cut(autojump_clock, world):
    log = new_log(world)
    for _ in range(10):
        append(log, batch(size=100))
    low, high = read(log, 0, 200, 10), read(log, 5, 1 << 20, 10)

    await truncate_to(log, 7)

    assert not low.lease.cut
    assert high.lease.cut
    low.release()
    high.release()


async def test_append_during_a_truncation_is_refused(autojump_clock, filled_log):
    async def before_cut(_, cut=None):
        with pytest.raises(InvariantError):
            append(filled_log, batch())
        await trio.lowlevel.checkpoint()

    filled_log.lower_checkpoints = before_cut
    await truncate_to(filled_log, 16)

    assert filled_log.end_offset == 16


async def test_cancelled_truncation_is_completed(autojump_clock, filled_log):
    with trio.CancelScope() as scope:
        scope.cancel()
        await truncate_to(filled_log, 16)

    assert filled_log.end_offset == 16
    assert offsets(await read_all(filled_log)) == list(range(16))


async def test_large_tail_is_truncated_in_several_calls(autojump_clock, world):
    log = new_log(world, max_message_bytes=1 << 30)
    for _ in range(5):
        append(log, batch(size=8 << 20))
    world.universe.trace.clear()

    await truncate_to(log, 0)

    cuts = [line for line in world.universe.trace if " truncate " in line]
    assert len(cuts) >= 3
    assert BYTES_A_TURN == 16 << 20


async def test_producer_state_after_a_truncation_is_of_the_remaining_batches(autojump_clock, world):
    log = new_log(world)
    for number in range(4):
        append(log, batch(producer_id=1, producer_epoch=0, base_sequence=number))

    await truncate_to(log, 2)

    assert log.producers.get(1).last_sequence == 1
    assert append(log, batch(producer_id=1, producer_epoch=0, base_sequence=2)).first_offset == 2


async def test_io_error_of_a_truncation_fails_the_log(autojump_clock, filled_log):
    def fault(machine, call, target):
        return OSError(5, "broken") if call == "truncate" else None

    filled_log.world.universe.fault = fault

    with pytest.raises(LogDirError):
        await truncate_to(filled_log, 2)
    with pytest.raises(LogDirError):
        append(filled_log, batch())


async def test_log_can_be_restarted_at_any_offset(autojump_clock, filled_log):
    await restart_at(filled_log, 1000)

    assert (filled_log.start_offset, filled_log.end_offset) == (1000, 1000)
    with pytest.raises(KafkaError):
        read(filled_log, 16, 100, 2000)
    assert append(filled_log, batch()).first_offset == 1000
    assert offsets(await read_all(filled_log)) == [1000]


class Life:
    """Promises about a log that is appended to, synced and cut, whatever happens."""

    def __init__(self):
        self.written: dict[int, bytes] = {}
        self.acked = 0
        self.point = 0
        self.number = 0

    async def run(self, world):
        root = world.directory("/t-0", create=True)
        config = LogConfig(segment_bytes=1500, index_interval_bytes=200)
        recovery = Recovery(recovery_point=self.point)
        log = await open_log(
            world, root, PARTITION, config=config, recovery=recovery, parent=world.directory("/")
        )
        log.high_watermark = log.end_offset
        self.written = {r.offset: r.value for r in await read_all(log)}

        async def before_cut(_, cut=None):
            await trio.sleep(0.001)  # a checkpoint of the directory is written
            self.point = log.recovery_point

        log.lower_checkpoints = before_cut
        while True:
            if world.random.random() < 0.2:
                end = world.random.randrange(log.end_offset + 1)
                self.acked = min(self.acked, end)
                await truncate_to(log, end)
                self.acked = min(self.acked, log.end_offset)
                self.written = {k: v for k, v in self.written.items() if k < log.end_offset}
            for _ in range(world.random.randrange(1, 6)):
                self.number += 1
                size = world.random.choice((10, 100, 600))
                content = batch(size=size, timestamp=self.number)
                first = append(log, content, epoch=self.number).first_offset
                self.written[first] = bytes(size)
            if world.random.random() < 0.5:
                end = log.end_offset
                await sync(log)
                self.acked = end
            if world.random.random() < 0.3:
                self.point = log.recovery_point


def test_truncated_records_never_reappear_between_synced_records_after_crashes(size):
    async def lives(universe):
        life = Life()
        for _ in range(4):
            world = universe.machine("broker")
            await run_until_crash(world, life.run, universe.time_chance.uniform(0.05, 0.6))
        world = universe.machine("broker")
        root = world.directory("/t-0", create=True)
        recovery = Recovery(recovery_point=life.point)
        config = LogConfig(segment_bytes=1500)
        log = await open_log(world, root, PARTITION, config=config, recovery=recovery)
        result = await read_all(log)
        return life, log, result

    for seed in range(size(25, 1000)):
        life, log, result = run_simulated(lives, seed, moody=True)
        assert offsets(result) == list(range(log.end_offset)), seed
        assert log.end_offset >= life.acked, seed
        epochs = [epoch for epoch, _ in log.epochs.rows]
        assert epochs == sorted(set(epochs)), seed
        for record in result[: life.acked]:
            assert record.value == life.written[record.offset], seed


async def test_truncation_that_waits_too_long_for_a_descriptor_fails_the_log(autojump_clock, world):
    log = new_log(world)
    for epoch in range(3):
        append(log, batch(2), epoch=epoch)
    world.universe.fault = fault_on("create", OSError(24, "EMFILE"), "leader-epoch-checkpoint.tmp")
    began = trio.current_time()

    with pytest.raises(LogDirError, match="300 s"):
        await truncate_to(log, 2)

    assert 300 <= trio.current_time() - began < 302
    assert log.failed
    assert log.writer.blocked_by is None
    assert log.writer.change is None


async def test_truncation_inside_a_batch_lowers_the_recovery_point_to_its_base_offset(
    autojump_clock, world
):
    log = new_log(world)
    for _ in range(2):
        append(log, batch(3))
    await sync(log)
    claimed: list[int] = []

    async def lower(_: Log, cut: int) -> None:
        claimed.append(log.recovery_point)
        await trio.lowlevel.checkpoint()

    log.lower_checkpoints = lower

    await truncate_to(log, 5)

    assert claimed == [3]
    assert log.end_offset == log.recovery_point == 3


async def test_previous_segment_becomes_active_when_a_truncation_empties_the_last(
    autojump_clock, filled_log
):
    log = filled_log
    await sync(log)
    last = log.segments.active.base_offset

    await truncate_to(log, last + 1)
    assert log.end_offset == last
    assert not log.segments.active.sealed
    append(log, batch())
    await sync(log)

    assert offsets(await read_all(log)) == list(range(last + 1))


@pytest.mark.parametrize("is_cut", [False, True])
async def test_search_that_overlaps_begin_or_end_of_a_truncation_is_repeated(
    autojump_clock, filled_log, is_cut
):
    """is_cut: the search begins amid the cut and ends after it; else it ends amid the cut."""
    log, searches = filled_log, []

    def search():
        searches.append(log.end_offset)
        while (log.writer.blocked_by is not None) == is_cut and len(searches) == 1:
            yield ReadBytes(log.segments.first.file, 0, 1, 1 << 20)  # takes time

    async with trio.open_nursery() as nursery:
        nursery.start_soon(truncate_to, log, 2)
        while (log.writer.blocked_by is not None) != is_cut:
            await trio.sleep(0.00001)
        await perform_in_threads(log, search)

    assert len(searches) > 1


async def test_offsets_reused_after_a_truncation_are_not_marked_unreadable(autojump_clock, world):
    log = new_log(world)
    for _ in range(4):
        append(log, batch())
    roll(log)
    log.segments.first.unreadable = {3: "offsets 3 to 3: malformed"}

    await truncate_to(log, 3)
    append(log, batch())

    assert log.segments.active.unreadable == {}
