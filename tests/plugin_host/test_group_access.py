"""Facts of groups for plugins: of a broker with groups, and what a principal may see of them."""

import pytest
from trio.testing import MockClock

from tests.apis.authorizers import RuleAuthorizer, allow_only, deny_all
from tests.apis.kit import broker, write
from tests.apis.test_k09_offset_fetch import commit
from trio_kafka.errors import ErrorCode, KafkaError
from trio_kafka.plugin_host.group_access import rank_groups_as, read_groups_as
from trio_kafka.protocol.messages.k68_consumer_group_heartbeat import (
    ConsumerGroupHeartbeatRequest,
)
from trio_kafka.requests.parts import Missing
from trio_kafka.security.operations import Operation
from trio_kafka.security.principal import NOBODY, Principal
from trio_kafka.security.resources import ResourceType
from trio_kafka.testing.broker import ServedBroker

ALICE = Principal("User", "alice")


async def three_groups(served: ServedBroker) -> None:
    """Groups a, b and c; b lags most, and c by nothing."""
    await served.create_topic("t")
    await served.create_topic("secret")
    for topic in ("t", "secret"):
        await write(served, topic, b"a", b"b", b"c")
    await served.serve_groups("a", "b", "c")
    await commit(served, "a", "t", 0, 2)
    await commit(served, "b", "t", 0, 0)
    await commit(served, "b", "secret", 0, 1)
    await commit(served, "c", "t", 0, 3)


async def test_groups_are_read_with_the_most_troubled_first(autojump_clock: MockClock) -> None:
    async with broker() as served:
        await three_groups(served)
        parts = served.broker.parts

        groups = await read_groups_as(NOBODY, parts)
        first = await read_groups_as(NOBODY, parts, most=1)
        none = await read_groups_as(NOBODY, parts, most=0)

    assert [(group.group_id, group.lag) for group in groups] == [("b", 5), ("a", 1), ("c", 0)]
    assert first == groups[:1]
    assert none == []


async def test_member_of_a_live_group_is_shown_with_its_session_and_partitions(
    autojump_clock: MockClock,
) -> None:
    async with broker() as served:
        await served.create_topic("t")
        await served.serve_groups("g")
        joins = ConsumerGroupHeartbeatRequest(
            group_id="g",
            member_id="m" * 22,
            member_epoch=0,
            rebalance_timeout_ms=60_000,
            subscribed_topic_names=["t"],
            topic_partitions=[],
        )
        assert (await served.ask(joins, 1)).error_code == 0

        (group,) = await read_groups_as(NOBODY, served.broker.parts, only="g")

    (member,) = group.members
    assert (group.type, group.state) == ("consumer", "Stable")
    assert member.assigned == {"t": (0,)}
    assert member.left_s is not None
    assert 44 < member.left_s <= 45
    assert [client.joins for client in group.membership] == [1]


async def test_one_group_is_read_by_its_id(autojump_clock: MockClock) -> None:
    async with broker() as served:
        await three_groups(served)
        parts = served.broker.parts

        (group,) = await read_groups_as(NOBODY, parts, only="a")

        assert (group.group_id, group.lag) == ("a", 1)
        assert await read_groups_as(NOBODY, parts, only="unknown") == []


async def test_groups_and_topics_that_the_principal_may_not_describe_are_left_out(
    autojump_clock: MockClock,
) -> None:
    async with broker() as served:
        await three_groups(served)
        parts = served.broker.parts
        parts.authorizer = rule = RuleAuthorizer(
            lambda operation, resource: resource.name in ("a", "b", "t")
        )

        groups = await read_groups_as(ALICE, parts)

    assert [(group.group_id, group.lag) for group in groups] == [("b", 3), ("a", 1)]
    assert {lag.topic for group in groups for lag in group.partitions} == {"t"}
    assert rule.decisions == {
        (Operation.DESCRIBE, ResourceType.GROUP),
        (Operation.DESCRIBE, ResourceType.TOPIC),
    }
    assert {(str(principal), host) for principal, host in rule.principals} == {
        ("User:alice", "in-process")
    }


async def test_group_that_the_principal_may_not_describe_is_refused_by_name(
    autojump_clock: MockClock,
) -> None:
    async with broker() as served:
        await three_groups(served)
        parts = served.broker.parts
        parts.authorizer = allow_only("a")

        with pytest.raises(
            KafkaError, match="User:alice has no permission DESCRIBE on group b"
        ) as caught:
            await read_groups_as(ALICE, parts, only="b")

    assert caught.value.code is ErrorCode.GROUP_AUTHORIZATION_FAILED


async def test_principal_without_permissions_ranks_no_group(autojump_clock: MockClock) -> None:
    async with broker() as served:
        await three_groups(served)
        parts = served.broker.parts
        everything = await rank_groups_as(NOBODY, parts)
        parts.authorizer = deny_all()

        assert [group.group_id for group in everything] == ["b", "a", "c"]
        assert await rank_groups_as(ALICE, parts) == []


async def test_broker_without_a_group_coordinator_has_no_groups(
    autojump_clock: MockClock,
) -> None:
    async with broker() as served:
        parts = served.broker.parts
        coordinator, parts.groups = parts.groups, Missing("group coordinator")
        try:
            assert await read_groups_as(NOBODY, parts) == ()
            assert await rank_groups_as(NOBODY, parts) == ()
        finally:
            parts.groups = coordinator
