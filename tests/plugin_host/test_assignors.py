"""Assignors of plugins: what they raise is the plugin's failure, what they say is the group's."""

from collections.abc import AsyncIterator, Generator
from contextlib import asynccontextmanager
from typing import Any

import pytest
import trio
from trio.testing import MockClock

from trio_kafka.errors import ErrorCode
from trio_kafka.plugin import AssignorError, GroupAssignment, GroupSpec, PluginContext, plugin
from trio_kafka.plugin_host.declaration import Plugin
from trio_kafka.plugin_host.guard import GuardedAssignor
from trio_kafka.plugin_host.lifecycle import State
from trio_kafka.protocol.messages.k68_consumer_group_heartbeat import (
    ConsumerGroupHeartbeatRequest,
)
from trio_kafka.scheduling.chunked_work import whole
from trio_kafka.testing.broker import ServedBroker, served_broker
from trio_kafka.testing.simulation import simulated_world

GROUP = "g"
SETTINGS = {"group.consumer.assignors": "mine,uniform"}


class Mine:
    """All to the one member; or `error`."""

    name = "mine"

    def __init__(self, error: BaseException | None = None) -> None:
        self.error = error

    def assign(self, group: GroupSpec) -> GroupAssignment:
        if self.error is not None:
            raise self.error
        [(member_id, member)] = group.members.items()
        return {member_id: {topic: {count - 1} for topic, count in member.topics.items()}}


class Slow(Mine):
    """The same, in steps."""

    def assign(self, group: GroupSpec) -> Generator[None, None, Any]:  # type: ignore[override]
        yield
        return super().assign(group)


def bringing(assignor: Any) -> Plugin:
    @plugin("mine")
    @asynccontextmanager
    async def brings(context: PluginContext[None]) -> AsyncIterator[None]:
        context.add_group_assignor(assignor)
        yield

    return brings


async def join(served: ServedBroker, assignor: str | None = "mine") -> Any:
    """A member that is alone, and reads the one topic."""
    await served.create_topic("a", 3)
    await served.serve_groups(GROUP)
    return await served.ask(
        ConsumerGroupHeartbeatRequest(
            group_id=GROUP,
            member_id="m",
            member_epoch=0,
            rebalance_timeout_ms=10_000,
            subscribed_topic_names=["a"],
            topic_partitions=[],
            server_assignor=assignor,
        ),
        1,
    )


@pytest.mark.parametrize("assignor", [Mine(), Slow()], ids=["at once", "in steps"])
@pytest.mark.parametrize("name", ["mine", None])
async def test_the_assignor_of_a_plugin_assigns_partitions_at_once_or_in_steps(
    autojump_clock: MockClock, assignor: Mine, name: str | None
) -> None:
    world = simulated_world()
    async with served_broker(world, SETTINGS, plugins=[bringing(assignor)]) as served:
        answer = await join(served, name)

        assert answer.error_code == 0
        assert [partition.partitions for partition in answer.assignment.topic_partitions] == [[2]]
        assert served.broker.plugins.find("mine").current.in_flight.count == 0


@pytest.mark.parametrize("kind", [Mine, Slow])
async def test_an_error_of_an_assignor_counts_as_a_failure_of_its_plugin(
    autojump_clock: MockClock, kind: type[Mine]
) -> None:
    plugins = [bringing(kind(ValueError("odd")))]
    async with served_broker(simulated_world(), SETTINGS, plugins=plugins) as served:
        answer = await join(served)
        current = served.broker.plugins.find("mine").current

        assert answer.error_code == ErrorCode.UNKNOWN_SERVER_ERROR
        assert answer.error_message.endswith("ValueError: odd")
        assert (current.failures, current.in_flight.count) == (1, 0)


async def test_an_assignor_error_is_not_a_failure_of_the_plugin(autojump_clock: MockClock) -> None:
    plugins = [bringing(Mine(AssignorError("too few")))]
    async with served_broker(simulated_world(), SETTINGS, plugins=plugins) as served:
        answer = await join(served)

        assert answer.error_code == ErrorCode.UNKNOWN_SERVER_ERROR
        assert answer.error_message.endswith("too few")
        assert served.broker.plugins.find("mine").current.failures == 0


async def test_an_assignor_that_raises_system_exit_fails_its_plugin_and_is_removed(
    autojump_clock: MockClock,
) -> None:
    plugins = [bringing(Mine(SystemExit("enough")))]
    async with served_broker(simulated_world(), SETTINGS, plugins=plugins) as served:
        answer = await join(served)
        await trio.sleep(1)
        again = await join_again(served)

        assert answer.error_code == ErrorCode.UNKNOWN_SERVER_ERROR
        assert served.broker.plugins.find("mine").state is State.FAILED
        assert [partition.partitions for partition in again.assignment.topic_partitions] == [
            [0, 1, 2]
        ]


async def join_again(served: ServedBroker) -> Any:
    """Asks for no assignor."""
    return await served.ask(
        ConsumerGroupHeartbeatRequest(
            group_id=GROUP,
            member_id="m",
            member_epoch=0,
            rebalance_timeout_ms=10_000,
            subscribed_topic_names=["a"],
            topic_partitions=[],
        ),
        1,
    )


async def test_closing_the_steps_of_an_assignor_early_is_not_a_failure(
    autojump_clock: MockClock,
) -> None:
    async with served_broker(simulated_world(), plugins=[bringing(Slow())]) as served:
        current = served.broker.plugins.find("mine").current
        group = GroupSpec(members={}, homogeneous=True)
        steps = GuardedAssignor(Slow(), current).assign(group)

        next(steps)
        assert current.in_flight.count == 1
        steps.close()

        assert (current.failures, current.in_flight.count) == (0, 0)
        with pytest.raises(ValueError, match="unpack"):
            whole(GuardedAssignor(Mine(), current).assign(group))
        assert current.failures == 1


@pytest.mark.parametrize("name", ["", None])
async def test_an_assignor_without_a_name_fails_its_plugin(
    autojump_clock: MockClock, name: Any
) -> None:
    assignor = Mine()
    assignor.name = name
    async with served_broker(simulated_world(), plugins=[bringing(assignor)]) as served:
        assert served.broker.plugins.find("mine").state is State.FAILED
