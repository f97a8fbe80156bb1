"""Copies in a delta, and the changes it names."""

from tests.metadata.kit import ID_1, ID_2, everything, image_of, partition, replay_all
from trio_kafka.metadata.delta import MetadataDelta
from trio_kafka.protocol.stored.metadata.topics import (
    PartitionChangeRecord,
    RemoveTopicRecord,
    TopicRecord,
)


def test_image_after_a_delta_shares_unchanged_parts_with_the_image_before() -> None:
    before = image_of(everything())
    delta = MetadataDelta(before)
    replay_all(delta, [PartitionChangeRecord(partition_id=1, topic_id=ID_1, isr=[1])])

    after = delta.apply(99, 2, 7)

    assert after.topics["b"] is before.topics["b"]
    assert after.topics["a"].partitions[0] is before.topics["a"].partitions[0]
    assert after.topics["a"].partitions[1] is not before.topics["a"].partitions[1]
    assert before.topics["a"].partitions[1].isr == (1, 2)
    assert after.configs is before.configs
    assert after.brokers is before.brokers
    assert (after.offset, after.epoch, after.timestamp_ms) == (99, 2, 7)


def test_delta_names_the_changed_partitions_and_the_deleted_topics() -> None:
    delta = MetadataDelta(image_of(everything()))
    new = bytes([3] * 16)
    replay_all(
        delta,
        [
            PartitionChangeRecord(partition_id=1, topic_id=ID_1, isr=[1]),
            RemoveTopicRecord(topic_id=ID_2),
            TopicRecord(name="c", topic_id=new),
            partition(new, 0),
            partition(new, 1),
        ],
    )

    assert list(delta.topics[ID_1].changed) == [1]
    assert not delta.topics[ID_1].created
    assert delta.topics[new].created
    assert list(delta.topics[new].changed) == [0, 1]
    assert delta.deleted_topics == {ID_2: "b"}


def test_topic_created_and_deleted_in_a_delta_leaves_the_delta_empty() -> None:
    delta = MetadataDelta(image_of(everything()))
    new = bytes([3] * 16)
    replay_all(delta, [TopicRecord(name="c", topic_id=new), RemoveTopicRecord(topic_id=new)])

    assert delta == MetadataDelta(delta.image)


def test_equal_replica_lists_are_one_tuple() -> None:
    image = image_of(everything())
    states = [*image.topics["a"].partitions.values(), *image.topics["b"].partitions.values()]

    assert len({id(state.replicas) for state in states}) == 1
    assert states[0].isr is states[0].replicas
