"""Replicas that were made while no descriptor was left."""

import errno
import os

import trio

from tests.replication.kit import open_cluster, refused, state
from trio_kafka.errors import ErrorCode
from trio_kafka.replication.roles import Leading
from trio_kafka.testing.simulation import fault_on


async def test_partitions_created_without_free_descriptors_go_online_when_descriptors_are_free(
    autojump_clock, world, nursery
) -> None:
    cluster = await open_cluster(world)
    await nursery.start(cluster.replicas.pending.run)
    world.universe.fault = fault_on("create", OSError(errno.EMFILE, os.strerror(errno.EMFILE)))
    cluster.change(t={0: state(1), 1: state(1)}, gone={0: state(1)})
    assert refused(cluster, "t") is ErrorCode.KAFKA_STORAGE_ERROR
    await trio.sleep(60)
    assert cluster.replicas.figures()["late"] == 3
    cluster.change(gone=None)

    world.universe.fault = lambda machine, call, target: None
    await trio.sleep(2)

    roles = [cluster.replicas.partition("t", number).role for number in (0, 1)]
    assert all(isinstance(role, Leading) for role in roles)
    assert cluster.replicas.partition("t", 0).local_log().end_offset == 0
    assert len(cluster.logs.logs) == 2
    assert cluster.replicas.figures()["late"] == 0


async def test_creation_of_a_log_is_not_retried_after_a_disk_error(
    autojump_clock, world, nursery
) -> None:
    cluster = await open_cluster(world)
    await nursery.start(cluster.replicas.pending.run)
    world.universe.fault = fault_on("create", OSError(errno.EIO, os.strerror(errno.EIO)))

    cluster.change(t={0: state(1)})

    assert cluster.replicas.figures()["late"] == 0
    assert refused(cluster, "t") is ErrorCode.KAFKA_STORAGE_ERROR
    assert cluster.logs.directories[0].offline is not None
