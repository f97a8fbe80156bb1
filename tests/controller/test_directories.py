"""Directories of replicas, as brokers report them."""

import pytest
from attrs import evolve

from tests.controller.kit import broker, image_of
from trio_kafka.controller.decision import Decision
from trio_kafka.controller.directories import assign_directory
from trio_kafka.errors import ErrorCode, KafkaError
from trio_kafka.metadata.image import (
    UNASSIGNED_DIRECTORY,
    MetadataImage,
    PartitionState,
    TopicImage,
)
from trio_kafka.model import NodeId, TopicId

ID = TopicId(b"t" * 16)
NODE_1, NODE_2, NODE_3 = (NodeId(number) for number in (1, 2, 3))
THERE = b"d" * 16


def image(*, directories: bool = True) -> MetadataImage:
    state = PartitionState(
        replicas=(NODE_2, NODE_1),
        isr=(NODE_1,),
        directories=(UNASSIGNED_DIRECTORY,) * 2 if directories else (),
    )
    topic = TopicImage(name="t", id=ID, partitions={0: state})
    base = image_of(broker(1), broker(2), broker(3))
    return evolve(base, topics={"t": topic}, topic_names={ID: "t"})


def assign(
    image: MetadataImage,
    broker_id: NodeId,
    epoch: int,
    replica: tuple[TopicId, int],
    directory: bytes,
) -> Decision[None]:
    return assign_directory(
        image, broker_id=broker_id, epoch=epoch, replica=replica, directory=directory
    )


def refusal(*arguments) -> ErrorCode:
    with pytest.raises(KafkaError) as caught:
        assign(image(), *arguments)
    return caught.value.code


def test_assign_directory_changes_only_the_directory_of_one_replica() -> None:
    (record,) = assign(image(), NODE_1, 10, (ID, 0), THERE).records

    assert (record.topic_id, record.partition_id) == (ID, 0)
    assert record.directories == [UNASSIGNED_DIRECTORY, THERE]
    assert record.leader == -2
    assert record.isr is None


def test_assigning_the_present_directory_writes_no_records() -> None:
    assert list(assign(image(), NODE_1, 10, (ID, 0), UNASSIGNED_DIRECTORY).records) == []


def test_partitions_without_directories_in_metadata_are_not_changed() -> None:
    assert list(assign(image(directories=False), NODE_1, 10, (ID, 0), THERE).records) == []


def test_a_directory_report_of_an_invalid_broker_or_partition_is_refused() -> None:
    assert refusal(NODE_1, 9, (ID, 0), THERE) is ErrorCode.STALE_BROKER_EPOCH
    assert refusal(NodeId(9), 9, (ID, 0), THERE) is ErrorCode.BROKER_ID_NOT_REGISTERED
    assert refusal(NODE_1, 10, (TopicId(b"?" * 16), 0), THERE) is ErrorCode.UNKNOWN_TOPIC_ID
    assert refusal(NODE_1, 10, (ID, 1), THERE) is ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    assert refusal(NODE_3, 30, (ID, 0), THERE) is ErrorCode.NOT_LEADER_OR_FOLLOWER
