"""The objects of replication belong together, and their tasks run until they are cancelled."""

import trio

from tests.replication.kit import open_cluster, state


async def test_objects_share_the_table_and_the_purgatories(world) -> None:
    cluster = await open_cluster(world)
    parts = cluster.replication
    cluster.change(t={0: state(1)})

    partition = parts.replicas.partition("t", 0)

    assert partition.purgatories is parts.purgatories
    assert parts.fetches.replicas is parts.lifecycle.replicas is parts.replicas
    assert parts.fetches.purgatory is parts.purgatories.fetch
    assert parts.lifecycle.moves is parts.moves
    assert dict(parts.topic_metrics) == {"t": partition.topic_metrics}


async def test_run_starts_every_task_and_none_is_left_after_its_cancellation(
    world, autojump_clock
) -> None:
    cluster = await open_cluster(world)
    async with trio.open_nursery() as nursery:
        await nursery.start(cluster.replication.run)
        (run,) = nursery.child_tasks
        names = sorted(task.name for child in run.child_nurseries for task in child.child_tasks)
        nursery.cancel_scope.cancel()

    assert names == [
        "cold-reads",
        "directory-assignments",
        "late-replicas",
        "replica-alter-log-dirs",
        "slow-appends",
    ]
