"""Brokers that are silent too long, and those that cannot be."""

import pytest
import trio

from tests.controller.kit import new_broker, running_controller
from tests.raft.kit import NODE_1, format_root
from trio_kafka.controller.brokers import Heartbeat
from trio_kafka.controller.topics import NewTopic
from trio_kafka.errors import ErrorCode, KafkaError
from trio_kafka.model import NodeId


async def test_a_broker_without_heartbeats_for_its_session_is_fenced_and_loses_leadership(
    world, autojump_clock
) -> None:
    await format_root(world)
    async with running_controller(world) as running:
        epoch = await running.join(2)
        await running.controller.create_topics([NewTopic(name="t")])
        assert running.image.topics["t"].partitions[0].leader == 2

        await trio.sleep(8.9)
        assert not running.image.brokers[NodeId(2)].fenced
        await trio.sleep(0.5)

        assert running.image.brokers[NodeId(2)].fenced
        assert running.image.topics["t"].partitions[0].leader == -1
        beat = Heartbeat(broker_id=NodeId(2), epoch=epoch, metadata_offset=epoch)
        assert not (await running.controller.heartbeat(beat)).fenced
        assert running.image.topics["t"].partitions[0].leader == 2


async def test_a_heartbeat_that_waits_for_another_decision_prevents_fencing(
    world, autojump_clock
) -> None:
    await format_root(world)
    async with running_controller(world) as running, trio.open_nursery() as nursery:
        epoch = await running.join(2)
        beat = Heartbeat(broker_id=NodeId(2), epoch=epoch, metadata_offset=epoch)
        async with running.controller._writer._lock:  # a decision that takes long
            nursery.start_soon(running.controller.heartbeat, beat)
            await trio.sleep(9.5)

        await trio.sleep(1)
        assert not running.image.brokers[NodeId(2)].fenced
        await trio.sleep(8.5)
        assert running.image.brokers[NodeId(2)].fenced


async def test_the_broker_in_the_process_of_the_controller_is_never_fenced_for_silence(
    world, autojump_clock
) -> None:
    await format_root(world)
    async with running_controller(world) as running:
        await running.join()
        await trio.sleep(1000)

        assert not running.image.brokers[NODE_1].fenced


async def test_a_new_incarnation_of_a_live_broker_is_refused_until_its_session_ends(
    world, autojump_clock
) -> None:
    await format_root(world)
    async with running_controller(world) as running:
        await running.join(2, life=1)

        with pytest.raises(KafkaError) as caught:
            await running.controller.register_broker(new_broker(2, life=2))
        await trio.sleep(9.5)
        epoch = await running.controller.register_broker(new_broker(2, life=2))

    assert caught.value.code is ErrorCode.DUPLICATE_BROKER_REGISTRATION
    assert epoch > 0


async def test_only_the_broker_without_heartbeats_is_fenced(world, autojump_clock) -> None:
    await format_root(world)
    async with running_controller(world) as running:
        epoch = await running.join(2)
        await running.join(3)
        await trio.sleep(5)
        await running.controller.heartbeat(
            Heartbeat(broker_id=NodeId(2), epoch=epoch, metadata_offset=epoch)
        )

        await trio.sleep(4.5)
        assert [broker.fenced for broker in running.image.brokers.values()] == [False, True]
        await trio.sleep(5)
        assert all(broker.fenced for broker in running.image.brokers.values())
