"""One move: its steps, what stops it, and that nothing is lost meanwhile."""

from collections.abc import Awaitable, Callable

import pytest
import trio
from attrs import define, evolve, field

from tests.log.kit import read_all
from tests.replication.kit import Cluster, batch, open_cluster, state
from trio_kafka.errors import ErrorCode, KafkaError, LogDirError
from trio_kafka.log.durability.sync import sync
from trio_kafka.log.log import Log
from trio_kafka.log.manager.directory import LogDirectory
from trio_kafka.log.retention import delete_before
from trio_kafka.log.rolling import roll, skip_in_thread
from trio_kafka.replication.leader.append import append
from trio_kafka.replication.moves import copying
from trio_kafka.replication.moves.mover import Mover
from trio_kafka.replication.moves.pace import Pace
from trio_kafka.replication.partition import Partition
from trio_kafka.replication.roles import Offline

PATHS = ("/a", "/b")


@define(eq=False)
class Stage:
    """A replica and a move that was not started."""

    cluster: Cluster
    partition: Partition
    mover: Mover
    assigned: list[str] = field(factory=list)
    refusals: int = 0
    while_assigned: Callable[[], Awaitable[None]] = trio.lowlevel.checkpoint

    async def assign(self, partition: Partition, directory: LogDirectory) -> None:
        await self.while_assigned()
        if self.refusals:
            self.refusals -= 1
            raise KafkaError(ErrorCode.REQUEST_TIMED_OUT, "no controller")
        self.assigned.append(directory.path)


async def stage(world, **settings: str) -> Stage:
    cluster = await open_cluster(world, paths=PATHS)
    cluster.change(t={0: state(1)})
    if settings:
        cluster.configure("t", **settings)
    partition = cluster.replicas.partition("t", 0)
    here = cluster.logs.directory_of(partition.at)
    (there,) = (directory for directory in cluster.logs.directories if directory is not here)
    log = partition.log
    future = cluster.logs.create_future(
        there, partition.at, partition.topic_id, config=log.config, start_offset=0
    )
    result: Stage | None = None

    async def assign(at: Partition, directory: LogDirectory) -> None:
        assert result is not None
        await result.assign(at, directory)

    mover = Mover(
        partition=partition,
        directory=there,
        log=log,
        future=future,
        logs=cluster.logs,
        pace=Pace(),
        assign=assign,
    )
    partition.future = future
    result = Stage(cluster, partition, mover)
    return result


def write(partition: Partition, count: int = 1) -> None:
    for _ in range(count):
        append(partition, batch(3), acks=1)


async def test_moved_replica_keeps_its_records_and_takes_appends_in_the_target_directory(
    world, autojump_clock
) -> None:
    on = await stage(world)
    write(on.partition, 5)
    before = await read_all(on.partition.log)

    await on.mover.run()

    assert on.mover.state == "done"
    assert on.assigned == [on.mover.directory.path]
    assert on.partition.log is on.mover.future
    assert on.partition.leading is on.mover.future
    assert on.partition.future is None
    assert on.cluster.logs.directory_of(on.partition.at) is on.mover.directory
    assert on.mover.log.closed
    assert await read_all(on.partition.log) == before
    assert on.partition.log.high_watermark == 15
    write(on.partition)
    assert on.partition.log.end_offset == 18


async def test_batches_appended_during_a_move_are_moved_too(world, autojump_clock) -> None:
    on = await stage(world)
    write(on.partition, 20)
    written = 20

    async with trio.open_nursery() as nursery:
        await nursery.start(on.cluster.replication.queued_appends.run)

        async def load() -> None:
            nonlocal written
            while on.mover.state != "done":
                write(on.partition)
                written += 1
                await trio.sleep(0.001)

        nursery.start_soon(load)
        await on.mover.run()
        await on.cluster.replication.queued_appends.wait_empty()
        nursery.cancel_scope.cancel()

    assert on.mover.state == "done"
    assert written > 25
    assert on.cluster.replication.queued_appends._written > 0  # during the switch
    records = await read_all(on.partition.log)
    assert [record.offset for record in records] == list(range(3 * written))


