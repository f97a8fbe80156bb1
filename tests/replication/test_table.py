"""Replicas are found and waited for; requests are parked until there is what they want."""

import pytest
import trio

from tests.replication.kit import (
    LANE,
    batch,
    make_cold,
    names,
    open_cluster,
    park,
    refused,
    serve,
    state,
    want,
)
from trio_kafka.errors import ErrorCode, KafkaError, LogDirError
from trio_kafka.log.append import Appended
from trio_kafka.log.durability.sync import sync
from trio_kafka.model import TopicId
from trio_kafka.purgatory import Delayed
from trio_kafka.replication.leader.append import append, append_acknowledged
from trio_kafka.replication.leader.fetch import FetchAnswer, FetchLimits
from trio_kafka.testing.simulation import fault_on, run_until_crash


@pytest.fixture(autouse=True)
def _empty_lane() -> None:
    LANE.clear()


def produce_batch(partition, *, acks: int, timeout_s: float = 5.0) -> Appended | Delayed:
    return append_acknowledged(partition, batch(), acks=acks, zstd=True, timeout_s=timeout_s)


def fetch(cluster, *topics: str, **arguments) -> FetchAnswer | Delayed:
    wanted = {(cluster.topic_id(topic), 0): want() for topic in topics}
    limits = arguments.pop("limits", FetchLimits())
    return cluster.replication.fetches.begin(wanted, limits, **arguments)


async def test_unknown_partition_unknown_topic_id_and_foreign_leader_have_different_errors(
    world,
) -> None:
    cluster = await open_cluster(world)
    cluster.change(t={0: state(1), 1: state(2, leader=2), 2: state(1, 2, leader=2)})

    assert refused(cluster, "u") is ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    assert refused(cluster, TopicId(bytes(16))) is ErrorCode.UNKNOWN_TOPIC_ID
    assert refused(cluster, "t", 3) is ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    code = refused(cluster, cluster.topic_id("t"), 3)
    assert code is ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    assert refused(cluster, "t", 1) is ErrorCode.NOT_LEADER_OR_FOLLOWER
    assert refused(cluster, "t", 2) is ErrorCode.NOT_LEADER_OR_FOLLOWER


async def test_failure_of_a_directory_takes_its_partitions_offline(world, autojump_clock) -> None:
    cluster = await open_cluster(world, paths=("/a", "/b"))
    cluster.change(t={0: state(1), 1: state(1)})
    one, two = (cluster.replicas.partition("t", number) for number in (0, 1))
    world.universe.fault = fault_on("append", OSError(5, "EIO"), one.log.directory.path)

    with pytest.raises(KafkaError, match="KAFKA_STORAGE_ERROR"):
        append(one, batch(), acks=1)

    assert refused(cluster, "t", 0) is ErrorCode.KAFKA_STORAGE_ERROR
    assert append(two, batch(), acks=1).last_offset == 0
    assert cluster.replicas.figures()["offline"] == 1


async def test_partition_whose_log_cannot_be_created_has_a_storage_error(world) -> None:
    cluster = await open_cluster(world)
    world.universe.fault = fault_on("create", OSError(28, "ENOSPC"))

    cluster.change(t={0: state(1)})

    assert refused(cluster, "t") is ErrorCode.KAFKA_STORAGE_ERROR


async def test_waiting_fetch_is_completed_by_an_append(world) -> None:
    cluster = await open_cluster(world)
    cluster.change(t={0: state(1)}, u={0: state(1)})
    delayed = fetch(cluster, "t", "u", session_epoch=0)
    done = park(delayed)

    append(cluster.replicas.partition("u", 0), batch(), acks=1)
    serve()

    (answer,) = done
    assert [part.size > 0 for _, part in answer.parts] == [False, True]
    answer.release()


async def test_incremental_fetch_names_only_changed_partitions(world) -> None:
    cluster = await open_cluster(world)
    cluster.change(t={0: state(1)}, u={0: state(1)})
    first = fetch(cluster, "t", "u", session_epoch=0, limits=FetchLimits(max_wait_s=0))
    session_id = first.session_id
    append(cluster.replicas.partition("u", 0), batch(), acks=1)

    answer = fetch(cluster, session_id=session_id, session_epoch=1)

    ((key, part),) = answer.parts
    assert key == (cluster.topic_id("u"), 0)
    part.release()
    late = fetch(cluster, session_id=session_id, session_epoch=1)
    assert late.error.code is ErrorCode.INVALID_FETCH_SESSION_EPOCH


