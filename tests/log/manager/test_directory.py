import pytest

from tests.log.kit import append, batch, content_of, fill, new_log, read
from tests.log.managers import T0, TOPIC_ID, format_directory, started
from trio_kafka.errors import LogDirError
from trio_kafka.log.config import LogConfig
from trio_kafka.log.durability.sync import sync
from trio_kafka.log.files.checkpoints import CLEANER_OFFSETS
from trio_kafka.log.manager.directory import LogDirectory
from trio_kafka.log.recovery.segment_loader import Recovery
from trio_kafka.log.truncate import restart_at, truncate_to
from trio_kafka.log.unsynced_files import UnsyncedFiles
from trio_kafka.model import TopicPartition
from trio_kafka.testing.simulation import run_simulated


def directory(world, on_offline=None):
    root = world.directory("/data", create=True)
    return LogDirectory(world, root, (on_offline or []).clear if on_offline is None else on_offline)


async def test_clean_shutdown_marker_counts_for_one_start(autojump_clock, world):
    first = directory(world)
    await first.open()
    assert not first.clean
    await first.close(broker_epoch=7)

    second = directory(world)
    await second.open()
    assert second.clean
    second._unlock()

    third = directory(world)
    await third.open()
    assert not third.clean


def test_clean_shutdown_marker_is_not_restored_by_a_power_loss():
    async def lives(universe):
        world = universe.machine("broker")
        await directory(world).open()
        world.crash(power=False)
        world = universe.machine("broker")
        first = directory(world)
        await first.open()
        await first.close(broker_epoch=1)
        world.crash(power=False)
        world = universe.machine("broker")
        second = directory(world)
        await second.open()
        world.crash()
        third = directory(universe.machine("broker"))
        await third.open()
        return second.clean, third.clean

    assert {run_simulated(lives, seed) for seed in range(20)} == {(True, False)}


async def test_offsets_of_the_checkpoints_are_known_of_a_partition(autojump_clock, world):
    log_dir = directory(world)
    await fill(
        log_dir.root,
        {
            "recovery-point-offset-checkpoint": b"0\n1\nt 0 5\n",
            "replication-offset-checkpoint": b"0\n1\nt 0 4\n",
            "log-start-offset-checkpoint": b"0\n1\nt 0 2\n",
            "cleaner-offset-checkpoint": b"0\n1\nt 0 3\n",
        },
    )

    await log_dir.open()

    assert log_dir.recovery_of(TopicPartition("t", 0)) == Recovery(
        recovery_point=5, high_watermark=4, start_offset=2, cleaned_until=3
    )
    assert log_dir.recovery_of(TopicPartition("t", 1)) == Recovery()


async def test_cleaner_offset_is_removed_only_for_a_new_log(autojump_clock, world):
    log_dir, name = directory(world), "cleaner-offset-checkpoint"
    await fill(log_dir.root, {name: b"0\n2\nt 0 3\nu 0 4\n"})
    await log_dir.open()
    log = new_log(world, "/data/t-0")
    log_dir.add(log)

    await log_dir.lower_checkpoints(log)
    assert await content_of(log_dir.root, name) == b"0\n2\nt 0 3\nu 0 4\n"
    log.unsynced = UnsyncedFiles(log.directory, log_dir.root)
    await log_dir.lower_checkpoints(log)

    assert await content_of(log_dir.root, name) == b"0\n1\nu 0 4\n"


async def test_start_offset_is_written_only_above_the_base_of_the_first_segment(
    autojump_clock, world
):
    log_dir = directory(world)
    await log_dir.open()
    log = new_log(world, "/data/t-0")
    log_dir.add(log)
    append(log, batch(5))

    await log_dir.checkpoint()
    assert await content_of(log_dir.root, "log-start-offset-checkpoint") == b"0\n0\n"
    log.set_start_offset(3)
    await log_dir.checkpoint()

    assert await content_of(log_dir.root, "log-start-offset-checkpoint") == b"0\n1\nt 0 3\n"
    assert await content_of(log_dir.root, "replication-offset-checkpoint") == b"0\n1\nt 0 5\n"
    assert await content_of(log_dir.root, "recovery-point-offset-checkpoint") == b"0\n1\nt 0 0\n"


