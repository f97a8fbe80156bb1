"""Replicas come, change and go as the metadata say."""

import pytest

from tests.replication.kit import (
    BROKER,
    batch,
    names,
    open_cluster,
    park,
    refused,
    serve,
    state,
    want,
)
from trio_kafka.config.topic import topic_config
from trio_kafka.errors import ErrorCode, KafkaError
from trio_kafka.metadata.delta import MetadataDelta
from trio_kafka.metadata.image import ConfigResourceType
from trio_kafka.model import TopicId
from trio_kafka.replication.leader.append import append
from trio_kafka.replication.leader.fetch import FetchLimits
from trio_kafka.replication.roles import Deleted


async def test_new_topic_has_logs_that_take_appends(world) -> None:
    cluster = await open_cluster(world)

    cluster.change(t={0: state(1), 1: state(1), 2: state(2, leader=2)})

    assert names(world) == ["t-0", "t-1"]
    partition = cluster.replicas.partition("t", 1)
    assert cluster.replicas.partition(cluster.topic_id("t"), 1) is partition
    assert append(partition, batch(), acks=-1).first_offset == 0


async def test_deleted_topic_is_unknown_and_its_name_can_be_used_again(world) -> None:
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
    assert isinstance(old.role, Deleted)


async def test_changes_of_leader_and_isr_are_taken_over(world) -> None:
    cluster = await open_cluster(world)
    cluster.change(t={0: state(1, 2)})
    partition = cluster.replicas.partition("t", 0)

    cluster.change(t={0: state(1, 2, leader=2, epoch=1)})

    assert refused(cluster, "t") is ErrorCode.NOT_LEADER_OR_FOLLOWER
    cluster.change(t={0: state(1, epoch=2, replicas=(1, 2))})
    assert cluster.replicas.partition("t", 0) is partition
    assert partition.local_log(2) is partition.log


async def test_replica_reassigned_to_another_broker_is_removed(world) -> None:
    cluster = await open_cluster(world)
    cluster.change(t={0: state(1)})

    cluster.change(t={0: state(2, leader=2, epoch=1)})

    assert refused(cluster, "t") is ErrorCode.NOT_LEADER_OR_FOLLOWER
    assert cluster.replicas.partitions == ()
    assert names(world) == []


async def test_changed_settings_apply_to_the_running_log_and_partition(world) -> None:
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


async def test_waiting_fetch_is_completed_by_records_committed_through_new_settings(world) -> None:
    cluster = await open_cluster(world)
    cluster.change(t={0: state(1, replicas=(1, 2))})
    cluster.configure("t", min_insync_replicas="2")
    partition = cluster.replicas.partition("t", 0)
    append(partition, batch(), acks=1)
    delayed = cluster.replication.fetches.begin({(cluster.topic_id("t"), 0): want()}, FetchLimits())
    done = park(delayed)

    cluster.configure("t", min_insync_replicas="1")
    serve()

    ((_, part),) = done[0].parts
    assert part.range is not None
    done[0].release()


async def test_topic_with_many_partitions_is_created_and_deleted_in_steps(world) -> None:
    cluster = await open_cluster(world)
    cluster.change(first={0: state(1)})
    delta = MetadataDelta(cluster.image)
    delta.create_topic("t", TopicId(bytes(15) + b"t"))
    topic = delta.topic(delta.topic_id("t"))
    for number in range(3):
        delta.set_partition(topic, number, state(1))
    cluster.image = delta.apply(2, 0, 0)
    steps = cluster.publisher.publish(delta, cluster.image)

    next(steps)
    assert names(world) == ["first-0", "t-0"]
    assert refused(cluster, "t", 1) is ErrorCode.NOT_LEADER_OR_FOLLOWER
    assert [*steps] == [None, None]
    assert names(world) == ["first-0", "t-0", "t-1", "t-2"]

    delta = MetadataDelta(cluster.image)
    delta.delete_topic(delta.topic(delta.topic_id("t")))
    assert len([*cluster.publisher.publish(delta, delta.apply(3, 0, 0))]) == 3


