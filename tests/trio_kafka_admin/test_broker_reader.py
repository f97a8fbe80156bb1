"""Readings of the broker for pages, and the permissions that they need."""

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager

import pytest
from trio.testing import MockClock

from tests.apis.authorizers import RuleAuthorizer, deny_all
from tests.trio_kafka_admin.kit import Ui, admin_ui
from trio_kafka.errors import ErrorCode, KafkaError
from trio_kafka.introspect.log_tail import tail_of_log
from trio_kafka.introspect.snapshots import WORKING
from trio_kafka.plugin import PluginContext, plugin
from trio_kafka.security.authorizer import ALLOW_ALL
from trio_kafka.security.operations import Operation
from trio_kafka.security.principal import NOBODY, Principal
from trio_kafka_admin.broker_reader import BrokerReader
from trio_kafka_admin.settings import AdminSettings
from trio_kafka_admin.tree_snapshots import PAIR_S


@asynccontextmanager
async def reader_and_ui() -> AsyncIterator[tuple[BrokerReader, Ui]]:
    readers: list[BrokerReader] = []

    @plugin("asks", settings=AdminSettings)
    @asynccontextmanager
    async def asks(context: PluginContext[AdminSettings]) -> AsyncIterator[None]:
        """Has an reader of its own."""
        with tail_of_log(context.world.clock.wall) as tail:
            readers.append(BrokerReader(context, log_tail=tail))
            yield

    async with admin_ui(asks) as ui:
        yield readers[0], ui


async def test_readings_of_the_admin_ui_are_in_no_list_of_requests(
    autojump_clock: MockClock,
) -> None:
    async with admin_ui() as ui:
        for page in ("overview", "requests", "plugins"):
            await ui.page(f"/admin/{page}")
        latest = await ui.json("/admin/api/requests?which=latest")
        in_flight = await ui.json("/admin/api/requests")

        assert latest["requests"] == in_flight["requests"] == []


async def test_pages_are_authorized_for_the_requesting_principal(autojump_clock: MockClock) -> None:
    alice = Principal("User", "alice")
    async with admin_ui() as ui:
        parts = ui.served.broker.parts
        parts.authorizer = rule = RuleAuthorizer(
            lambda operation, _: operation is Operation.DESCRIBE
        )
        ui.principal = alice
        for page in ("overview", "tree", "queues", "requests"):
            await ui.json(f"/admin/api/{page}")
        await ui.json("/admin/api/plugins", status=403)
        principals = {principal for principal, _ in rule.principals}
        parts.authorizer = deny_all()
        ui.principal = NOBODY
        for page in ("overview", "tree", "queues", "requests"):
            await ui.page(f"/admin/{page}", status=403)
        parts.authorizer = ALLOW_ALL

    assert principals == {alice}


READINGS: dict[str, Callable[[BrokerReader], Awaitable[object]]] = {
    "settings": lambda reader: reader.settings(),
    "quotas": lambda reader: reader.quotas(most=1),
    "tasks": lambda reader: reader.tasks(most=1),
    "stack": lambda reader: reader.task_stack("<init>"),
    "log": lambda reader: reader.log(),
}


@pytest.mark.parametrize("name", READINGS)
async def test_what_was_read_is_shown_no_more_once_the_permission_is_gone(
    autojump_clock: MockClock, name: str
) -> None:
    async with reader_and_ui() as (reader, ui):
        parts = ui.served.broker.parts
        await READINGS[name](reader)
        assert reader.is_current
        parts.authorizer = deny_all()
        assert not reader.is_current
        with pytest.raises(KafkaError, match="no permission"):
            await READINGS[name](reader)
        parts.authorizer = ALLOW_ALL


async def test_moment_reads_no_kinds_with_thousands_of_nodes(
    autojump_clock: MockClock,
) -> None:
    async with reader_and_ui() as (reader, ui):
        await ui.served.create_topic("orders")
        after = (await reader.moment()).tree

        assert {node.kind for node in after.nodes.values()} <= set(WORKING)
        assert ("broker-1", "plane data", "loop") in after.nodes


async def test_viewers_share_moments_and_their_findings(autojump_clock: MockClock) -> None:
    async with reader_and_ui() as (reader, _):
        before, now = await reader.moments_with_findings()
        assert await reader.moments_with_findings() == (before, now)

        assert now.at - before.at == PAIR_S
        assert await reader.moment() is now
        assert reader.findings.knows(now.at)


async def test_queues_page_reads_only_queues_and_their_ancestors(autojump_clock: MockClock) -> None:
    async with reader_and_ui() as (reader, ui):
        await ui.served.create_topic("orders")
        _, after = await reader.queues.two()

        kinds = {node.kind for node in after.nodes.values()}
        assert kinds >= {"channel", "limiter", "purgatory"}
        assert not kinds & {"job", "connection", "log", "partition"}


async def test_error_response_is_raised_as_kafka_error(autojump_clock: MockClock) -> None:
    async with reader_and_ui() as (reader, _):
        with pytest.raises(KafkaError, match="no node") as error:
            await reader.tree(path="nowhere")

        assert error.value.code is ErrorCode.RESOURCE_NOT_FOUND