async def test_directory_detects_high_watermarks_that_moved_since_the_checkpoint(
    autojump_clock, world
):
    log_dir = directory(world)
    await log_dir.open()
    assert not await log_dir.high_watermarks_moved()
    log = new_log(world, "/data/t-0")
    log_dir.add(log)
    assert await log_dir.high_watermarks_moved()

    await log_dir.checkpoint("replication-offset-checkpoint")
    assert not await log_dir.high_watermarks_moved()
    assert log_dir.root.names() == [".lock", "replication-offset-checkpoint", "t-0"]
    append(log, batch(5))
    assert await log_dir.high_watermarks_moved()

    await log_dir.checkpoint()
    assert not await log_dir.high_watermarks_moved()
    del log_dir.logs[log.partition]
    assert await log_dir.high_watermarks_moved()


async def test_unchanged_checkpoint_is_not_written_again(autojump_clock, world):
    log_dir = directory(world)
    await log_dir.open()
    log = new_log(world, "/data/t-0")
    log_dir.add(log)
    await log_dir.checkpoint()
    calls = len(world.universe.trace)
    await log_dir.checkpoint()
    assert len(world.universe.trace) == calls

    append(log, batch(5))
    await log_dir.checkpoint()
    assert any("sync" in line for line in world.universe.trace[calls:])
    assert await content_of(log_dir.root, "replication-offset-checkpoint") == b"0\n1\nt 0 5\n"


async def test_first_error_takes_the_directory_and_its_logs_offline(autojump_clock, world):
    notifications = []
    log_dir = directory(world, lambda: notifications.append(1))
    await log_dir.open()
    log = new_log(world, "/data/t-0")
    log_dir.add(log)

    log_dir.fail(LogDirError("/data", "first"))
    log_dir.fail(LogDirError("/data", "second"))

    assert notifications == [1]
    assert "first" in str(log_dir.offline)
    with pytest.raises(LogDirError):
        read(log, 0, 1, 1)


async def test_checkpoint_that_cannot_be_written_takes_the_directory_offline(autojump_clock, world):
    log_dir = directory(world)
    await log_dir.open()
    world.universe.fault = lambda machine, call, target: (
        OSError(28, "full") if call == "append" else None
    )

    await log_dir.checkpoint()

    assert "full" in str(log_dir.offline)


async def test_high_watermark_is_written_together_with_the_start_offset(autojump_clock, world):
    log_dir = directory(world)
    await log_dir.open()
    log = new_log(world, "/data/t-0")
    log_dir.add(log)
    append(log, batch(5))
    log.set_start_offset(3)

    await log_dir.write_start_offsets()

    assert await content_of(log_dir.root, "log-start-offset-checkpoint") == b"0\n1\nt 0 3\n"
    assert await content_of(log_dir.root, "replication-offset-checkpoint") == b"0\n1\nt 0 5\n"


async def test_all_offsets_count_as_compacted_if_the_cleaner_offsets_are_unreadable(
    autojump_clock, world
):
    log_dir = directory(world)
    await fill(log_dir.root, {"cleaner-offset-checkpoint": b"0\n1\nt 0\n"})

    await log_dir.open()

    assert log_dir.recovery_of(TopicPartition("t", 0)).cleaned_until > 1 << 60


@pytest.mark.parametrize("content", [b"0\n1\nt 0 " + b"9" * 5000 + b"\n", b"0\n" + b"9" * 5000])
async def test_checkpoint_with_a_number_of_too_many_digits_is_ignored(
    autojump_clock, world, content
):
    log_dir = directory(world)
    await fill(log_dir.root, {"recovery-point-offset-checkpoint": content})

    await log_dir.open()

    assert log_dir.recovery_of(TopicPartition("t", 0)) == Recovery()


