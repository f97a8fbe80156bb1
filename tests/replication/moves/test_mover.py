"""One move: its steps, what stops it, and that nothing is lost meanwhile."""

import pytest
import trio
from attrs import define, field

from tests.log.kit import read_all
from tests.replication.kit import Cluster, batch, open_cluster, state
from trio_kafka.errors import ErrorCode, KafkaError, LogDirError
from trio_kafka.log.manager.directory import LogDirectory
from trio_kafka.replication.append import append
from trio_kafka.replication.moves.mover import Mover
from trio_kafka.replication.moves.pace import Pace
from trio_kafka.replication.partition import Partition

PATHS = ("/a", "/b")


@define(eq=False)
class Stage:
    """A replica and a move that was not started."""

    cluster: Cluster
    partition: Partition
    mover: Mover
    assigned: list[str] = field(factory=list)
    refusals: int = 0

    async def assign(self, partition: Partition, directory: LogDirectory) -> None:
        await trio.lowlevel.checkpoint()
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
    (there,) = (one for one in cluster.logs.directories if one is not here)
    log = partition.log
    future = cluster.logs.futures.create(there, partition.at, partition.topic_id, log.config, 0)
    made: Stage | None = None

    async def assign(at: Partition, directory: LogDirectory) -> None:
        assert made is not None
        await made.assign(at, directory)

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
    made = Stage(cluster, partition, mover)
    return made


def write(partition: Partition, count: int = 1) -> None:
    for _ in range(count):
        append(partition, batch(3), acks=1)


async def test_a_replica_moves_and_goes_on_in_the_other_directory(world, autojump_clock) -> None:
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


async def test_what_is_appended_meanwhile_moves_too(world, autojump_clock) -> None:
    on = await stage(world)
    write(on.partition, 20)
    written = 20

    async with trio.open_nursery() as nursery:
        await nursery.start(on.cluster.replicas.queued_appends.run)

        async def load() -> None:
            nonlocal written
            while on.mover.state != "done":
                write(on.partition)
                written += 1
                await trio.sleep(0.001)

        nursery.start_soon(load)
        await on.mover.run()
        await on.cluster.replicas.queued_appends.wait_empty()
        nursery.cancel_scope.cancel()

    assert on.mover.state == "done"
    assert written > 25
    records = await read_all(on.partition.log)
    assert [record.offset for record in records] == list(range(3 * written))


async def test_what_was_durable_is_durable_before_the_logs_change_places(
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


async def test_the_metadata_are_asked_again_until_they_know_the_directory(
    world, autojump_clock
) -> None:
    on = await stage(world)
    write(on.partition)
    on.refusals = 3

    await on.mover.run()

    assert on.mover.state == "done"
    assert len(on.assigned) == 1


async def test_a_deleted_partition_ends_its_move(world, autojump_clock) -> None:
    on = await stage(world)
    write(on.partition)
    on.partition.delete()

    await on.mover.run()

    assert on.mover.state == "queued"


async def test_a_target_that_fails_fails_the_move_only(world, autojump_clock) -> None:
    on = await stage(world)
    write(on.partition)
    on.mover.directory.fail(LogDirError(on.mover.directory.path, "broken"))

    await on.mover.run()

    assert on.mover.state != "done"
    assert on.partition.failed is None
    assert on.partition.log is on.mover.log
    write(on.partition)


async def test_a_target_that_fails_at_the_switch_leaves_the_log_where_it_is(
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
    assert not on.mover.log.busy
    write(on.partition)


async def test_a_source_that_fails_at_the_switch_loses_nothing(world, autojump_clock) -> None:
    on = await stage(world)
    write(on.partition, 2)
    here = on.cluster.logs.directory_of(on.partition.at)
    world.universe.fault = lambda machine, call, target: (
        OSError(5, "EIO") if call == "rename" and target.startswith(here.path) else None
    )

    await on.mover.run()

    assert on.mover.state == "done"
    assert here.offline is not None
    assert on.partition.failed is None
    assert on.partition.log is on.mover.future
    write(on.partition)


async def test_a_damaged_batch_fails_the_move_and_is_told(world, autojump_clock, caplog) -> None:
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


async def test_the_rate_holds(world, autojump_clock) -> None:
    on = await stage(world)
    write(on.partition, 20)
    size = on.partition.log.size
    on.mover.pace.set_rate(size // 10)
    began = trio.current_time()

    await on.mover.run()

    assert trio.current_time() - began > 9


@pytest.mark.parametrize("start", [4, 15])
async def test_hidden_records_do_not_move(world, autojump_clock, start: int) -> None:
    on = await stage(world)
    write(on.partition, 5)
    on.partition.log.set_start_offset(start)

    await on.mover.run()

    assert on.mover.state == "done"
    assert on.partition.log.start_offset == start
    assert on.partition.low_watermark == start
    write(on.partition)
    assert on.partition.log.end_offset == 18