async def test_durable_offsets_are_durable_in_the_future_log_before_the_switch(
    world, autojump_clock
) -> None:
    on = await stage(world, flush_messages="1")
    write(on.partition, 5)
    async with trio.open_nursery() as nursery:
        await nursery.start(on.cluster.logs.run)
        await trio.sleep(1)
        assert on.mover.log.recovery_point == 15

        await on.mover.run()

        assert on.mover.future.recovery_point >= 15
        nursery.cancel_scope.cancel()


async def test_power_loss_after_a_move_leaves_the_log_in_the_target_directory(
    world, autojump_clock
) -> None:
    """Records that the moved log acknowledges are in its files, not in those of the old log."""
    on = await stage(world)
    write(on.partition, 5)
    target = on.mover.directory.path

    await on.mover.run()
    write(on.partition)
    await sync(on.partition.log)
    world.crash(kept=0.0)

    names = world.universe.machine(world.name).directory(target).names()
    assert "t-0" in names
    assert not [name for name in names if name.endswith("-future")]


async def test_batches_synced_just_before_the_switch_are_durable_after_the_switch(
    world, autojump_clock
) -> None:
    on = await stage(world)
    write(on.partition)

    async def write_durably() -> None:
        write(on.partition)
        await sync(on.mover.log)

    on.while_assigned = write_durably
    await on.mover.run()

    assert on.mover.state == "done"
    assert on.mover.log.recovery_point == 6
    assert on.partition.log.recovery_point == 6


async def test_producers_of_deleted_batches_are_known_after_a_move_and_a_restart(
    world, autojump_clock
) -> None:
    on = await stage(world)
    log = on.partition.log
    append(on.partition, batch(1, producer_id=7, producer_epoch=0, base_sequence=0), acks=1)
    roll(log)
    write(on.partition)
    log.set_start_offset(1)
    await delete_before(log, 1, trio.lowlevel.checkpoint)

    await on.mover.run()
    await on.cluster.logs.close()

    cluster = await open_cluster(world, on.cluster.image, paths=PATHS)
    again = cluster.replicas.partition("t", 0).log
    assert [producer.producer_id for producer in again.producers] == [7]


async def test_assignment_of_the_target_directory_is_repeated_until_the_controller_accepts(
    world, autojump_clock
) -> None:
    on = await stage(world)
    write(on.partition)
    on.refusals = 3

    await on.mover.run()

    assert on.mover.state == "done"
    assert len(on.assigned) == 1


async def test_deletion_of_a_partition_ends_its_move(world, autojump_clock) -> None:
    on = await stage(world)
    write(on.partition)
    on.partition.delete()

    await on.mover.run()

    assert on.mover.state == "queued"


async def test_failure_of_the_target_directory_leaves_the_partition_online(
    world, autojump_clock
) -> None:
    on = await stage(world)
    write(on.partition)
    on.mover.directory.fail(LogDirError(on.mover.directory.path, "broken"))

    await on.mover.run()

    assert on.mover.state != "done"
    assert not isinstance(on.partition.role, Offline)
    assert on.partition.log is on.mover.log
    write(on.partition)


async def test_failure_of_the_target_at_the_switch_leaves_the_log_in_its_directory(
    world, autojump_clock
) -> None:
    on = await stage(world)
    write(on.partition)
    world.universe.fault = lambda machine, call, target: (
        OSError(5, "EIO")
        if call == "rename" and target.startswith(on.mover.directory.path)
        else None
    )

    await on.mover.run()

    assert on.mover.state == "failed"
    assert on.partition.log is on.mover.log
    assert on.mover.log.writer.blocked_by is None
    write(on.partition)


async def test_failure_of_the_source_at_the_switch_leaves_the_moved_log_online(
    world, autojump_clock
) -> None:
    on = await stage(world)
    write(on.partition, 2)
    here = on.cluster.logs.directory_of(on.partition.at)
    world.universe.fault = lambda machine, call, target: (
        OSError(5, "EIO") if call == "rename" and target.startswith(here.path) else None
    )

    await on.mover.run()

    assert on.mover.state == "done"
    assert here.offline is not None
    assert not isinstance(on.partition.role, Offline)
    assert on.partition.log is on.mover.future
    write(on.partition)


