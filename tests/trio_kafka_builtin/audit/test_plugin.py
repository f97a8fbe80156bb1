"""The plugin in a whole broker: what is told, where, and what never is."""

import json
import logging
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest
import trio
from trio.testing import MockClock

from tests.requests.request_log.test_sinks import values
from tests.trio_kafka_builtin.audit.kit import TOPIC, audited, events
from trio_kafka.controls.interceptors import RecordingOwner
from trio_kafka.errors import ErrorCode
from trio_kafka.model import Endpoint, TopicPartition
from trio_kafka.plugin import PluginContext, plugin
from trio_kafka.protocol.messages.k00_produce import (
    PartitionProduceData,
    ProduceRequest,
    TopicProduceData,
)
from trio_kafka.protocol.messages.k01_fetch import FetchPartition, FetchRequest, FetchTopic
from trio_kafka.protocol.messages.k03_metadata import MetadataRequest
from trio_kafka.protocol.messages.k19_create_topics import (
    CreatableTopic,
    CreatableTopicConfig,
    CreateTopicsRequest,
)
from trio_kafka.protocol.messages.k20_delete_topics import DeleteTopicsRequest, DeleteTopicState
from trio_kafka.protocol.messages.k44_incremental_alter_configs import (
    AlterableConfig,
    AlterConfigsResource,
    IncrementalAlterConfigsRequest,
)
from trio_kafka.protocol.messages.k10003_reload_plugin import ReloadPluginRequest
from trio_kafka.records.batch import Record, encode_batch
from trio_kafka.testing.broker import ServedBroker, served_broker
from trio_kafka.testing.scripted_client import newest, request_frame
from trio_kafka.testing.simulation import simulated_world
from trio_kafka_builtin.audit.event_writer import LOGGER
from trio_kafka_builtin.audit.plugin import audit

SECRET = "correct-horse"


def produce(served: ServedBroker, topic: str) -> ProduceRequest:
    topic_id = served.broker.metadata.image.topics[topic].id
    batch = memoryview(encode_batch([Record(timestamp=1, value=SECRET.encode())]))
    data = TopicProduceData(topic_id=topic_id, partition_data=[PartitionProduceData(0, batch)])
    return ProduceRequest(acks=1, timeout_ms=1000, topic_data=[data])


def fetch(served: ServedBroker, topic: str) -> FetchRequest:
    topic_id = served.broker.metadata.image.topics[topic].id
    partitions = [FetchPartition(partition=0, fetch_offset=0, partition_max_bytes=1 << 20)]
    return FetchRequest(
        max_wait_ms=0,
        min_bytes=0,
        session_epoch=-1,
        topics=[FetchTopic(topic_id=topic_id, partitions=partitions)],
    )


async def test_the_event_of_a_created_topic_has_principal_client_time_and_outcome(
    autojump_clock: MockClock,
) -> None:
    async with audited() as served:
        await served.create_topic("orders", 3, {"retention.ms": "1234567"})

        (event,) = await events(served)

    assert event["api"] == "CreateTopics"
    assert event["principal"] == "User:ANONYMOUS"
    assert event["client_id"] == "scripted"
    assert event["address"] == "127.0.0.1"
    assert event["listener"] == "PLAINTEXT"
    assert event["broker"] == 1
    assert event["schema"] == 1
    assert event["time"].endswith("+00:00")
    assert event["outcome"] == "done"
    assert event["error"] is None
    assert event["subjects"] == [{"type": "topic", "name": "orders", "settings": ["retention.ms"]}]
    assert "1234567" not in json.dumps(event)


async def test_each_topic_of_an_event_has_its_own_error(autojump_clock: MockClock) -> None:
    async with audited() as served:
        await served.create_topic("a")
        await served.ask(
            CreateTopicsRequest([CreatableTopic("a", 1, 1), CreatableTopic("b", 1, 1)])
        )
        await served.ask(CreateTopicsRequest([CreatableTopic("b", 1, 1)], validate_only=True))

        _, partly, refused = await events(served)

    assert partly["outcome"] == "partly"
    assert partly["subjects"] == [
        {"type": "topic", "name": "a", "error": "TOPIC_ALREADY_EXISTS"},
        {"type": "topic", "name": "b"},
    ]
    assert (refused["outcome"], refused["error"]) == ("refused", "TOPIC_ALREADY_EXISTS")
    assert refused["validate_only"] is True
    assert "validate_only" not in partly


async def test_the_event_of_a_topic_deleted_by_id_has_the_topic_name(
    autojump_clock: MockClock,
) -> None:
    async with audited() as served:
        topic_id = await served.create_topic("gone")
        await served.ask(DeleteTopicsRequest([DeleteTopicState(None, topic_id)], timeout_ms=1000))

        deleted = (await events(served))[-1]

    assert deleted["api"] == "DeleteTopics"
    assert deleted["subjects"] == [{"type": "topic", "name": "gone"}]


