import pytest
import trio

from tests.replication.kit import (
    BROKER,
    LANE,
    batch,
    make_cold,
    open_cluster,
    park,
    serve,
    state,
    want,
)
from trio_kafka.config.topic import topic_config
from trio_kafka.errors import ErrorCode, KafkaError, LogDirError
from trio_kafka.log.sync import sync
from trio_kafka.metadata.delta import MetadataDelta
from trio_kafka.metadata.image import ResourceType
from trio_kafka.model import TopicId, TopicPartition
from trio_kafka.purgatory import Delayed
from trio_kafka.replication.append import append
from trio_kafka.replication.delayed import Produced
from trio_kafka.replication.fetch import FetchAnswer, FetchLimits
from trio_kafka.testing.simulation import fault_on, run_until_crash


@pytest.fixture(autouse=True)
def _empty_lane() -> None:
    LANE.clear()


def refused(cluster, topic, number: int = 0) -> ErrorCode:
    with pytest.raises(KafkaError) as caught:
        cluster.replicas.partition(topic, number).local_log()
    return caught.value.code


def fetch(cluster, *topics: str, **arguments) -> FetchAnswer | Delayed:
    wanted = {(cluster.topic_id(topic), 0): want() for topic in topics}
    limits = arguments.pop("limits", FetchLimits())
    return cluster.replicas.begin_fetch(
        wanted, limits, lambda answer: answer, max_wait_s=5.0, **arguments
    )


def names(world, path: str = "/data") -> list[str]:
    return [name for name in world.directory(path).names() if name[-1].isdigit()]


async def test_a_topic_that_comes_has_logs_that_take_appends(world) -> None:
    cluster = await open_cluster(world)

    cluster.change(t={0: state(1), 1: state(1), 2: state(2, leader=2)})

    assert names(world) == ["t-0", "t-1"]
    partition = cluster.replicas.partition("t", 1)
    assert cluster.replicas.partition(cluster.topic_id("t"), 1) is partition
    assert append(partition, batch(), acks=-1).first_offset == 0


async def test_what_is_not_there_is_told_apart(world) -> None:
    cluster = await open_cluster(world)
    cluster.change(t={0: state(1), 1: state(2, leader=2), 2: state(1, 2, leader=2)})

    assert refused(cluster, "u") is ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    assert refused(cluster, TopicId(bytes(16))) is ErrorCode.UNKNOWN_TOPIC_ID
    assert refused(cluster, "t", 3) is ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    code = refused(cluster, cluster.topic_id("t"), 3)
    assert code is ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    assert refused(cluster, "t", 1) is ErrorCode.NOT_LEADER_OR_FOLLOWER
    assert refused(cluster, "t", 2) is ErrorCode.NOT_LEADER_OR_FOLLOWER


async def test_an_id_must_be_that_of_the_name(world) -> None:
    cluster = await open_cluster(world)
    cluster.change(t={0: state(1)})
    find, at = cluster.replicas.partition_with_id, TopicPartition("t", 0)

    assert find(cluster.topic_id("t"), at) is cluster.replicas.partition("t", 0)
    with pytest.raises(KafkaError) as caught:
        find(TopicId(b"x" * 16), at)
    assert caught.value.code is ErrorCode.INCONSISTENT_TOPIC_ID


async def test_a_deleted_topic_is_gone_and_its_name_is_free(world) -> None:
    cluster = await open_cluster(world)
    cluster.change(t={0: state(1)})
    old, old_id = cluster.replicas.partition("t", 0), cluster.topic_id("t")
    append(old, batch(3), acks=1)

    cluster.change(t=None)

    assert refused(cluster, "t") is ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    assert refused(cluster, old_id) is ErrorCode.UNKNOWN_TOPIC_ID
    assert names(world) == []
    cluster.change(t={0: state(1)})
    assert cluster.replicas.partition("t", 0).log.end_offset == 0
    assert old.deleted


async def test_a_new_leader_and_set_are_taken_over(world) -> None:
    cluster = await open_cluster(world)
    cluster.change(t={0: state(1, 2)})
    partition = cluster.replicas.partition("t", 0)

    cluster.change(t={0: state(1, 2, leader=2, epoch=1)})

    assert refused(cluster, "t") is ErrorCode.NOT_LEADER_OR_FOLLOWER
    cluster.change(t={0: state(1, epoch=2, replicas=(1, 2))})
    assert cluster.replicas.partition("t", 0) is partition
    assert partition.local_log(2) is partition.log


