"""The delta between two images."""

from attrs import evolve

from tests.metadata.kit import ID_1, ID_2, everything, image_of, partition
from trio_kafka.metadata.delta import MetadataDelta
from trio_kafka.metadata.difference import difference
from trio_kafka.metadata.image import MetadataImage
from trio_kafka.protocol.stored.metadata.brokers import UnregisterBrokerRecord
from trio_kafka.protocol.stored.metadata.configs import ConfigRecord
from trio_kafka.protocol.stored.metadata.topics import (
    PartitionChangeRecord,
    RemoveTopicRecord,
    TopicRecord,
)


def test_difference_applied_to_the_old_image_gives_the_new_image() -> None:
    old = image_of(everything())
    new = image_of(
        [
            PartitionChangeRecord(partition_id=1, topic_id=ID_1, isr=[1]),
            RemoveTopicRecord(topic_id=ID_2),
            TopicRecord(name="b", topic_id=bytes([5] * 16)),
            partition(bytes([5] * 16)),
            ConfigRecord(resource_type=2, resource_name="a", name="retention.ms", value=None),
            UnregisterBrokerRecord(broker_id=1, broker_epoch=11),
        ],
        old,
    )

    for before, after in ((old, new), (new, old), (MetadataImage(cluster_id="c"), new)):
        delta = difference(before, after)
        assert delta.apply(after.offset, after.epoch, after.timestamp_ms) == after
    assert list(difference(old, new).topics[ID_1].changed) == [1]


def test_difference_of_equal_images_is_empty() -> None:
    image = image_of(everything())

    assert difference(image, evolve(image, offset=99)) == MetadataDelta(image)