async def test_events_of_config_changes_have_setting_names_without_values(
    autojump_clock: MockClock,
) -> None:
    async with audited() as served:
        change = AlterableConfig("retention.ms", 0, SECRET)
        resource = AlterConfigsResource(2, "nowhere", [change])
        await served.ask(IncrementalAlterConfigsRequest([resource]))

        (event,) = await events(served)

    assert event["outcome"] == "refused"
    assert event["subjects"][0]["settings"] == ["retention.ms"]
    assert SECRET not in json.dumps(event)


async def test_read_only_requests_are_not_audited_by_default(autojump_clock: MockClock) -> None:
    async with audited() as served:
        await served.ask(MetadataRequest(topics=None))

        assert await events(served) == []
        assert TOPIC not in served.broker.metadata.image.topics


async def test_produce_and_fetch_are_audited_without_record_values_when_configured(
    autojump_clock: MockClock,
) -> None:
    async with audited(apis="Produce,Fetch", sample="1") as served:
        await served.create_topic("data")
        await served.ask(produce(served, "data"))
        await served.ask(fetch(served, "data"))

        rows = await events(served)

    assert [(row["api"], row["subjects"]) for row in rows] == [
        ("Produce", [{"type": "topic", "name": "data"}]),
        ("Fetch", [{"type": "topic", "name": "data"}]),
    ]
    assert SECRET not in json.dumps(rows)


async def test_fetching_the_audit_topic_is_not_audited(autojump_clock: MockClock) -> None:
    async with audited(apis="admin,Fetch", sample="1") as served:
        await served.create_topic("data")
        before = await events(served)
        await served.ask(fetch(served, TOPIC))

        assert await events(served) == before


async def test_produce_events_are_sampled_at_the_configured_rate(autojump_clock: MockClock) -> None:
    async with audited(apis="Produce", sample="10") as served:
        await served.create_topic("data")
        for _ in range(200):
            await served.ask(produce(served, "data"))

        rows = await events(served)

    assert 5 <= len(rows) <= 50
    assert {row["one_of"] for row in rows} == {10}


async def test_the_audit_topic_is_created_with_delete_policy_and_the_configured_retention(
    autojump_clock: MockClock,
) -> None:
    async with audited(retention_ms="1000000") as served:
        await served.create_topic("data")
        await events(served)

        image = served.broker.metadata.image
        configs = next(
            dict(configs) for (_, name), configs in image.configs.items() if name == TOPIC
        )

    assert len(image.topics[TOPIC].partitions) == 1
    assert configs["cleanup.policy"] == "delete"
    assert configs["retention.ms"] == "1000000"


async def test_requests_of_clients_that_close_before_the_response_are_audited(
    autojump_clock: MockClock,
) -> None:
    async with audited() as served:
        for passes in range(30):  # it leaves a little later each time
            async with served.connect() as other:
                topic = CreatableTopic(f"hasty-{passes}", 1, 1)
                await other.send(request_frame(CreateTopicsRequest([topic], timeout_ms=1000), 7))
                for _ in range(passes):
                    await trio.lowlevel.checkpoint()
        outcomes = {
            event["subjects"][0]["name"]: event["outcome"] for event in await events(served)
        }
        names = {name for name in served.broker.metadata.image.topics if name != TOPIC}

    assert names
    assert names <= outcomes.keys()
    assert set(outcomes.values()) <= {"unknown", "done"}


async def test_events_are_written_to_the_log_without_an_audit_topic(
    autojump_clock: MockClock, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.INFO, logger=LOGGER):
        async with audited(topic="") as served:
            await served.create_topic("data")
            assert await events(served) == []
            assert served.broker.logs.get(TopicPartition(TOPIC, 0)) is None

    lines = [record.getMessage() for record in caplog.records if record.name == LOGGER]
    assert json.loads(lines[0].removeprefix("audit:"))["api"] == "CreateTopics"


async def test_the_audit_plugin_is_off_by_default(autojump_clock: MockClock) -> None:
    async with served_broker(simulated_world(), plugins=(audit,)) as served:
        configs = [CreatableTopicConfig("retention.ms", "1")]
        await served.ask(CreateTopicsRequest([CreatableTopic("a", 1, 1, configs=configs)]))

        assert len(served.broker.parts.interceptors) == 0
        assert served.broker.plugins.find("audit").state.value != "ready"


