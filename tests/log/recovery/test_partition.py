import pytest

from tests.log.kit import (
    PARTITION,
    SAMPLES,
    append,
    batch,
    content_of,
    fill,
    new_log,
    offsets,
    read_all,
    sample,
    sample_log,
    scan,
)
from trio_kafka.log.config import LogConfig
from trio_kafka.log.durability.sync import close, sync
from trio_kafka.log.read import find_aborted, perform_in_threads
from trio_kafka.log.recovery.partition import open_log
from trio_kafka.log.recovery.segment_loader import Recovery
from trio_kafka.log.rolling import roll
from trio_kafka.testing.simulation import run_simulated, run_until_crash

RECORDS = {
    "plain-0": 52,
    "epochs-0": 15,
    "logappend-0": 5,
    "compacted-0": 14,
    "gzip-0": 40,
    "snappy-0": 40,
    "lz4-0": 40,
    "zstd-0": 40,
}


@pytest.mark.parametrize(("archive", "folder"), SAMPLES)
@pytest.mark.parametrize("clean", [True, False])
async def test_every_record_of_partitions_of_apache_kafka_is_read(
    autojump_clock, world, archive, folder, clean
):
    log = await sample_log(world, archive, folder, clean=clean)

    result = offsets(await read_all(log))

    assert result == sorted(set(result))
    ends = max(offset for offset in result) + 1
    assert ends == log.end_offset
    if folder in RECORDS and archive != "running_indexes":
        assert len(result) == RECORDS[folder]


@pytest.mark.parametrize(("archive", "folder"), SAMPLES)
async def test_rebuilt_indexes_equal_the_indexes_of_apache_kafka(
    autojump_clock, world, archive, folder
):
    log = await sample_log(world, archive, folder, clean=False, drop="index")
    bases = [segment.base_offset for segment in log.segments]
    await close(log)

    kafkas = sample(archive)[folder]
    for name, content in kafkas.items():
        if not name.endswith("index"):
            continue
        sealed = int(name.split(".")[0]) != bases[-1]
        if archive == "running_indexes" and not sealed and not name.endswith("txnindex"):
            continue  # zero-filled, and its last entry not written yet
        if folder in ("plain-0", "epochs-0") or not content:
            continue  # the node was started again in between: it counted bytes anew
        ours = await content_of(log.directory, name)
        if folder == "txn-0" and not sealed:
            ours = ours[: len(content)]  # the last batch came after such a start
        assert ours == content, name


async def test_start_offset_and_leader_epochs_are_read_from_the_checkpoints(autojump_clock, world):
    epochs = await sample_log(world, "epochs", "epochs-0")
    trimmed = await sample_log(world, "trimmed", "trimmed-0", start=25)

    assert epochs.epochs.rows == [(0, 0), (2, 4), (4, 8)]
    assert epochs.epoch_end_offset(2) == (2, 8)
    assert trimmed.start_offset == 25
    assert offsets(await read_all(trimmed)) == list(range(25, 40))


async def test_missing_leader_epochs_are_rebuilt_from_batches_after_an_unclean_stop(
    autojump_clock, world
):
    log = await sample_log(world, "epochs", "epochs-0", clean=False, drop="leader-epoch-checkpoint")

    assert log.epochs.rows == [(0, 0), (2, 4), (4, 8)]


@pytest.mark.parametrize("drop", ["", ".snapshot"])
async def test_open_and_aborted_transactions_are_the_same_with_and_without_snapshots(
    autojump_clock, world, drop
):
    log = await sample_log(world, "txn", "txn-0", clean=not drop, drop=drop)
    log.high_watermark = log.end_offset

    aborted = await perform_in_threads(log, lambda: find_aborted(log.segments, 0, log.end_offset))

    assert log.last_stable_offset < log.end_offset
    assert [(transaction.first_offset, transaction.last_offset) for transaction in aborted] == [
        (6, 11),
        (18, 28),
    ]


async def test_segments_after_a_torn_segment_are_dropped_in_a_compacted_log_too(
    autojump_clock, world
):
    log = new_log(world, segment_bytes=400)
    for _ in range(12):
        append(log, batch(2, size=40))
    await sync(log)
    log.abandon()
    damaged = log.directory.open(f"{0:020}.log")
    damaged.truncate(damaged.size - 1)
    damaged.close()

    recovery = Recovery(cleaned_until=100)
    again = await open_log(world, log.directory, PARTITION, config=log.config, recovery=recovery)

    assert len(again.segments) == 1
    assert offsets(await read_all(again)) == list(range(again.end_offset))


