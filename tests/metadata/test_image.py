"""Looking things up in an image."""

from tests.metadata.kit import ID_1, ID_2, everything, image_of
from trio_kafka.metadata.image import UNASSIGNED_DIRECTORY, ConfigResourceType, PartitionState
from trio_kafka.model import NodeId, TopicPartition


def test_a_topic_is_found_by_name_and_by_id() -> None:
    image = image_of(everything())

    assert image.topic("a") is image.topic(ID_1)
    assert image.topic("z") is None
    assert image.topic(bytes(16)) is None


def test_partition_is_found_by_topic_name_and_index() -> None:
    image = image_of(everything())

    assert image.partition(TopicPartition("a", 1)) is image.topics["a"].partitions[1]
    assert image.partition(TopicPartition("a", 2)) is None
    assert image.partition(TopicPartition("z", 0)) is None


def test_directory_of_a_replica_is_found_by_its_position_in_the_replica_list() -> None:
    image = image_of(everything())
    state = image.topics["a"].partitions[0]

    assert state.directory(NodeId(2)) == ID_2
    bare = PartitionState(replicas=(NodeId(1),), isr=())
    assert bare.directory(NodeId(1)) == UNASSIGNED_DIRECTORY


def test_settings_of_a_resource_do_not_include_other_resources() -> None:
    image = image_of(everything())

    assert image.config(ConfigResourceType.TOPIC, "a") == {"retention.ms": "1"}
    assert image.config(ConfigResourceType.TOPIC, "b") == {}


def test_fenced_broker_is_not_active() -> None:
    broker = image_of(everything()).brokers[NodeId(1)]

    assert broker.fenced
    assert not broker.active
