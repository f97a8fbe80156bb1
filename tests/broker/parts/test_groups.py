"""The group coordinator as a part of the broker: it starts, serves, and stops."""

import pytest
import trio
from trio.testing import MockClock

from tests.apis.classic import GROUP, join, sync
from tests.broker.kit import config_of
from trio_kafka.broker.parts.groups import FOLLOWED, GROUPS_TASK
from trio_kafka.errors import ErrorCode
from trio_kafka.metadata.delta import MetadataDelta
from trio_kafka.metadata.image import ConfigResourceType, MetadataImage
from trio_kafka.metadata.publisher import changes
from trio_kafka.metadata.replay import replay
from trio_kafka.metadata.source import MetadataRecord
from trio_kafka.protocol.messages.k10_find_coordinator import FindCoordinatorRequest
from trio_kafka.protocol.messages.k11_join_group import JoinGroupResponse
from trio_kafka.protocol.stored.metadata.brokers import RegisterBrokerRecord
from trio_kafka.protocol.stored.metadata.configs import ConfigRecord
from trio_kafka.protocol.stored.metadata.features import FeatureLevelRecord
from trio_kafka.protocol.stored.metadata.producer_ids import ProducerIdsRecord
from trio_kafka.protocol.stored.metadata.topics import RemoveTopicRecord, TopicRecord
from trio_kafka.testing.broker import ServedBroker, served_broker
from trio_kafka.testing.simulation import simulated_world


async def test_group_coordinator_runs_until_the_broker_stops(autojump_clock: MockClock) -> None:
    async with served_broker(simulated_world()) as served:
        broker = served.broker
        assert broker.tasks.runs(GROUPS_TASK)
        assert broker.parts.groups is broker.groups
        await served.serve_groups("g")
        assert broker.groups.runtime.shards

    assert not broker.tasks.runs(GROUPS_TASK)
    assert broker.groups.runtime.shards == {}
    assert "coordinators" in broker.stop.durations


async def test_find_coordinator_is_unavailable_if_the_offsets_topic_cannot_be_created(
    autojump_clock: MockClock, caplog
) -> None:
    settings = {"offsets.topic.replication.factor": "3"}
    async with served_broker(simulated_world(), settings) as served:
        for _ in range(2):
            answer = await served.ask(FindCoordinatorRequest(coordinator_keys=["g"]))
            (coordinator,) = answer.coordinators
            assert coordinator.error_code == ErrorCode.COORDINATOR_NOT_AVAILABLE

    assert "topic creation rejected" in caplog.text


def test_embedded_node_has_offsets_topic_replication_factor_1() -> None:
    assert config_of({}).offsets_topic_replication_factor == 1


async def test_members_waiting_for_a_rebalance_are_counted_by_their_parked_request(
    autojump_clock: MockClock,
) -> None:
    """Two members join; the follower syncs before its leader does."""
    async with served_broker(simulated_world()) as served:
        await served.serve_groups(GROUP)
        assignments: list[bytes] = []

        async def member() -> None:
            async with served.connect() as client:
                joined = await join(client)
                if leads(joined):
                    await trio.sleep(1)
                own = {member.member_id: b"mine" for member in joined.members}
                assignments.append((await sync(client, joined, own)).assignment)

        async with trio.open_nursery() as nursery:
            nursery.start_soon(member)
            nursery.start_soon(member)
            await trio.sleep(2)
            assert waiting(served) == {"JoinGroup": 2}
            await trio.sleep(4.5)
            assert waiting(served) == {"SyncGroup": 1}

        assert assignments == [b"mine", b"mine"]
        assert waiting(served) == {}


def leads(joined: JoinGroupResponse) -> bool:
    return bool(joined.leader == joined.member_id)


def waiting(served: ServedBroker) -> dict[str, int]:
    """How many requests wait in each purgatory of the coordinator, as the tree tells it."""
    (node,) = [child for _, child in served.broker.node.walk() if child.name == "group-coordinator"]
    counts = {
        child.name: int(child.figures()["waiting"] or 0)  # type: ignore[arg-type]
        for _, child in node.walk()
        if child.kind == "purgatory"
    }
    return {name: count for name, count in counts.items() if count}


def delta_of(*records: MetadataRecord) -> MetadataDelta:
    delta = MetadataDelta(MetadataImage())
    for record in records:
        replay(delta, record)
    return delta


def setting_of(kind: ConfigResourceType) -> ConfigRecord:
    return ConfigRecord(resource_type=kind, resource_name="1", name="a", value="b")


TOPIC = TopicRecord(name="t", topic_id=bytes(15) + b"t")


@pytest.mark.parametrize(
    ("records", "expected"),
    [
        ([TOPIC], True),
        ([RegisterBrokerRecord(broker_id=1, incarnation_id=bytes(16))], True),
        ([FeatureLevelRecord(name="group.version", feature_level=1)], True),
        ([setting_of(ConfigResourceType.GROUP)], True),
        ([setting_of(ConfigResourceType.TOPIC)], False),
        ([setting_of(ConfigResourceType.BROKER)], False),
        ([ProducerIdsRecord(broker_id=1, next_producer_id=1000)], False),
    ],
)
def test_groups_get_changes_of_topics_brokers_features_and_their_own_settings(
    records: list[MetadataRecord], expected: bool
) -> None:
    assert changes(delta_of(*records), FOLLOWED) is expected


def test_groups_get_deleted_topics() -> None:
    before = delta_of(TOPIC).apply(1, 1, 0)
    delta = MetadataDelta(before)
    replay(delta, RemoveTopicRecord(topic_id=TOPIC.topic_id))

    assert changes(delta, FOLLOWED)
