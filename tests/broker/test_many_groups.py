"""A broker with ten thousand groups in which nobody is: they are listed, loaded, and expire."""

import pytest
import trio
from trio.testing import MockClock

from tests.apis.classic import GROUP, stable_group
from tests.apis.test_k09_offset_fetch import asking, commit, offsets_of
from trio_kafka.coordinators.groups.offset_values import (
    Commit,
    PartitionOffset,
    TopicOffsets,
)
from trio_kafka.errors import ErrorCode
from trio_kafka.protocol.messages.k12_heartbeat import HeartbeatRequest
from trio_kafka.protocol.messages.k16_list_groups import ListGroupsRequest
from trio_kafka.protocol.messages.k42_delete_groups import DeleteGroupsRequest
from trio_kafka.testing.broker import ServedBroker, served_broker
from trio_kafka.testing.simulation import simulated_world

pytestmark = pytest.mark.slow

MANY = 10_000
NAMES = [f"empty-{number}" for number in range(MANY)]
SETTINGS = {
    "offsets.retention.minutes": "2",
    "offsets.retention.check.interval.ms": "20000",
}


async def listed(served: ServedBroker) -> set[str]:
    answer = await served.ask(ListGroupsRequest())
    assert answer.error_code == 0
    return {group.group_id for group in answer.groups}


async def make(served: ServedBroker, topic_id: bytes) -> None:
    """Somebody who is no member commits under each of the names."""
    topics = [TopicOffsets("t", topic_id, [PartitionOffset(0, 7, -1, "")])]
    for name in NAMES:
        request = Commit(group_id=name, topics=topics)
        assert served.broker.groups.offsets.commit(request) == [0]


async def test_ten_thousand_empty_groups_do_not_delay_other_groups(
    autojump_clock: MockClock,
) -> None:
    world = simulated_world()
    async with served_broker(world, SETTINGS) as served:
        topic_id = await served.create_topic("t")
        group = await stable_group(served, session_timeout_ms=600_000)
        await make(served, topic_id)

        assert await listed(served) == {GROUP, *NAMES}
        beat = HeartbeatRequest(GROUP, group.generation, group.members[0])
        assert (await served.ask(beat)).error_code == 0
        deleted = await served.ask(DeleteGroupsRequest(NAMES[:100]))
        assert {result.error_code for result in deleted.results} == {0}

    async with served_broker(world, SETTINGS) as served:
        await served.serve_groups(GROUP, *NAMES[:300])

        assert await listed(served) == {GROUP, *NAMES[100:]}
        offsets = offsets_of(await served.ask(asking(9, 0, group=NAMES[200]), 9))
        assert list(offsets.values()) == [(7, "", 0)]
        assert (await served.ask(beat)).error_code == 0

        await trio.sleep(60)
        await commit(served, NAMES[-1], "t", 0, 8)
        await trio.sleep(90)
        assert await listed(served) == {GROUP, NAMES[-1]}
        assert (await served.ask(beat)).error_code == 0

    async with served_broker(world, SETTINGS) as served:
        await served.serve_groups(GROUP, *NAMES[:300])

        assert await listed(served) == {GROUP, NAMES[-1]}
        beat = HeartbeatRequest(GROUP, group.generation, "somebody else")
        assert (await served.ask(beat)).error_code == ErrorCode.UNKNOWN_MEMBER_ID
