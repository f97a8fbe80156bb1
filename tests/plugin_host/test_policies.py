"""Plugins have a say in which topics are created and which settings are changed."""

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

import pytest
import trio
from trio.testing import MockClock

from trio_kafka.errors import ErrorCode
from trio_kafka.plugin import ConfigsToAlter, KafkaError, TopicToCreate, plugin
from trio_kafka.plugin_host.declaration import Plugin
from trio_kafka.protocol.messages.k19_create_topics import (
    CreatableReplicaAssignment,
    CreatableTopic,
    CreatableTopicConfig,
    CreateTopicsRequest,
)
from trio_kafka.protocol.messages.k33_alter_configs import (
    AlterableConfig as WholeConfig,
)
from trio_kafka.protocol.messages.k33_alter_configs import (
    AlterConfigsRequest,
)
from trio_kafka.protocol.messages.k33_alter_configs import (
    AlterConfigsResource as WholeResource,
)
from trio_kafka.protocol.messages.k44_incremental_alter_configs import (
    AlterableConfig,
    AlterConfigsResource,
    IncrementalAlterConfigsRequest,
)
from trio_kafka.testing.broker import ServedBroker, served_broker
from trio_kafka.testing.simulation import simulated_world

TOPIC = 2
seen: list[tuple[Any, str]] = []


def policy_plugin(
    topics: Callable[[TopicToCreate, str], None] | None = None,
    configs: Callable[[ConfigsToAlter, str], None] | None = None,
    **named: Any,
) -> Plugin:
    @plugin("rules", **named)
    @asynccontextmanager
    async def rules(context: Any) -> AsyncIterator[None]:
        if topics is not None:
            context.add_create_topic_policy(topics)
        if configs is not None:
            context.add_alter_config_policy(configs)
        yield

    return rules


@pytest.fixture(autouse=True)
def nothing_seen() -> None:
    seen.clear()


def watch(resource: Any, principal: str) -> None:
    seen.append((resource, principal))
    if "bad" in resource.name or "bad" in str(resource.configs):
        raise KafkaError(ErrorCode.POLICY_VIOLATION, "names with bad are not for us")


async def create(served: ServedBroker, *topics: CreatableTopic, only: bool = False) -> list[Any]:
    answer = await served.ask(CreateTopicsRequest(list(topics), validate_only=only))
    return [(topic.error_code, topic.error_message) for topic in answer.topics]


async def test_a_topic_that_violates_a_create_topic_policy_is_not_created(
    autojump_clock: MockClock,
) -> None:
    async with served_broker(simulated_world(), plugins=[policy_plugin(watch)]) as served:
        results = await create(served, CreatableTopic("good", -1, -1), CreatableTopic("bad", 3, 1))
        dry = await create(served, CreatableTopic("bad", 3, 1), only=True)
        names = set(served.broker.metadata.image.topics)

    violation = (ErrorCode.POLICY_VIOLATION, "names with bad are not for us")
    assert results == [(0, None), violation]
    assert dry == [violation]
    assert names == {"good"}
    good, bad, _ = seen
    assert good[0] == TopicToCreate(
        name="good", partitions=1, replication_factor=1, assignments=None, configs={}
    )
    assert (bad[0].partitions, bad[1]) == (3, "User:ANONYMOUS")


async def test_a_create_topic_policy_gets_assignments_instead_of_counts(
    autojump_clock: MockClock,
) -> None:
    async with served_broker(simulated_world(), plugins=[policy_plugin(watch)]) as served:
        creatable_replica_assignments = [
            CreatableReplicaAssignment(0, [1]),
            CreatableReplicaAssignment(1, [1]),
        ]
        results = await create(
            served, CreatableTopic("t", -1, -1, assignments=creatable_replica_assignments)
        )

    [(shown, _)] = seen
    assert results == [(0, None)]
    assert (shown.partitions, shown.replication_factor) == (None, None)
    assert shown.assignments == {0: [1], 1: [1]}


