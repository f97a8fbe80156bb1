"""All moves of a broker: begun, changed, cancelled, resumed."""

import trio
from attrs import evolve

from tests.replication.kit import Cluster, batch, open_cluster, state
from trio_kafka.errors import LogDirError
from trio_kafka.introspect.tree import Node
from trio_kafka.log.files.partition_metadata import parse_id
from trio_kafka.replication.leader.append import append
from trio_kafka.replication.moves.moves import LogMoves
from trio_kafka.replication.partition import Partition
from trio_kafka.replication.roles import Leading

PATHS = ("/a", "/b", "/c")


async def cluster_of(world, partitions: int = 1) -> tuple[Cluster, list[Partition]]:
    cluster = await open_cluster(world, paths=PATHS)
    cluster.change(t=dict.fromkeys(range(partitions), state(1)))
    result = [cluster.replicas.partition("t", number) for number in range(partitions)]
    for partition in result:
        append(partition, batch(3), acks=1)
    return cluster, result


def others(cluster: Cluster, partition: Partition) -> list:
    """The directories in which a replica is not."""
    return [
        directory for directory in cluster.logs.directories if partition.at not in directory.logs
    ]


async def finish(cluster: Cluster) -> None:
    with trio.fail_after(60):
        while len(cluster.replication.moves) > cluster.replication.moves.failed:
            await trio.sleep(0.01)


async def test_finished_moves_leave_no_future_logs(world, autojump_clock) -> None:
    cluster, partitions = await cluster_of(world, 5)
    moves = cluster.replication.moves
    async with trio.open_nursery() as nursery:
        await nursery.start(cluster.replication.run)
        await nursery.start(cluster.logs.run)
        targets = [others(cluster, replica)[0] for replica in partitions]
        for partition, target in zip(partitions, targets, strict=True):
            moves.begin(partition, target)
        assert len(moves) == 5

        await finish(cluster)
        await trio.sleep(1)
        nursery.cancel_scope.cancel()

    assert len(moves) == 0
    assert [cluster.logs.directory_of(replica.at) for replica in partitions] == targets
    assert all(not directory.futures for directory in cluster.logs.directories)
    assert len(cluster.logs.removal) == 5
    names = [name for path in PATHS for name in world.directory(path).names()]
    assert sum(name.endswith("-delete") for name in names) == 5
    assert not any(name.endswith("-future") for name in names)


async def test_second_target_replaces_the_first_target_of_a_move(world, autojump_clock) -> None:
    cluster, (partition,) = await cluster_of(world)
    moves, (first, second) = cluster.replication.moves, others(cluster, partition)

    moves.begin(partition, first)
    mover = moves.find(partition)
    moves.begin(partition, first)
    assert moves.find(partition) is mover
    moves.begin(partition, second)

    assert moves.find(partition).directory is second
    assert partition.at not in first.futures
    assert partition.at in second.futures
    assert [name.endswith("-delete") for name in first.root.names() if name[:2] == "t-"] == [True]


async def test_move_to_the_current_directory_cancels_the_move(world, autojump_clock) -> None:
    cluster, (partition,) = await cluster_of(world)
    moves, (there, _) = cluster.replication.moves, others(cluster, partition)
    moves.begin(partition, there)

    moves.begin(partition, cluster.logs.directory_of(partition.at))

    assert len(moves) == 0
    assert partition.future is None
    assert there.futures == {}


async def test_removal_of_a_replica_ends_its_move_and_removes_the_future_log(
    world, autojump_clock
) -> None:
    cluster, (partition,) = await cluster_of(world)
    (there, _) = others(cluster, partition)
    cluster.replication.moves.begin(partition, there)

    cluster.change(t=None)

    assert len(cluster.replication.moves) == 0
    assert there.futures == {}


async def test_failure_of_a_target_directory_cancels_its_moves(world, autojump_clock) -> None:
    cluster, (partition,) = await cluster_of(world)
    (there, _) = others(cluster, partition)
    cluster.replication.moves.begin(partition, there)

    there.fail(LogDirError(there.path, "broken"))

    assert len(cluster.replication.moves) == 0
    assert isinstance(partition.role, Leading)
    assert partition.future is None


async def test_failure_of_the_source_fails_the_move_and_keeps_the_future_log(
    world, autojump_clock
) -> None:
    cluster, (partition,) = await cluster_of(world)
    moves, (there, _) = cluster.replication.moves, others(cluster, partition)
    moves.pace.set_rate(0)
    async with trio.open_nursery() as nursery:
        await nursery.start(cluster.replication.run)
        moves.begin(partition, there)
        await trio.sleep(1)
        here = cluster.logs.directory_of(partition.at)
        here.fail(LogDirError(here.path, "broken"))
        moves.pace.set_rate(1 << 20)
        await trio.sleep(1)
        nursery.cancel_scope.cancel()

    assert moves.failed == 1
    assert there.futures[partition.at].end_offset == 3


async def test_moves_are_resumed_after_a_restart(world, autojump_clock) -> None:
    cluster, (partition,) = await cluster_of(world)
    (there, _) = others(cluster, partition)
    cluster.replication.moves.begin(partition, there)
    async with trio.open_nursery() as nursery:  # durable, as soon as there is time
        await nursery.start(cluster.logs.run)
        await trio.sleep(1)
        nursery.cancel_scope.cancel()
    await cluster.logs.close()

    cluster = await open_cluster(world, cluster.image, paths=PATHS)
    partition = cluster.replicas.partition("t", 0)
    mover = cluster.replication.moves.find(partition)
    assert mover.directory.path == there.path
    async with trio.open_nursery() as nursery:
        await nursery.start(cluster.replication.run)
        await finish(cluster)
        nursery.cancel_scope.cancel()
    assert cluster.logs.directory_of(partition.at).path == there.path
    assert partition.log.end_offset == 3


async def test_failed_move_is_retried_when_requested_again(world, autojump_clock) -> None:
    cluster, (partition,) = await cluster_of(world)
    moves, (there, _) = cluster.replication.moves, others(cluster, partition)
    moves.begin(partition, there)
    moves.find(partition).state = "failed"

    moves.begin(partition, there)

    assert moves.failed == 0
    assert len(moves) == 1
    assert moves.largest_lag == 3


async def test_cancelled_move_is_reported_if_the_metadata_name_its_target_directory(
    world, autojump_clock
) -> None:
    cluster, (partition,) = await cluster_of(world)
    here, (there, _) = cluster.logs.directory_of(partition.at), others(cluster, partition)
    cluster.replication.moves.begin(partition, there)
    target = parse_id(there.properties.directory_id)
    partition.state = evolve(partition.state, directories=(target,))
    assert cluster.replication.moves.assignments.figures()["waiting"] == 0

    cluster.replication.moves.begin(partition, here)

    assert cluster.replication.moves.assignments.figures()["waiting"] == 1


async def test_number_of_concurrent_moves_is_limited(world, autojump_clock) -> None:
    cluster, partitions = await cluster_of(world, 5)
    node = Node("broker", "broker")
    moves = LogMoves(cluster.logs, node, cluster.replication.moves.assignments, at_once=2)
    moves.pace.set_rate(0)
    async with trio.open_nursery() as nursery:
        await nursery.start(moves.run)
        for partition in partitions:
            moves.begin(partition, others(cluster, partition)[0])
        await trio.sleep(1)

        states = [moves.find(partition).state for partition in partitions]
        nursery.cancel_scope.cancel()

    assert sorted(states) == ["copying"] * 2 + ["queued"] * 3
