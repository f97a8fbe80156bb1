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


def topic_of(sample: Any) -> tuple[TopicImage, MetadataImage]:
    brokers: dict[NodeId, BrokerRegistration] = {}
    partitions: dict[int, PartitionState] = {}
    for number, racks in enumerate(sample["racks"]):
        replicas = []
        for rack in racks:
            node = NodeId(len(brokers) + 1)
            brokers[node] = BrokerRegistration(id=node, epoch=0, incarnation_id=b"", rack=rack)
            replicas.append(node)
        partitions[number] = PartitionState(replicas=tuple(replicas), isr=())
    topic = TopicImage(
        name=sample["name"], id=TopicId(bytes.fromhex(sample["id"])), partitions=partitions
    )
    return topic, MetadataImage(brokers=brokers, topics=ImmutableMap({topic.name: topic}))


@pytest.mark.parametrize("sample", hashes()["topics"], ids=lambda sample: sample["name"][:9])
def test_topic_hash_equals_that_of_kafka(sample: Any) -> None:
    assert whole(topic_hash(*topic_of(sample))) == sample["hash"]


def test_metadata_hash_without_existing_topics_is_zero() -> None:
    assert whole(metadata_hash([], MetadataImage(), {})) == 0
    assert whole(metadata_hash(["missing"], MetadataImage(), {})) == 0


def test_names_of_many_topics_are_looked_up_in_steps() -> None:
    names = [f"t{number}" for number in range(5000)]

    assert sum(1 for _ in metadata_hash(names, MetadataImage(), {})) >= 100


def test_topic_hashes_are_cached() -> None:
    sample = hashes()["topics"][0]
    _, image = topic_of(sample)
    cache: dict[str, int] = {}

    first = whole(metadata_hash([sample["name"], "missing"], image, cache))

    assert cache == {sample["name"]: sample["hash"]}
    assert whole(metadata_hash([sample["name"]], image, {sample["name"]: 5})) != first