async def test_restart_keeps_records_and_marks_logs_of_removed_replicas_as_stray(
    world, autojump_clock
) -> None:
    cluster = await open_cluster(world)
    cluster.change(t={0: state(1)}, gone={0: state(1)}, moved={0: state(1)}, anew={0: state(1)})
    for partition in cluster.replicas.partitions:
        append(partition, batch(3), acks=1)
    await cluster.logs.close()
    cluster.publisher.publish = lambda *_: None
    cluster.change(gone=None, moved={0: state(2, leader=2, epoch=1)}, anew=None)
    cluster.change(anew={0: state(1)})

    again = await open_cluster(world, cluster.image)

    assert again.replicas.partition("t", 0).log.end_offset == 3
    assert again.replicas.partition("anew", 0).log.end_offset == 0
    assert names(world) == ["anew-0", "t-0"]
    marked = [n for n in world.directory("/data").names() if n.endswith("-stray")]
    assert sorted(name.partition(".")[0] for name in marked) == ["anew-0", "gone-0", "moved-0"]


async def test_first_published_image_creates_all_its_partitions(world, autojump_clock) -> None:
    cluster = await open_cluster(world)
    cluster.change(t={0: state(1)})
    await cluster.logs.close()

    again = await open_cluster(world)
    again.image = cluster.image
    again.change(u={0: state(1)})

    assert again.replicas.partition("t", 0).log.end_offset == 0
    assert names(world) == ["t-0", "u-0"]


async def test_first_image_is_taken_over_in_steps_and_later_changes_wait_for_their_end(
    world, autojump_clock
) -> None:
    before = await open_cluster(world)
    before.change(t={number: state(1) for number in range(250)}, gone={0: state(1), 1: state(1)})
    await before.logs.close()
    before.publisher.publish = lambda *_: None
    before.change(gone=None)

    cluster = await open_cluster(world)
    steps = cluster.publisher.start(before.image)
    for _ in range(5):  # a look at two hundred, two strays, then the first hundred
        next(steps)

    assert len(cluster.replicas.partitions) == 100
    delta = MetadataDelta(before.image)
    delta.delete_topic(delta.topic(before.topic_id("t")))
    image = delta.apply(before.image.offset + 1, 0, 0)
    published = cluster.publisher.publish(delta, image)
    next(published)
    assert len(cluster.replicas.partitions) == 200
    assert list(steps) == []  # the last fifty
    assert len(cluster.replicas.partitions) == 250
    assert len(list(published)) == 250

    assert cluster.replicas.partitions == ()
    assert cluster.replicas.image is image
    await cluster.logs.close()


async def test_settings_of_the_broker_apply_to_every_topic(world) -> None:
    cluster = await open_cluster(world)
    cluster.change(t={0: state(1)}, u={0: state(1)})
    cluster.publisher._settings_of = lambda image, topic: topic_config(
        image.config(ConfigResourceType.BROKER, ""), BROKER
    )
    delta = MetadataDelta(cluster.image)
    delta.config((ConfigResourceType.BROKER, "")).update({"max.message.bytes": "70"})

    cluster._publish(delta)

    for partition in cluster.replicas.partitions:
        assert partition.settings.limits.max_message_bytes == 70


async def test_settings_are_taken_over_in_steps_of_a_hundred_partitions(world) -> None:
    cluster = await open_cluster(world)
    cluster.change(t={number: state(1) for number in range(201)}, u={0: state(1)})
    delta = MetadataDelta(cluster.image)
    delta.config((ConfigResourceType.TOPIC, "t")).update({"max.message.bytes": "70"})
    image = delta.apply(cluster.image.offset + 1, 1, 0)
    limits = {
        partition.at: partition.settings.limits.max_message_bytes
        for partition in cluster.replicas.partitions
    }

    done = []
    for _ in cluster.publisher.publish(delta, image):
        settings = [partition.settings for partition in cluster.replicas.partitions]
        done.append(sum(setting.limits.max_message_bytes == 70 for setting in settings))

    assert 70 not in limits.values()
    assert done == [100, 200, 201]


async def test_settings_of_another_broker_change_no_partition(world) -> None:
    cluster = await open_cluster(world)
    cluster.change(t={0: state(1)})
    before = [partition.settings for partition in cluster.replicas.partitions]
    delta = MetadataDelta(cluster.image)
    delta.config((ConfigResourceType.BROKER, "2")).update({"message.max.bytes": "70"})

    steps = list(cluster.publisher.publish(delta, delta.apply(cluster.image.offset + 1, 1, 0)))

    assert steps == []
    after = [partition.settings for partition in cluster.replicas.partitions]
    assert all(old is new for old, new in zip(before, after, strict=True))