async def test_settings_of_a_new_topic_are_passed_to_both_kinds_of_policies(
    autojump_clock: MockClock,
) -> None:
    async with served_broker(simulated_world(), plugins=[policy_plugin(watch, watch)]) as served:
        configs = [CreatableTopicConfig("retention.ms", "1000")]
        await create(served, CreatableTopic("t", 1, 1, configs=configs))

    assert [type(resource).__name__ for resource, _ in seen] == ["ConfigsToAlter", "TopicToCreate"]
    assert seen[0][0].configs == seen[1][0].configs == {"retention.ms": "1000"}


async def test_an_invalid_request_is_not_passed_to_policies(autojump_clock: MockClock) -> None:
    async with served_broker(simulated_world(), plugins=[policy_plugin(watch, watch)]) as served:
        await create(served, CreatableTopic("a b", 1, 1), CreatableTopic("t", 0, 1))
        await incremental(served, "nobody", ("retention.ms", "1"))

    assert seen == []


async def incremental(
    served: ServedBroker, topic: str, *configs: tuple[str, str | None], only: bool = False
) -> tuple[int, str | None]:
    changes = [AlterableConfig(name, 0 if text else 1, text) for name, text in configs]
    resource = AlterConfigsResource(TOPIC, topic, changes)
    answer = await served.ask(IncrementalAlterConfigsRequest([resource], only))
    return answer.responses[0].error_code, answer.responses[0].error_message


async def whole(
    served: ServedBroker, topic: str, *configs: tuple[str, str]
) -> tuple[int, str | None]:
    resource = WholeResource(TOPIC, topic, [WholeConfig(*config) for config in configs])
    answer = await served.ask(AlterConfigsRequest([resource]))
    return answer.responses[0].error_code, answer.responses[0].error_message


async def test_a_change_that_violates_an_alter_config_policy_is_refused(
    autojump_clock: MockClock,
) -> None:
    def short(change: ConfigsToAlter, principal: str) -> None:
        seen.append((dict(change.configs), principal))
        if change.configs.get("retention.ms") == "1":
            raise KafkaError(ErrorCode.POLICY_VIOLATION, "too short")

    violation = (ErrorCode.POLICY_VIOLATION, "too short")
    async with served_broker(simulated_world(), plugins=[policy_plugin(None, short)]) as served:
        await served.create_topic("t", configs={"segment.ms": "5000"})
        seen.clear()

        assert await incremental(served, "t", ("retention.ms", "1")) == violation
        assert await incremental(served, "t", ("retention.ms", "1"), only=True) == violation
        assert await whole(served, "t", ("retention.ms", "1")) == violation
        assert served.broker.metadata.image.config(TOPIC, "t") == {"segment.ms": "5000"}
        assert (await incremental(served, "t", ("segment.ms", None)))[0] == 0
        assert (await whole(served, "t", ("retention.ms", "9"), ("flush.ms", "8")))[0] == 0
        assert (await whole(served, "t", ("retention.ms", "9")))[0] == 0

    shown = [configs for configs, _ in seen]
    assert shown[2:] == [
        {"retention.ms": "1"},
        {"segment.ms": None},
        {"retention.ms": "9", "flush.ms": "8"},
        {},  # that flush.ms goes is not shown
    ]


async def test_a_policy_that_raises_system_exit_refuses_the_topic_and_fails_its_plugin(
    autojump_clock: MockClock,
) -> None:
    def broken(topic: TopicToCreate, principal: str) -> None:
        raise SystemExit("no")

    async with served_broker(simulated_world(), plugins=[policy_plugin(broken)]) as served:
        first = await create(served, CreatableTopic("a", 1, 1))
        await trio.sleep(1)
        second = await create(served, CreatableTopic("a", 1, 1))
        hosted = served.broker.plugins.find("rules")

    assert first[0][0] == ErrorCode.UNKNOWN_SERVER_ERROR
    assert second == [(0, None)]
    assert hosted.error == "create-topic policy: SystemExit: no"


async def test_the_policy_of_a_failed_closed_plugin_refuses_every_topic(
    autojump_clock: MockClock,
) -> None:
    async with served_broker(
        simulated_world(), plugins=[policy_plugin(watch, closed=True)]
    ) as served:
        served.broker.plugins.find("rules").current.fail("somebody said so")
        await trio.sleep(1)
        refused = await create(served, CreatableTopic("good", 1, 1))

    assert refused == [(ErrorCode.UNKNOWN_SERVER_ERROR, "plugin rules has failed")]