async def test_offline_reason_of_a_system_error_names_the_directory(autojump_clock, world):
    log_dir = directory(world)

    log_dir.fail(OSError(5, "EIO"))

    assert isinstance(log_dir.offline, LogDirError)
    assert log_dir.offline.path == "/data"


async def test_cleaner_offsets_are_written_only_for_logs_of_the_directory(autojump_clock, world):
    log_dir, name = directory(world), "cleaner-offset-checkpoint"
    await fill(log_dir.root, {name: b"0\n2\nt 0 3\nu 0 4\n"})
    await log_dir.open()
    log, other = new_log(world, "/data/t-0"), new_log(world, "/other/t-0")
    log_dir.add(log)

    await log_dir.write_cleaned(log, 9)
    await log_dir.write_cleaned(other, 20)

    assert await content_of(log_dir.root, name) == b"0\n1\nt 0 9\n"
    assert log_dir.cleaned(log.partition) == 9
    assert log_dir.cleaned(TopicPartition("u", 0)) is None


async def test_truncation_lowers_the_cleaner_offset_of_a_log(autojump_clock, world):
    log_dir, name = directory(world), "cleaner-offset-checkpoint"
    await fill(log_dir.root, {name: b"0\n1\nt 0 7\n"})
    await log_dir.open()
    log = new_log(world, "/data/t-0")
    log_dir.add(log)
    for _ in range(10):
        append(log, batch())
    await sync(log)

    await truncate_to(log, 8)
    assert log_dir.cleaned(log.partition) == 7
    await truncate_to(log, 5)

    assert log_dir.cleaned(log.partition) == 5
    assert await content_of(log_dir.root, name) == b"0\n1\nt 0 5\n"


async def test_recovery_point_is_written_only_if_its_checkpoint_is_too_low(autojump_clock, world):
    log_dir, name = directory(world), "recovery-point-offset-checkpoint"
    await format_directory(world, "/data")
    await log_dir.open()
    log = new_log(world, "/data/t-0")
    log_dir.add(log)
    for _ in range(10):
        append(log, batch())
    await sync(log)

    await log_dir.trust_below(log, 6)
    assert await content_of(log_dir.root, name) == b"0\n1\nt 0 10\n"
    log.recovery_point = 12
    await log_dir.trust_below(log, 10)

    assert await content_of(log_dir.root, name) == b"0\n1\nt 0 10\n"


async def test_compacted_offset_of_a_log_survives_a_restart_and_falls_at_a_truncation(
    autojump_clock, world
):
    await format_directory(world, "/data")
    manager = await started(world)
    log = manager.create(T0, TOPIC_ID, LogConfig())
    for _ in range(9):
        append(log, batch())
    await sync(log)
    (directory,) = manager.directories

    await directory.write_cleaned(log, 7)
    assert log.compacted_until == 7
    await manager.close()
    (log,) = (await started(world)).logs
    assert log.compacted_until == 7
    await truncate_to(log, 5)
    assert log.compacted_until == 5
    await restart_at(log, 3)
    assert log.compacted_until == 0


async def test_new_log_has_no_compacted_offset_of_a_deleted_log_of_its_name(autojump_clock, world):
    await format_directory(world, "/data")
    manager = await started(world)
    log = manager.create(T0, TOPIC_ID, LogConfig())
    append(log, batch())
    await sync(log)
    await manager.directories[0].write_cleaned(log, 1)
    manager.delete(T0)

    assert manager.create(T0, TOPIC_ID, LogConfig()).compacted_until == 0


async def test_loaded_log_counts_as_compacted_if_the_cleaner_offsets_are_unreadable(
    autojump_clock, world
):
    await format_directory(world, "/data")
    manager = await started(world)
    append(manager.create(T0, TOPIC_ID, LogConfig()), batch())
    await manager.close()
    await fill(world.directory("/data"), {CLEANER_OFFSETS: b"nonsense"})

    (log,) = (await started(world)).logs

    assert log.compacted_until > log.end_offset