async def test_a_replica_that_moves_away_is_removed(world) -> None:
    cluster = await open_cluster(world)
    cluster.change(t={0: state(1)})

    cluster.change(t={0: state(2, leader=2, epoch=1)})

    assert refused(cluster, "t") is ErrorCode.NOT_LEADER_OR_FOLLOWER
    assert cluster.replicas.partitions == ()
    assert names(world) == []


async def test_settings_reach_log_and_partition_while_they_run(world) -> None:
    cluster = await open_cluster(world)
    cluster.change(t={0: state(1)}, u={0: state(1)})

    cluster.configure("t", max_message_bytes="70", cleanup_policy="compact")

    t, u = (cluster.replicas.partition(name, 0) for name in "tu")
    assert t.log.config.compacts
    assert t.settings.need_keys
    assert not u.log.config.compacts
    with pytest.raises(KafkaError, match="MESSAGE_TOO_LARGE"):
        append(t, batch(), acks=1)
    append(u, batch(), acks=1)


async def test_a_large_topic_comes_and_goes_one_log_at_a_time(world) -> None:
    cluster = await open_cluster(world)
    cluster.change(first={0: state(1)})
    delta = MetadataDelta(cluster.image)
    delta.create_topic("t", TopicId(bytes(15) + b"t"))
    topic = delta.topic(delta.topic_id("t"))
    for number in range(3):
        delta.set_partition(topic, number, state(1))
    cluster.image = delta.apply(2, 0, 0)
    steps = cluster.replicas.publish(delta, cluster.image)

    next(steps)
    assert names(world) == ["first-0", "t-0"]
    assert refused(cluster, "t", 1) is ErrorCode.NOT_LEADER_OR_FOLLOWER
    assert [*steps] == [None, None]
    assert names(world) == ["first-0", "t-0", "t-1", "t-2"]

    delta = MetadataDelta(cluster.image)
    delta.delete_topic(delta.topic(delta.topic_id("t")))
    assert len([*cluster.replicas.publish(delta, delta.apply(3, 0, 0))]) == 3


async def test_after_a_restart_the_data_are_there_and_strays_are_set_aside(
    world, autojump_clock
) -> None:
    cluster = await open_cluster(world)
    cluster.change(t={0: state(1)}, gone={0: state(1)}, moved={0: state(1)}, anew={0: state(1)})
    for partition in cluster.replicas.partitions:
        append(partition, batch(3), acks=1)
    await cluster.logs.close()
    cluster.replicas.publish = lambda *_: None
    cluster.change(gone=None, moved={0: state(2, leader=2, epoch=1)}, anew=None)
    cluster.change(anew={0: state(1)})

    again = await open_cluster(world, cluster.image)

    assert again.replicas.partition("t", 0).log.end_offset == 3
    assert again.replicas.partition("anew", 0).log.end_offset == 0
    assert names(world) == ["anew-0", "t-0"]
    marked = [n for n in world.directory("/data").names() if n.endswith("-stray")]
    assert sorted(name.partition(".")[0] for name in marked) == ["anew-0", "gone-0", "moved-0"]


async def test_the_first_published_image_is_taken_as_a_whole(world, autojump_clock) -> None:
    cluster = await open_cluster(world)
    cluster.change(t={0: state(1)})
    await cluster.logs.close()

    again = await open_cluster(world)
    again.image = cluster.image
    again.change(u={0: state(1)})

    assert again.replicas.partition("t", 0).log.end_offset == 0
    assert names(world) == ["t-0", "u-0"]


async def test_the_first_image_is_taken_over_in_steps_and_what_follows_comes_after_them(
    world, autojump_clock
) -> None:
    before = await open_cluster(world)
    before.change(t={number: state(1) for number in range(250)}, gone={0: state(1), 1: state(1)})
    await before.logs.close()
    before.replicas.publish = lambda *_: None
    before.change(gone=None)

    cluster = await open_cluster(world)
    steps = cluster.replicas.start(before.image)
    for _ in range(5):  # a look at two hundred, two strays, then the first hundred
        next(steps)

    assert len(cluster.replicas.partitions) == 100
    delta = MetadataDelta(before.image)
    delta.delete_topic(delta.topic(before.topic_id("t")))
    image = delta.apply(before.image.offset + 1, 0, 0)
    published = cluster.replicas.publish(delta, image)
    next(published)
    assert len(cluster.replicas.partitions) == 200
    assert list(steps) == []  # the last fifty
    assert len(cluster.replicas.partitions) == 250
    assert len(list(published)) == 250

    assert cluster.replicas.partitions == ()
    assert cluster.replicas.image is image
    await cluster.logs.close()


