"""Each limit that a running broker holds groups and their members to: below it, at it, above it."""

from typing import Any

import pytest
import trio
from trio.testing import MockClock

from tests.apis.classic import GROUP as CLASSIC
from tests.apis.classic import join
from tests.apis.configs import GROUP, SET, alter
from tests.apis.kit import broker
from trio_kafka.errors import ErrorCode
from trio_kafka.protocol.messages.k08_offset_commit import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
)
from trio_kafka.protocol.messages.k09_offset_fetch import (
    OffsetFetchRequest,
    OffsetFetchRequestGroup,
)
from trio_kafka.protocol.messages.k68_consumer_group_heartbeat import ConsumerGroupHeartbeatRequest
from trio_kafka.testing.broker import ServedBroker

ID_NOT_FIRST = 3  # the last version of JoinGroup in which a member is given its id as it joins


async def commit(served: ServedBroker, metadata: str) -> int:
    part = OffsetCommitRequestPartition(0, 1, -1, metadata)
    request = OffsetCommitRequest("g", topics=[OffsetCommitRequestTopic("t", partitions=[part])])
    answer = await served.ask(request, 9)
    code: int = answer.topics[0].partitions[0].error_code
    return code


@pytest.mark.parametrize("more", [-1, 0, 1])
async def test_offset_metadata_longer_than_offset_metadata_max_bytes_is_refused(
    autojump_clock: MockClock, more: int
) -> None:
    async with broker({"offset.metadata.max.bytes": "10"}) as served:
        await served.create_topic("t")
        await served.serve_groups("g")
        code = await commit(served, "x" * (10 + more))

    assert code == (0 if more <= 0 else ErrorCode.OFFSET_METADATA_TOO_LARGE)


@pytest.mark.parametrize("more", [-1, 0, 1])
@pytest.mark.parametrize("bound", ["min", "max"])
async def test_session_timeout_outside_of_the_group_limits_is_refused(
    autojump_clock: MockClock, bound: str, more: int
) -> None:
    settings = {"group.min.session.timeout.ms": "7000", "group.max.session.timeout.ms": "9000"}
    limit = int(settings[f"group.{bound}.session.timeout.ms"])
    async with broker(settings) as served:
        await served.serve_groups(CLASSIC)
        answer = await join(served, ID_NOT_FIRST, session_timeout_ms=limit + more)

    beyond = more < 0 if bound == "min" else more > 0
    assert answer.error_code == (ErrorCode.INVALID_SESSION_TIMEOUT if beyond else 0)


@pytest.mark.parametrize("more", [-1, 0, 1])
async def test_classic_group_has_at_most_group_max_size_members(
    autojump_clock: MockClock, more: int
) -> None:
    """Members that join at once, each on a connection of its own."""
    codes: list[int] = []
    async with broker({"group.max.size": "3"}) as served:
        await served.serve_groups(CLASSIC)

        async def member() -> None:
            async with served.connect() as client:
                codes.append((await join(client, ID_NOT_FIRST)).error_code)

        async with trio.open_nursery() as nursery:
            for _ in range(3 + more):
                nursery.start_soon(member)

    full = [ErrorCode.GROUP_MAX_SIZE_REACHED] * (more > 0)
    assert sorted(codes) == [0] * (3 + min(more, 0)) + full


@pytest.mark.parametrize("more", [-1, 0, 1])
async def test_consumer_group_has_at_most_group_consumer_max_size_members(
    autojump_clock: MockClock, more: int
) -> None:
    async with broker({"group.consumer.max.size": "3"}) as served:
        await served.create_topic("t")
        await served.serve_groups("g")
        answers = [await served.ask(joining(f"m{n}"), 1) for n in range(3 + more)]

    full = [ErrorCode.GROUP_MAX_SIZE_REACHED] * (more > 0)
    assert [answer.error_code for answer in answers] == [0] * (3 + min(more, 0)) + full


def joining(member: str) -> ConsumerGroupHeartbeatRequest:
    fields: dict[str, Any] = {"subscribed_topic_names": ["t"], "topic_partitions": []}
    return ConsumerGroupHeartbeatRequest("g", member, 0, rebalance_timeout_ms=10_000, **fields)


@pytest.mark.parametrize("more", [-1, 0, 1])
@pytest.mark.parametrize("bound", ["min", "max"])
@pytest.mark.parametrize(
    ("name", "least", "most"),
    [
        ("session.timeout.ms", 45_000, 60_000),
        ("heartbeat.interval.ms", 5000, 15_000),
        ("assignment.interval.ms", 900, 15_000),
    ],
)
async def test_group_config_outside_of_the_broker_limits_is_refused(
    autojump_clock: MockClock, name: str, least: int, most: int, bound: str, more: int
) -> None:
    """The broker's group.consumer.min.… and max.… bound what a group says of itself."""
    settings = {f"group.consumer.min.{name}": str(least), f"group.consumer.max.{name}": str(most)}
    limit = least if bound == "min" else most
    async with broker(settings) as served:
        result = await alter(served, GROUP, "g", (f"consumer.{name}", SET, str(limit + more)))

    beyond = more < 0 if bound == "min" else more > 0
    assert result[0] == (ErrorCode.INVALID_CONFIG if beyond else 0)
    assert (result[1] is None) == (not beyond)


@pytest.mark.parametrize(("after_s", "stays"), [(59, True), (62, False)])
async def test_committed_offsets_expire_after_offsets_retention_minutes(
    autojump_clock: MockClock, after_s: float, stays: bool
) -> None:
    """Looked for each second, so one that is a minute old goes within a second or two."""
    settings = {"offsets.retention.minutes": "1", "offsets.retention.check.interval.ms": "1000"}
    async with broker(settings) as served:
        await served.create_topic("t")
        await served.serve_groups("g")
        assert await commit(served, "") == 0
        await trio.sleep(after_s)
        request = OffsetFetchRequest(groups=[OffsetFetchRequestGroup("g", topics=None)])
        (group,) = (await served.ask(request, 9)).groups

    assert bool(group.topics) == stays
