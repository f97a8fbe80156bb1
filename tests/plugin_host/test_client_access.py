"""Facts of clients for plugins, and what a principal may see of them."""

import pytest
from trio.testing import MockClock

from tests.apis.authorizers import RuleAuthorizer, deny_all
from tests.apis.kit import broker
from tests.trio_kafka_admin.group_kit import heartbeat
from trio_kafka.errors import ErrorCode, KafkaError
from trio_kafka.plugin_host.client_access import read_client_as, read_client_page_as
from trio_kafka.requests.parts import Missing
from trio_kafka.security.principal import NOBODY, Principal
from trio_kafka.security.resources import ResourceType

ALICE = Principal("User", "alice")


async def test_client_has_its_connections_and_groups(autojump_clock: MockClock) -> None:
    async with broker() as served:
        await served.create_topic("t")
        await served.serve_groups("g", "h")
        await heartbeat(served, "g", "m" * 22, "t")
        parts = served.broker.parts

        page = await read_client_page_as(NOBODY, parts, most=9)
        named = await read_client_page_as(NOBODY, parts, of="SCRIPT", most=9)
        other = await read_client_page_as(NOBODY, parts, of="other", most=9)
        details = await read_client_as(NOBODY, parts, "scripted", most=9)
        ((connection, requests),) = details.connections
        by_connection = await read_client_as(NOBODY, parts, connection.id, most=9)

    assert [(client.client_id, client.groups) for client in page.clients] == [("scripted", ("g",))]
    assert (page.total, named.total, other.total) == (1, 1, 0)
    assert page.closed == []
    assert details.groups == by_connection.groups == ["g"]
    assert connection.client_id == "scripted"
    assert requests > 3
    assert [facts.id for facts, _ in by_connection.connections] == [connection.id]


async def test_clients_are_paged(autojump_clock: MockClock) -> None:
    async with broker() as served, served.connect() as other:
        other.client_id = "other"
        await served.create_topic("t")
        parts = served.broker.parts

        first = await read_client_page_as(NOBODY, parts, most=1)
        second = await read_client_page_as(NOBODY, parts, first=1, most=1)

    assert first.total == second.total == 2
    assert first.clients[0].client_id != second.clients[0].client_id


async def test_principal_without_describe_on_the_cluster_reads_no_client(
    autojump_clock: MockClock,
) -> None:
    async with broker() as served:
        parts = served.broker.parts
        parts.authorizer = deny_all()
        with pytest.raises(KafkaError, match="User:alice has no permission DESCRIBE") as caught:
            await read_client_page_as(ALICE, parts, most=9)
        with pytest.raises(KafkaError, match="on cluster kafka-cluster"):
            await read_client_as(ALICE, parts, "scripted", most=9)

    assert caught.value.code is ErrorCode.CLUSTER_AUTHORIZATION_FAILED


async def test_groups_that_the_principal_may_not_describe_are_left_out(
    autojump_clock: MockClock,
) -> None:
    async with broker() as served:
        await served.create_topic("t")
        await served.serve_groups("g")
        await heartbeat(served, "g", "m" * 22, "t")
        parts = served.broker.parts
        parts.authorizer = RuleAuthorizer(
            lambda operation, resource: resource.type is ResourceType.CLUSTER
        )

        page = await read_client_page_as(ALICE, parts, most=9)
        details = await read_client_as(ALICE, parts, "scripted", most=9)

    assert [client.groups for client in page.clients] == [()]
    assert details.groups == []


async def test_clients_of_a_broker_without_groups_are_in_none(autojump_clock: MockClock) -> None:
    async with broker() as served:
        await served.create_topic("t")
        parts = served.broker.parts
        coordinator, parts.groups = parts.groups, Missing("group coordinator")
        try:
            page = await read_client_page_as(NOBODY, parts, most=9)
        finally:
            parts.groups = coordinator

    assert [client.groups for client in page.clients] == [()]
