"""The hash of a group's topics: Kafka's, kept until a topic changes."""

from typing import Any

import pytest

from tests.coordinators.groups.consumer.kafka import hashes
from trio_kafka.coordinators.groups.consumer.metadata_hash import (
    metadata_hash,
    topic_hash,
)
from trio_kafka.metadata.image import (
    BrokerRegistration,
    MetadataImage,
    PartitionState,
    TopicImage,
)
from trio_kafka.metadata.immutable_map import ImmutableMap
from trio_kafka.model import NodeId, TopicId
from trio_kafka.scheduling.chunked_work import whole


def topic_of(told: Any) -> tuple[TopicImage, MetadataImage]:
    brokers: dict[NodeId, BrokerRegistration] = {}
    partitions: dict[int, PartitionState] = {}
    for number, racks in enumerate(told["racks"]):
        replicas = []
        for rack in racks:
            node = NodeId(len(brokers) + 1)
            brokers[node] = BrokerRegistration(id=node, epoch=0, incarnation_id=b"", rack=rack)
            replicas.append(node)
        partitions[number] = PartitionState(replicas=tuple(replicas), isr=())
    topic = TopicImage(
        name=told["name"], id=TopicId(bytes.fromhex(told["id"])), partitions=partitions
    )
    return topic, MetadataImage(brokers=brokers, topics=ImmutableMap({topic.name: topic}))


@pytest.mark.parametrize("told", hashes()["topics"], ids=lambda told: told["name"][:9])
def test_topic_hash_equals_that_of_kafka(told: Any) -> None:
    assert whole(topic_hash(*topic_of(told))) == told["hash"]


def test_metadata_hash_without_existing_topics_is_zero() -> None:
    assert whole(metadata_hash([], MetadataImage(), {})) == 0
    assert whole(metadata_hash(["missing"], MetadataImage(), {})) == 0


def test_topic_hashes_are_cached() -> None:
    told = hashes()["topics"][0]
    _, image = topic_of(told)
    known: dict[str, int] = {}

    first = whole(metadata_hash([told["name"], "missing"], image, known))

    assert known == {told["name"]: told["hash"]}
    assert whole(metadata_hash([told["name"]], image, {told["name"]: 5})) != first