async def test_batches_of_an_older_epoch_after_a_newer_epoch_are_cut(autojump_clock, world):
    log = new_log(world)
    append(log, batch(), epoch=5)
    append(log, batch(), epoch=4)
    log.abandon()

    again = await open_log(world, log.directory, PARTITION, config=log.config)

    assert again.end_offset == 1


async def test_load_after_a_clean_stop_reads_few_bytes_of_segments(autojump_clock, world):
    log = new_log(world)
    for _ in range(10):
        append(log, batch(size=30_000))
    await close(log)
    world.universe.trace.clear()

    again = await open_log(
        world, log.directory, PARTITION, config=log.config, recovery=Recovery(clean=True)
    )

    assert again.end_offset == 10
    reads = [line for line in world.universe.trace if " read " in line and ".log" in line]
    assert len(reads) <= 12


async def test_a_torn_tail_is_cut_even_after_a_clean_stop(autojump_clock, world):
    log = new_log(world)
    append(log, batch())
    append(log, batch())
    await close(log)
    damaged = log.directory.open("00000000000000000000.log")
    damaged.append([bytes(100)])
    damaged.close()

    again = await open_log(
        world, log.directory, PARTITION, config=log.config, recovery=Recovery(clean=True)
    )

    assert again.end_offset == 2
    assert len(await read_all(again)) == 2


@pytest.mark.parametrize("checkpoint", [0, 2, 3, 100])
async def test_recovery_point_rises_only_when_the_rebuilt_epochs_are_durable(
    autojump_clock, world, checkpoint
):
    log = new_log(world)
    append(log, batch(1), epoch=1)
    await sync(log)
    append(log, batch(2), epoch=2)
    log.abandon()

    recovery = Recovery(recovery_point=checkpoint)
    again = await open_log(world, log.directory, PARTITION, config=log.config, recovery=recovery)

    assert again.recovery_point == min(checkpoint, 3)
    await sync(again)
    assert again.recovery_point == 3
    epochs = await content_of(log.directory, "leader-epoch-checkpoint")
    assert epochs == b"0\n2\n1 0\n2 1\n"


async def test_rebuilt_leader_epochs_equal_to_their_file_are_not_written_again(
    autojump_clock, world
):
    log = new_log(world)
    append(log, batch(1), epoch=1)
    append(log, batch(2), epoch=2)
    await sync(log)
    log.abandon()

    again = await open_log(world, log.directory, PARTITION, config=log.config)

    assert not again.epochs.dirty
    assert again.recovery_point == again.end_offset == 3


async def test_second_load_with_the_same_recovery_lists_the_directory_again(autojump_clock, world):
    log = new_log(world, segment_bytes=200)
    append(log, batch(1, size=100))
    await close(log)
    recovery = Recovery(clean=True, names=log.directory.names())
    log = await open_log(world, log.directory, PARTITION, config=log.config, recovery=recovery)
    for _ in range(3):
        append(log, batch(1, size=100))
    await close(log)

    again = await open_log(world, log.directory, PARTITION, config=log.config, recovery=recovery)

    assert (len(again.segments), again.end_offset) == (4, 4)


async def test_log_that_ends_below_its_start_offset_restarts_at_the_start_offset(
    autojump_clock, world
):
    log = new_log(world)
    append(log, batch(3))
    await close(log)

    recovery = Recovery(clean=True, start_offset=7, high_watermark=7)
    again = await open_log(world, log.directory, PARTITION, config=log.config, recovery=recovery)

    assert (again.start_offset, again.end_offset) == (7, 7)
    assert append(again, batch()).first_offset == 7


@pytest.mark.parametrize("clean", [True, False])
async def test_start_offset_above_the_high_watermark_and_the_log_end_is_ignored(
    autojump_clock, world, caplog, clean
):
    log = new_log(world, segment_bytes=100)
    for _ in range(4):
        append(log, batch())
    await close(log)

    recovery = Recovery(clean=clean, start_offset=1 << 40, high_watermark=4)
    again = await open_log(world, log.directory, PARTITION, config=log.config, recovery=recovery)

    assert (again.start_offset, again.end_offset) == (0, 4)
    assert offsets(await read_all(again)) == [0, 1, 2, 3]
    assert "start offset above the log's end ignored" in caplog.text


