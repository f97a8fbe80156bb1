"""Replicas come with their logs, and go offline with the directory of their log."""

import pytest
import trio
from attrs import evolve

from tests.replication.kit import (
    AT,
    batch,
    names,
    open_cluster,
    refused,
    state,
)
from trio_kafka.errors import ErrorCode, KafkaError
from trio_kafka.log.files.partition_metadata import parse_id
from trio_kafka.replication.leader.append import append
from trio_kafka.testing.simulation import fault_on, run_until_crash


async def test_failure_of_a_directory_takes_its_partitions_offline(world, autojump_clock) -> None:
    cluster = await open_cluster(world, paths=("/a", "/b"))
    cluster.change(t={0: state(1), 1: state(1)})
    first, second = (cluster.replicas.partition("t", number) for number in (0, 1))
    world.universe.fault = fault_on("append", OSError(5, "EIO"), first.log.directory.path)

    with pytest.raises(KafkaError, match="KAFKA_STORAGE_ERROR"):
        append(first, batch(), acks=1)

    assert refused(cluster, "t", 0) is ErrorCode.KAFKA_STORAGE_ERROR
    assert append(second, batch(), acks=1).last_offset == 0
    assert cluster.replicas.figures()["offline"] == 1


async def test_partition_whose_log_cannot_be_created_has_a_storage_error(world) -> None:
    cluster = await open_cluster(world)
    world.universe.fault = fault_on("create", OSError(28, "ENOSPC"))

    cluster.change(t={0: state(1)})

    assert refused(cluster, "t") is ErrorCode.KAFKA_STORAGE_ERROR


async def test_partition_of_an_offline_directory_gets_no_empty_log(world, autojump_clock) -> None:
    cluster = await open_cluster(world, paths=("/a", "/b"))
    cluster.change(t={0: state(1), 1: state(1)})
    lost, kept = (cluster.replicas.partition("t", n).log.directory.path for n in (0, 1))
    await cluster.logs.close()
    root = lost.rpartition("/")[0]
    assert root != kept.rpartition("/")[0]
    world.universe.fault = fault_on("lock", OSError(5, "EIO"), root)

    again = await open_cluster(world, cluster.image, paths=("/a", "/b"))

    assert refused(again, "t", 0) is ErrorCode.KAFKA_STORAGE_ERROR
    assert again.replicas.partition("t", 1).local_log().end_offset == 0
    again.change(u={0: state(1)})
    assert append(again.replicas.partition("u", 0), batch(), acks=1).first_offset == 0


async def test_new_log_becomes_durable_without_an_append(world, autojump_clock) -> None:
    async def live(_) -> None:
        cluster = await open_cluster(world)
        async with trio.open_nursery() as nursery:
            await nursery.start(cluster.logs.run)
            cluster.change(t={0: state(1)})
            await trio.sleep_forever()

    await run_until_crash(world, live, 5.0, kept=0.0)

    after = world.universe.machine(world.name)
    assert names(after) == ["t-0"]


async def test_directory_of_a_removed_replica_is_not_reported(world, autojump_clock) -> None:
    cluster = await open_cluster(world, paths=("/a", "/b"))
    here, there = cluster.logs.directories
    target = parse_id(there.properties.directory_id)
    cluster.logs.preferred[AT] = here.path
    cluster.change(t={0: evolve(state(1), directories=(target,))})
    assignments = cluster.replication.moves.assignments
    assert assignments.figures()["waiting"] == 1

    cluster.change(t=None)

    assert assignments.figures()["waiting"] == 0