async def test_a_directory_that_fails_takes_its_partitions_offline(world, autojump_clock) -> None:
    cluster = await open_cluster(world, paths=("/a", "/b"))
    cluster.change(t={0: state(1), 1: state(1)})
    one, two = (cluster.replicas.partition("t", number) for number in (0, 1))
    world.universe.fault = fault_on("append", OSError(5, "EIO"), one.log.directory.path)

    with pytest.raises(KafkaError, match="KAFKA_STORAGE_ERROR"):
        append(one, batch(), acks=1)

    assert refused(cluster, "t", 0) is ErrorCode.KAFKA_STORAGE_ERROR
    assert append(two, batch(), acks=1).last_offset == 0
    assert cluster.replicas.figures()["offline"] == 1


async def test_a_topic_that_cannot_be_made_is_a_storage_error(world) -> None:
    cluster = await open_cluster(world)
    world.universe.fault = fault_on("create", OSError(28, "ENOSPC"))

    cluster.change(t={0: state(1)})

    assert refused(cluster, "t") is ErrorCode.KAFKA_STORAGE_ERROR


async def test_a_fetch_waits_for_a_produce(world) -> None:
    cluster = await open_cluster(world)
    cluster.change(t={0: state(1)}, u={0: state(1)})
    delayed = fetch(cluster, "t", "u", session_epoch=0)
    done = park(delayed)

    append(cluster.replicas.partition("u", 0), batch(), acks=1)
    serve()

    (answer,) = done
    assert [part.size > 0 for _, part in answer.parts] == [False, True]
    answer.release()


async def test_a_session_goes_on_with_what_is_news(world) -> None:
    cluster = await open_cluster(world)
    cluster.change(t={0: state(1)}, u={0: state(1)})
    first = fetch(cluster, "t", "u", session_epoch=0, limits=FetchLimits(may_wait=False))
    session_id = first.session_id
    append(cluster.replicas.partition("u", 0), batch(), acks=1)

    answer = fetch(cluster, session_id=session_id, session_epoch=1)

    ((asked, part),) = answer.parts
    assert asked.key == (cluster.topic_id("u"), 0)
    part.release()
    late = fetch(cluster, session_id=session_id, session_epoch=1)
    assert late.error.code is ErrorCode.INVALID_FETCH_SESSION_EPOCH


async def test_an_idle_session_is_woken_by_what_happens_between_its_polls(world) -> None:
    cluster = await open_cluster(world)
    cluster.change(**{f"t{n}": {0: state(1)} for n in range(20)})
    everything = [f"t{n}" for n in range(20)]
    first = fetch(cluster, *everything, session_epoch=0, limits=FetchLimits(may_wait=False))

    delayed = fetch(cluster, session_id=first.session_id, session_epoch=1)
    done = park(delayed)
    assert delayed.keys == []
    append(cluster.replicas.partition("t7", 0), batch(), acks=1)
    serve()

    ((asked, part),) = done[0].parts
    assert asked.key == (cluster.topic_id("t7"), 0)
    part.release()


async def test_the_deletion_of_a_topic_ends_a_fetch_that_waits_for_it(world) -> None:
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


async def test_who_may_not_read_is_answered_so(world) -> None:
    cluster = await open_cluster(world)
    cluster.change(t={0: state(1)})

    def resolve(_):
        raise KafkaError(ErrorCode.TOPIC_AUTHORIZATION_FAILED)

    ((_, part),) = fetch(cluster, "t", resolve=resolve).parts
    assert part.error.code is ErrorCode.TOPIC_AUTHORIZATION_FAILED


async def test_a_produce_waits_for_followers(world) -> None:
    cluster = await open_cluster(world)
    cluster.change(t={0: state(1, 2)}, u={0: state(1)})
    parts = []
    for name in "tu":
        partition = cluster.replicas.partition(name, 0)
        parts.append(Produced(partition, append(partition, batch(), acks=-1)))
    assert cluster.replicas.acknowledge(parts[1:], list, 5.0) == parts[1:]
    delayed = cluster.replicas.acknowledge(parts, list, 5.0)
    done = park(delayed)

    cluster.replicas.partition("t", 0).follower_fetched(2, 1)
    serve()

    assert done == [parts]


async def test_a_produce_waits_for_the_disk_longer_than_it_says(world, autojump_clock) -> None:
    cluster = await open_cluster(world)
    cluster.change(t={0: state(1)})
    cluster.configure("t", flush_messages="1")
    partition = cluster.replicas.partition("t", 0)
    parts = [Produced(partition, append(partition, batch(), acks=1))]
    delayed = cluster.replicas.acknowledge(parts, list, 0.0, acks=1)
    done = park(delayed)
    assert delayed.deadline >= trio.current_time() + 30

    await sync(partition.log)
    serve()

    assert done == [parts]