async def test_start_offset_inside_the_last_segment_is_used_without_a_high_watermark(
    autojump_clock, world
):
    log = new_log(world)
    for _ in range(4):
        append(log, batch())
    await close(log)

    recovery = Recovery(clean=True, start_offset=2)
    again = await open_log(world, log.directory, PARTITION, config=log.config, recovery=recovery)

    assert (again.start_offset, again.end_offset) == (2, 4)


async def test_missing_index_is_rebuilt_and_leader_epochs_are_unchanged(autojump_clock, world):
    log = new_log(world, segment_bytes=400)
    for number in range(12):
        append(log, batch(2, size=40), epoch=number // 3)
    rows = log.epochs.rows
    await close(log)
    name = f"{log.segments.first.base_offset:020}.index"
    before = await content_of(log.directory, name)
    await log.directory.unlink(name)

    recovery = Recovery(clean=True)
    again = await open_log(world, log.directory, PARTITION, config=log.config, recovery=recovery)

    assert again.epochs.rows == rows
    assert await content_of(log.directory, name) == before
    assert again.end_offset == 24


@pytest.mark.parametrize("damage", [None, b"", b"9\n"])
async def test_leader_epochs_are_rebuilt_from_batches_if_their_file_is_lost(
    autojump_clock, world, damage
):
    log = new_log(world, segment_bytes=400)
    for number in range(12):
        append(log, batch(2, size=40), epoch=number // 3)
    rows = log.epochs.rows
    await close(log)
    await log.directory.unlink("leader-epoch-checkpoint")
    if damage is not None:
        await fill(log.directory, {"leader-epoch-checkpoint": damage})

    again = await open_log(
        world, log.directory, PARTITION, config=log.config, recovery=Recovery(clean=True)
    )

    assert again.epochs.rows == rows


async def write_for_ever(world, acked):
    """A life that appends batches of all sizes, rolls, and notes what a sync has answered for."""
    root = world.directory("/t-0", create=True)
    config = LogConfig(segment_bytes=3000, index_interval_bytes=300)
    log = await open_log(world, root, PARTITION, config=config, parent=world.directory("/"))
    log.high_watermark = log.end_offset
    while True:
        for _ in range(world.random.randrange(1, 6)):
            size = world.random.choice((10, 200, 700))
            append(log, batch(world.random.randrange(1, 4), size=size), epoch=log.end_offset // 20)
        end = log.end_offset
        await sync(log)
        acked[0] = end


@pytest.mark.parametrize("power", [True, False])
def test_synced_records_survive_any_crash_and_the_log_has_no_gaps(power, size):
    async def lives(universe):
        acked = [0]
        for _ in range(3):
            world = universe.machine("broker")
            after = universe.time_chance.uniform(0.05, 0.6)
            await run_until_crash(world, lambda w: write_for_ever(w, acked), after, power=power)
        world = universe.machine("broker")
        root = world.directory("/t-0", create=True)
        config = LogConfig(segment_bytes=3000, index_interval_bytes=300)
        log = await open_log(world, root, PARTITION, config=config)
        result = offsets(await read_all(log))
        batches = await scan(log)
        return acked[0], result, log, batches

    for seed in range(size(40, 1000)):
        acked, result, log, batches = run_simulated(lives, seed, moody=True)
        assert result == list(range(log.end_offset)), seed
        assert log.end_offset >= acked, seed
        starts: dict[int, int] = {}
        for _, _, header in batches:
            starts.setdefault(header.leader_epoch, header.base_offset)
        assert log.epochs.rows == sorted(starts.items()), seed


async def test_producer_snapshot_is_ignored_if_the_batches_before_are_lost(autojump_clock, world):
    """After a power loss the name of the first segment is lost, and those behind it are not."""
    log = new_log(world)
    append(log, batch(producer_id=7, producer_epoch=0, base_sequence=0))
    roll(log)
    append(log, batch())
    await log.directory.unlink("00000000000000000000.log")
    log.abandon()

    again = await open_log(world, log.directory, PARTITION, config=LogConfig())

    assert (again.start_offset, again.end_offset) == (1, 2)
    assert again.producers.get(7) is None
