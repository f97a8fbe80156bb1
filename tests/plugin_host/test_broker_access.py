"""Settings, quotas, tasks and log for plugins, each with its permission."""

from collections.abc import Awaitable, Callable

import pytest
import trio
from trio.testing import MockClock

from tests.apis.authorizers import RuleAuthorizer
from trio_kafka.config.dynamic import Source
from trio_kafka.config.report.describe import describe_broker
from trio_kafka.errors import ErrorCode, KafkaError
from trio_kafka.introspect.log import get_logger
from trio_kafka.introspect.log_tail import tail_of_log
from trio_kafka.plugin_host.broker_access import (
    find_task_as,
    list_tasks_as,
    read_log_as,
    read_quotas_as,
    read_settings_as,
)
from trio_kafka.quotas.quotas import PRODUCER_BYTE_RATE
from trio_kafka.requests.parts import Parts
from trio_kafka.security.operations import Operation
from trio_kafka.security.principal import NOBODY
from trio_kafka.security.resources import ResourceType
from trio_kafka.testing.broker import served_broker
from trio_kafka.testing.simulation import simulated_world


async def test_settings_are_those_of_describe_configs(autojump_clock: MockClock) -> None:
    async with served_broker(simulated_world(), {"num.io.threads": "3"}) as served:
        parts = served.broker.parts
        rows = await read_settings_as(NOBODY, parts)

        assert rows == describe_broker(parts.settings.usable(parts.metadata.image))
        [threads] = [row for row in rows if row.name == "num.io.threads"]
        assert (threads.value, threads.source) == ("3", Source.STATIC_BROKER)


async def test_usage_of_throttled_clients_comes_first_and_is_bounded(
    autojump_clock: MockClock,
) -> None:
    async with served_broker(simulated_world()) as served:
        quotas = served.broker.parts.quotas.quotas
        quotas.set(("", "slow"), {PRODUCER_BYTE_RATE: 1.0})
        quotas.set(("", "quick"), {PRODUCER_BYTE_RATE: 1e9})
        for client, amount in (("free", 5000.0), ("quick", 100.0), ("slow", 100.0)):
            quotas.produce.charge("", client, amount, quotas.now_ms())

        everything = await read_quotas_as(NOBODY, served.broker.parts, most=10)
        few = await read_quotas_as(NOBODY, served.broker.parts, most=1)

        clients = [usage.client_id for usage in everything.usage if usage.key == PRODUCER_BYTE_RATE]
        assert clients[0] == "slow"
        assert clients.index("quick") < clients.index("free")
        assert (everything.truncated, few.truncated) == (False, True)
        assert (len(few.usage), len(few.limits)) == (1, 1)


async def test_task_that_has_ended_is_not_found(autojump_clock: MockClock) -> None:
    async with served_broker(simulated_world()) as served:
        parts = served.broker.parts
        rows = (await list_tasks_as(NOBODY, parts, most=1000)).rows

        assert find_task_as(NOBODY, parts, rows[-1].path).name == rows[-1].name
        with pytest.raises(KafkaError, match="it has ended") as caught:
            find_task_as(NOBODY, parts, "no/such/task")
        assert caught.value.code is ErrorCode.RESOURCE_NOT_FOUND


async def _settings(parts: Parts) -> None:
    await read_settings_as(NOBODY, parts)


async def _quotas(parts: Parts) -> None:
    await read_quotas_as(NOBODY, parts, most=1)


async def _tasks(parts: Parts) -> None:
    await list_tasks_as(NOBODY, parts, most=1)


async def _task(parts: Parts) -> None:
    await trio.lowlevel.checkpoint()
    path = trio.lowlevel.current_root_task()
    assert path is not None
    find_task_as(NOBODY, parts, path.name)


async def _log(parts: Parts) -> None:
    await trio.lowlevel.checkpoint()
    with tail_of_log(lambda: 0.0) as tail:
        get_logger(__name__).warning("an event")
        assert read_log_as(NOBODY, parts, tail)[-1].text == "an event"


@pytest.mark.parametrize(
    ("reading", "operation"),
    [
        (_settings, Operation.DESCRIBE_CONFIGS),
        (_quotas, Operation.DESCRIBE),
        (_tasks, Operation.DESCRIBE),
        (_task, Operation.DESCRIBE),
        (_log, Operation.DESCRIBE),
    ],
)
async def test_reading_needs_exactly_one_permission_on_the_cluster(
    autojump_clock: MockClock,
    reading: Callable[[Parts], Awaitable[None]],
    operation: Operation,
) -> None:
    async with served_broker(simulated_world()) as served:
        parts = served.broker.parts
        await reading(parts)
        parts.authorizer = RuleAuthorizer(
            lambda needed, resource: resource.type is ResourceType.CLUSTER and needed is operation
        )
        await reading(parts)
        parts.authorizer = RuleAuthorizer(lambda needed, _: needed is not operation)
        with pytest.raises(KafkaError, match=operation.name) as caught:
            await reading(parts)
        assert caught.value.code is ErrorCode.CLUSTER_AUTHORIZATION_FAILED