async def test_a_sync_that_fails_is_told_to_who_waits_for_it(world, autojump_clock) -> None:
    cluster = await open_cluster(world)
    cluster.change(t={0: state(1)})
    cluster.configure("t", flush_messages="1")
    partition = cluster.replicas.partition("t", 0)
    parts = [Produced(partition, append(partition, batch(), acks=1))]
    done = park(cluster.replicas.acknowledge(parts, list, 1.0, acks=1))
    world.universe.fault = fault_on("sync", OSError(5, "EIO"), ".log")

    with pytest.raises(LogDirError):
        await sync(partition.log)
    serve()

    assert [part.result.code for part in done[0]] == [ErrorCode.KAFKA_STORAGE_ERROR]


async def test_the_tree_has_each_partition_while_it_lives(world) -> None:
    cluster = await open_cluster(world)
    cluster.change(t={0: state(1)})
    node = cluster.replicas._node

    shown = {one.name: one.figures() for _, one in node.walk()}
    assert shown["t-0"]["leader"] == 1
    assert shown["replica-manager"]["leaders"] == 1
    assert {"Produce", "Fetch", "fetch-sessions", "cold-reads"} <= shown.keys()
    cluster.change(t=None)
    assert "t-0" not in {one.name for _, one in node.walk()}


async def test_a_lost_directory_is_not_replaced_by_an_empty_log(world, autojump_clock) -> None:
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
async def test_cold_bytes_reach_a_client_that_does_not_wait(
    world, nursery, autojump_clock, min_bytes: int
) -> None:
    cluster = await open_cluster(world)
    cluster.change(t={0: state(1)})
    partition = cluster.replicas.partition("t", 0)
    append(partition, batch(), acks=1)
    size = partition.log.size
    make_cold(partition)
    await nursery.start(cluster.replicas.run)

    limits = FetchLimits(may_wait=False, min_bytes=min_bytes)
    delayed = fetch(cluster, "t", limits=limits)
    done = park(delayed)
    await trio.sleep(0.5)
    serve()

    assert done[0].size == size
    done[0].release()


async def test_a_new_log_is_durable_soon_without_a_produce(world, autojump_clock) -> None:
    async def live(_) -> None:
        cluster = await open_cluster(world)
        async with trio.open_nursery() as nursery:
            await nursery.start(cluster.logs.run)
            cluster.change(t={0: state(1)})
            await trio.sleep_forever()

    await run_until_crash(world, live, 5.0, kept=0.0)

    after = world.universe.machine(world.name)
    assert names(after) == ["t-0"]


async def test_settings_of_the_broker_reach_every_topic(world) -> None:
    cluster = await open_cluster(world)
    cluster.change(t={0: state(1)}, u={0: state(1)})
    cluster.replicas._settings_of = lambda image, topic: topic_config(
        image.config(ResourceType.BROKER, ""), BROKER
    )
    delta = MetadataDelta(cluster.image)
    delta.config((ResourceType.BROKER, "")).update({"max.message.bytes": "70"})

    cluster._publish(delta)

    for partition in cluster.replicas.partitions:
        assert partition.settings.limits.max_message_bytes == 70


async def test_settings_are_taken_over_in_steps_of_a_hundred_partitions(world) -> None:
    cluster = await open_cluster(world)
    cluster.change(t={number: state(1) for number in range(201)}, u={0: state(1)})
    delta = MetadataDelta(cluster.image)
    delta.config((ResourceType.TOPIC, "t")).update({"max.message.bytes": "70"})
    image = delta.apply(cluster.image.offset + 1, 1, 0)
    limits = {
        partition.at: partition.settings.limits.max_message_bytes
        for partition in cluster.replicas.partitions
    }

    done = []
    for _ in cluster.replicas.publish(delta, image):
        settings = [partition.settings for partition in cluster.replicas.partitions]
        done.append(sum(one.limits.max_message_bytes == 70 for one in settings))

    assert 70 not in limits.values()
    assert done == [100, 200, 201]


async def test_settings_of_another_broker_change_nothing_here(world) -> None:
    cluster = await open_cluster(world)
    cluster.change(t={0: state(1)})
    before = [partition.settings for partition in cluster.replicas.partitions]
    delta = MetadataDelta(cluster.image)
    delta.config((ResourceType.BROKER, "2")).update({"message.max.bytes": "70"})

    steps = list(cluster.replicas.publish(delta, delta.apply(cluster.image.offset + 1, 1, 0)))

    assert steps == []
    after = [partition.settings for partition in cluster.replicas.partitions]
    assert all(one is other for one, other in zip(before, after, strict=True))