async def test_damaged_batch_fails_the_move_and_the_reason_is_logged(
    world, autojump_clock, caplog
) -> None:
    on = await stage(world)
    write(on.partition, 2)
    file = on.partition.log.segments.active.file
    content = bytearray(file.size)
    await file.read(0, content)
    content[-1] ^= 1
    file.truncate(0)
    file.append([content])

    await on.mover.run()

    assert on.mover.state == "failed"
    assert "crc" in on.mover.reason
    assert on.mover.figures()["reason"] == on.mover.reason
    assert on.partition.log is on.mover.log
    assert "move failed" in caplog.text


async def test_move_does_not_exceed_the_rate_limit(world, autojump_clock) -> None:
    on = await stage(world)
    write(on.partition, 20)
    size = on.partition.log.size
    on.mover.pace.set_rate(size // 10)
    began = trio.current_time()

    await on.mover.run()

    assert trio.current_time() - began > 9


@pytest.mark.parametrize("start", [4, 15])
async def test_records_below_the_start_offset_are_not_moved(
    world, autojump_clock, start: int
) -> None:
    on = await stage(world)
    write(on.partition, 5)
    on.partition.log.set_start_offset(start)

    await on.mover.run()

    assert on.mover.state == "done"
    assert on.partition.log.start_offset == start
    assert on.partition.low_watermark == start
    write(on.partition)
    assert on.partition.log.end_offset == 18


async def test_compacted_log_has_all_records_after_a_move_and_a_crash(
    world, autojump_clock
) -> None:
    """Gaps that compaction has left at the end and between segments are no holes."""
    on = await stage(world)
    log = on.partition.log
    write(on.partition)
    async with log.writer.turn("sync"):
        await skip_in_thread(log, 50)
    log.high_watermark = 50
    write(on.partition)
    async with log.writer.turn("sync"):
        await skip_in_thread(log, 90)
    log.high_watermark = 90
    here = on.cluster.logs.directory_of(on.partition.at)
    await here.write_cleaned(log, 90)

    await on.mover.run()
    assert on.partition.log.end_offset == 90
    on.cluster.logs.abandon()

    cluster = await open_cluster(world, on.cluster.image, paths=PATHS)
    again = cluster.replicas.partition("t", 0)
    assert cluster.logs.directory_of(again.at).path == on.mover.directory.path
    assert again.log.end_offset == 90
    assert [record.offset for record in await read_all(again.log)] == [0, 1, 2, 50, 51, 52]


async def test_segments_of_a_copy_are_contiguous_where_batches_have_gaps(
    world, autojump_clock
) -> None:
    on = await stage(world)
    on.mover.future.config = on.partition.log.config
    write(on.partition)
    log = on.partition.log
    async with log.writer.turn("sync"):
        await skip_in_thread(log, 50)
    write(on.partition)
    on.mover.future.config = evolve(log.config, segment_bytes=log.size // 2 + 10)

    while on.mover.copying.lag:
        await on.mover.copying.copy(1)

    assert [segment.base_offset for segment in on.mover.future.segments] == [0, 3]


async def test_start_offset_that_passes_the_copy_is_taken_over(
    world, autojump_clock, monkeypatch
) -> None:
    on = await stage(world)
    write(on.partition, 5)
    read = copying.read_bytes
    starts = iter([4, 7])

    async def read_late(log: Log, *arguments: int) -> bytes:
        log.set_start_offset(next(starts, 0))
        return await read(log, *arguments)

    monkeypatch.setattr(copying, "read_bytes", read_late)
    await on.mover.run()

    assert on.mover.state == "done"
    assert on.partition.log.start_offset == 7
    assert [record.offset for record in await read_all(on.partition.log)] == list(range(7, 15))


async def test_appends_are_blocked_until_the_rename_of_the_moved_log_is_durable(
    world, autojump_clock
) -> None:
    on = await stage(world)
    write(on.partition)
    blocked = []

    def fault(machine, call, target):
        del machine
        if call == "sync_directory" and target == on.mover.directory.path:
            blocked.append(
                (on.partition.log is on.mover.future, on.partition.log.writer.blocked_by)
            )

    world.universe.fault = fault
    await on.mover.run()

    assert (True, "move") in blocked
    assert on.partition.log.writer.blocked_by is None
