"""Topics of a group's leader: numbers of partitions, racks of replicas, and their changes."""

import pytest

from trio_kafka.clients.client import metadata_of
from trio_kafka.clients.consumer.groups.assignors.values import MemberSubscription
from trio_kafka.clients.consumer.groups.subscribed_topics import SubscribedTopics
from trio_kafka.clients.settings.consumer import ConsumerSettings
from trio_kafka.model import TopicPartition
from trio_kafka.protocol.messages.k03_metadata import (
    MetadataResponse,
    MetadataResponseBroker,
    MetadataResponsePartition,
    MetadataResponseTopic,
)
from trio_kafka.world.real import RealWorld


def topics_of(*, watches_racks):
    metadata = metadata_of(ConsumerSettings(bootstrap_servers=("a:1",)), RealWorld())
    metadata.cache.all_topics = True
    return SubscribedTopics(metadata=metadata, excludes_internal=True, watches_racks=watches_racks)


def update(topics, *replicas, racks=("a", "b", None)):
    """Take metadata of the topic t with some partitions. replicas: nodes of each."""
    brokers = [
        MetadataResponseBroker(node, "h", 9000 + node, rack) for node, rack in enumerate(racks)
    ]
    rows = [
        MetadataResponsePartition(0, number, nodes[0], 1, list(nodes), list(nodes))
        for number, nodes in enumerate(replicas)
    ]
    topic = MetadataResponseTopic(0, "t", bytes(15) + b"t", partitions=rows)
    internal = MetadataResponseTopic(0, "t_internal", bytes(15) + b"i", is_internal=True)
    response = MetadataResponse(brokers=brokers, topics=[topic, internal])
    topics.metadata.cache.update(response, 0.0, 0.5)


def member(rack=None):
    return MemberSubscription(member_id="m", topics=frozenset("t"), rack=rack)


async def test_leader_gets_the_racks_of_all_replicas_if_a_member_has_one():
    topics = topics_of(watches_racks=True)
    update(topics, [0, 1], [2, 0])

    led = await topics.lead([member(), member("a")])

    assert led.counts == {"t": 2}
    assert led.racks == {
        TopicPartition("t", 0): frozenset("ab"),
        TopicPartition("t", 1): frozenset("a"),
    }
    assert (await topics.lead([member()])).racks == {}


@pytest.mark.parametrize(("watches_racks", "joins_again"), [(True, True), (False, False)])
async def test_leader_with_a_rack_joins_again_when_replicas_have_moved(watches_racks, joins_again):
    topics = topics_of(watches_racks=watches_racks)
    topics.subscribe(("t",), None)
    update(topics, [0])
    await topics.join()
    await topics.lead([member("a")])

    update(topics, [0])
    assert not topics.has_changed()
    update(topics, [1])
    assert topics.has_changed() is joins_again


async def test_leader_joins_again_when_a_topic_has_more_partitions():
    topics = topics_of(watches_racks=False)
    topics.subscribe(None, "t.*")
    update(topics, [0])
    assert await topics.join() == ("t",)
    await topics.lead([member()])
    assert not topics.has_changed()

    update(topics, [0], [0])

    assert topics.has_changed()


async def test_leader_joins_again_for_a_topic_of_which_it_knew_nothing(autojump_clock):
    topics = topics_of(watches_racks=False)
    topics.subscribe(("t",), None)
    await topics.join()
    assert (await topics.lead([member()])).counts == {}
    assert not topics.has_changed()

    update(topics)
    assert not topics.has_changed()
    update(topics, [0])
    assert topics.has_changed()