async def test_append_completes_an_incremental_fetch_that_names_no_partitions(world) -> None:
    cluster = await open_cluster(world)
    cluster.change(**{f"t{n}": {0: state(1)} for n in range(20)})
    everything = [f"t{n}" for n in range(20)]
    first = fetch(cluster, *everything, session_epoch=0, limits=FetchLimits(max_wait_s=0))

    delayed = fetch(cluster, session_id=first.session_id, session_epoch=1)
    done = park(delayed)
    assert delayed.keys == []
    append(cluster.replicas.partition("t7", 0), batch(), acks=1)
    serve()

    ((key, part),) = done[0].parts
    assert key == (cluster.topic_id("t7"), 0)
    part.release()


async def test_deletion_of_a_topic_ends_a_waiting_fetch(world) -> None:
    cluster = await open_cluster(world)
    cluster.change(t={0: state(1)})
    done = park(fetch(cluster, "t"))

    cluster.change(t=None)
    serve()

    ((_, part),) = done[0].parts
    assert part.error.code is ErrorCode.UNKNOWN_TOPIC_ID


async def test_leases_outlive_the_deletion_of_their_topic(world) -> None:
    cluster = await open_cluster(world)
    cluster.change(t={0: state(1)})
    append(cluster.replicas.partition("t", 0), batch(), acks=1)
    answer = fetch(cluster, "t")

    cluster.change(t=None)

    ((_, part),) = answer.parts
    assert not part.range.lease.cut
    assert part.range.lease.end == part.size
    answer.release()


async def test_unauthorized_fetch_gets_an_authorization_error(world) -> None:
    cluster = await open_cluster(world)
    cluster.change(t={0: state(1)})

    def resolve(_):
        raise KafkaError(ErrorCode.TOPIC_AUTHORIZATION_FAILED)

    ((_, part),) = fetch(cluster, "t", resolve=resolve).parts
    assert part.error.code is ErrorCode.TOPIC_AUTHORIZATION_FAILED


async def test_produce_with_acks_all_waits_for_followers(world) -> None:
    cluster = await open_cluster(world)
    cluster.change(t={0: state(1, 2)}, u={0: state(1)})
    replicated, alone = (cluster.replicas.partition(name, 0) for name in "tu")
    assert produce_batch(alone, acks=-1).first_offset == 0
    done = park(produce_batch(replicated, acks=-1))

    replicated.follower_fetched(2, 1)
    serve()

    assert [appended.first_offset for appended in done] == [0]


async def test_produce_waits_for_a_sync_longer_than_its_timeout(world, autojump_clock) -> None:
    cluster = await open_cluster(world)
    cluster.change(t={0: state(1)})
    cluster.configure("t", flush_messages="1")
    partition = cluster.replicas.partition("t", 0)
    delayed = produce_batch(partition, acks=1, timeout_s=0.0)
    done = park(delayed)
    assert delayed.deadline >= trio.current_time() + 30

    await sync(partition.log)
    serve()

    assert [appended.first_offset for appended in done] == [0]


async def test_failed_sync_fails_the_waiting_produce(world, autojump_clock) -> None:
    cluster = await open_cluster(world)
    cluster.change(t={0: state(1)})
    cluster.configure("t", flush_messages="1")
    partition = cluster.replicas.partition("t", 0)
    done = park(produce_batch(partition, acks=1, timeout_s=1.0))
    world.universe.fault = fault_on("sync", OSError(5, "EIO"), ".log")

    with pytest.raises(LogDirError):
        await sync(partition.log)
    serve()

    assert [error.code for error in done] == [ErrorCode.KAFKA_STORAGE_ERROR]


async def test_tree_shows_each_partition_until_its_deletion(world) -> None:
    cluster = await open_cluster(world)
    cluster.change(t={0: state(1)})
    node = cluster.replicas.node

    assert {one.kind for _, one in node.walk() if "-0" in one.name} == {"partition"}
    shown = {one.name: one.figures() for _, one in node.walk()}
    assert shown["t-0"]["leader"] == 1
    assert shown["replica-manager"]["leaders"] == 1
    assert {"Produce", "Fetch", "fetch-sessions", "cold-reads"} <= shown.keys()
    cluster.change(t=None)
    assert "t-0" not in {one.name for _, one in node.walk()}


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


@pytest.mark.parametrize("min_bytes", [0, 1])
async def test_fetch_without_max_wait_gets_cold_bytes(
    world, nursery, autojump_clock, min_bytes: int
) -> None:
    cluster = await open_cluster(world)
    cluster.change(t={0: state(1)})
    partition = cluster.replicas.partition("t", 0)
    append(partition, batch(), acks=1)
    size = partition.log.size
    make_cold(partition)
    await nursery.start(cluster.replication.run)

    limits = FetchLimits(max_wait_s=0, min_bytes=min_bytes)
    delayed = fetch(cluster, "t", limits=limits)
    done = park(delayed)
    await trio.sleep(0.5)
    serve()

    assert done[0].size == size
    done[0].release()


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