async def test_queued_events_are_written_when_the_broker_stops(
    autojump_clock: MockClock, caplog: pytest.LogCaptureFixture
) -> None:
    """Also what came at the last moment: while plugins stop, one after the other.

    The topic is led by nobody then: those events are in the log alone.
    """
    late = 5000  # more than are written in a few passes of the loop
    taken: list[int] = []

    @plugin("late", order=500)
    @asynccontextmanager
    async def last(context: PluginContext[None]) -> AsyncIterator[None]:
        yield
        (node,) = [
            candidate
            for _, candidate in served.broker.node.walk()
            if candidate.name == "audit-events"
        ]
        for number in range(late):
            node._figures.__self__.take({"number": number})
        taken.append(node.figures()["depth"])

    world, settings = simulated_world(), {"plugin.audit.enabled": "true"}
    with caplog.at_level(logging.INFO, logger=LOGGER):
        async with served_broker(world, settings, plugins=(audit, last)) as served:
            await served.create_topic("last")
    assert taken == [late]
    lines = [record.getMessage() for record in caplog.records if record.name == LOGGER]
    rows = [json.loads(line.removeprefix("audit:")) for line in lines]
    assert [row["number"] for row in rows[1:]] == list(range(late))

    async with served_broker(world, plugins=()) as served:
        stored = [json.loads(value) for value in await values(served, TOPIC, 0)]
    assert stored == rows[:1]  # that was taken while the broker still led


async def test_events_of_unacknowledged_produce_requests_have_an_outcome(
    autojump_clock: MockClock,
) -> None:
    """acks=0: who hears nothing has written all the same; an error ends the connection."""
    async with audited(apis="Produce", sample="1") as served:
        await served.create_topic("data")
        async with served.connect() as other:
            for acks, partition in ((0, 0), (1, 0), (0, 7)):
                request = produce(served, "data")
                request.acks = acks
                request.topic_data[0].partition_data[0].index = partition
                await other.send(request_frame(request, newest(ProduceRequest)))
                await trio.sleep(1)
        stored = await values(served, "data", 0)
        rows = await events(served)

    assert stored == [SECRET] * 2
    assert [row["outcome"] for row in rows] == ["done", "done", "unknown"]
    assert [row.get("acknowledged") for row in rows] == [False, None, None]
    assert rows[0]["subjects"][0]["name"] == "data"


async def test_the_error_of_an_unknown_audited_api_names_the_api(autojump_clock: MockClock) -> None:
    async with audited(apis="CreateTopisc") as served:
        hosted = served.broker.plugins.find("audit")

        assert hosted.state.value == "failed"
        assert "CreateTopisc" in str(hosted.error)


async def test_a_generation_beyond_its_drain_timeout_ends_without_its_own_error(
    autojump_clock: MockClock, caplog: pytest.LogCaptureFixture
) -> None:
    async def slow(request: object, context: object, forward: Any) -> Any:
        await trio.sleep(5)
        return await forward(request)

    async with audited(drain_ms="100") as served:
        served.broker.parts.interceptors.add(
            "around", CreateTopicsRequest, slow, order=900, owner=RecordingOwner()
        )
        generation = served.broker.plugins.find("audit").current
        async with trio.open_nursery() as nursery:
            nursery.start_soon(served.create_topic, "slow")
            await trio.sleep(1)
            await served.broker.plugins.reload("audit")
            with trio.fail_after(2):
                await generation.ended.wait()
            nursery.cancel_scope.cancel()

    assert "ValueError" not in caplog.text
    assert "ValueError" not in generation.lifecycle.error


async def test_concurrent_reloads_of_the_plugin_leave_every_api_served(
    autojump_clock: MockClock,
) -> None:
    async def reload_again_and_again(served: ServedBroker) -> None:
        async with served.connect() as client:
            while True:
                await client.ask(ReloadPluginRequest("audit"), 0)

    async with audited(queue="10000") as served:
        limiter = served.broker.planes[0]._resources.handlers.limiter
        with trio.move_on_after(10):
            async with trio.open_nursery() as nursery:
                for _ in range(12):  # more than there are handlers
                    nursery.start_soon(reload_again_and_again, served)
        await trio.sleep(1)

        assert limiter.borrowed_tokens == 0
        with trio.fail_after(5):
            await served.create_topic("afterwards")


async def test_a_change_refused_to_a_remote_peer_is_audited_with_the_peer_address(
    autojump_clock: MockClock,
) -> None:
    async with audited() as served:
        ask = served.broker.parts.in_process.ask
        answer = await ask(ReloadPluginRequest("audit"), peer=Endpoint("10.0.0.9", 5))
        (event,) = await events(served)

    assert answer.error_code == ErrorCode.CLUSTER_AUTHORIZATION_FAILED
    assert event["address"] == "10.0.0.9"
    assert event["error"] == "CLUSTER_AUTHORIZATION_FAILED"
    assert event["subjects"] == [{"type": "plugin", "name": "audit"}]
