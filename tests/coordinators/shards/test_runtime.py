"""The shards of a broker: they come and go with their partitions, and are loaded beside others."""

import pytest
import trio
from attrs import evolve
from trio.testing import MockClock

from tests.apis.kit import broker, delete_topic
from tests.apis.test_k08_offset_commit import commits, part, stored
from tests.apis.test_k09_offset_fetch import commit
from trio_kafka.coordinators.groups.groups import Groups
from trio_kafka.coordinators.groups.offset_values import (
    Commit,
    FetchOffsets,
    PartitionOffset,
    TopicOffsets,
)
from trio_kafka.coordinators.shards.effects import Effects
from trio_kafka.coordinators.shards.protocols import ShardState
from trio_kafka.errors import ErrorCode, InvariantError, KafkaError
from trio_kafka.metadata.delta import MetadataDelta
from trio_kafka.model import NodeId
from trio_kafka.protocol.messages.k08_offset_commit import OffsetCommitRequest
from trio_kafka.purgatory import Delayed
from trio_kafka.scheduling.chunked_work import Steps
from trio_kafka.scheduling.lasting_objects import LASTING_GROWTH
from trio_kafka.testing.broker import ServedBroker, served_broker
from trio_kafka.testing.simulation import fault_on, simulated_world

TOPIC = "__consumer_offsets"


async def serve(served: ServedBroker) -> None:
    await served.create_topic("t")
    await served.serve_groups("g")


def follow(served: ServedBroker, group: str, *, behind: bool) -> None:
    """Let the partition of a group have a follower that is in sync and has nothing yet, or none."""
    groups = served.broker.groups
    partition = served.broker.replicas.partition(TOPIC, groups.topic.partition_of(group))
    partition.isr = (NodeId(1), NodeId(7)) if behind else (NodeId(1),)
    partition.advance()
    partition.changed(partition)


def lead(served: ServedBroker, number: int, *, by: int) -> None:
    """Let a broker lead a partition of the offsets topic, in an epoch of its own."""
    image = served.broker.metadata.image
    delta = MetadataDelta(image)
    topic = delta.topic(image.topics[TOPIC].id)
    assert topic is not None
    state = evolve(topic.partitions[number], leader=NodeId(by), leader_epoch=9)
    delta.set_partition(topic, number, state)
    image = delta.apply(image.offset, image.epoch, 0)
    served.broker.replicas.partition(TOPIC, number).update(state)
    for _ in served.broker.groups.publish(delta, image):
        pass


async def settle() -> None:
    """Let what was begun come to its end."""
    await trio.sleep(1.0)


async def test_every_partition_led_by_this_broker_has_an_active_shard(
    autojump_clock: MockClock,
) -> None:
    async with broker({"offsets.topic.num.partitions": "7"}) as served:
        runtime = served.broker.groups.runtime
        assert runtime.count is None
        await serve(served)
        await settle()

        assert sorted(runtime.shards) == list(range(7))
        assert {shard.state for shard in runtime.shards.values()} == {ShardState.ACTIVE}
        assert runtime.count == 7


async def test_load_of_a_shard_is_announced_to_the_garbage_collector(
    autojump_clock: MockClock,
) -> None:
    before = LASTING_GROWTH.ended
    async with broker({"offsets.topic.num.partitions": "3"}) as served:
        await serve(served)
        await settle()

    assert (LASTING_GROWTH.under_way, LASTING_GROWTH.ended - before) == (0, 3)


async def test_committed_offsets_survive_a_restart(autojump_clock: MockClock) -> None:
    world = simulated_world()
    async with served_broker(world) as served:
        await serve(served)
        await commit(served, "g", "t", 0, 7)
    async with served_broker(world, {"offsets.topic.num.partitions": "3"}) as served:
        await served.serve_groups("g")

        assert stored(served, "g", "t", 0) == 7
        assert served.broker.groups.runtime.count == 50  # as many as the topic has


async def test_shard_is_unloaded_when_another_broker_leads_its_partition(
    autojump_clock: MockClock,
) -> None:
    async with broker() as served:
        await serve(served)
        groups = served.broker.groups
        shard, others = groups.coordinator.shard_of("g"), len(groups.runtime.shards) - 1
        lead(served, groups.topic.partition_of("g"), by=7)

        assert shard.state is ShardState.UNLOADED
        with pytest.raises(KafkaError, match="NOT_COORDINATOR"):
            groups.coordinator.shard_of("g")
        assert len(groups.runtime.shards) == others
        assert groups.topic.leader_of("g") == 7


async def test_new_metadata_image_waits_for_a_stepwise_event_to_finish(
    autojump_clock: MockClock,
) -> None:
    seen = []

    def slowly(machine: Groups, _ticket: object, _now_ms: int) -> Steps[Effects]:
        seen.append(machine.image)
        yield
        seen.append(machine.image)
        return Effects()

    async with broker() as served:
        await serve(served)
        shard = served.broker.groups.coordinator.shard_of("g")
        assert not shard.machine.by_id
        old = shard.machine.image
        shard.ask(slowly)
        lead(served, served.broker.groups.topic.partition_of("g") - 1, by=7)
        await settle()

        assert seen == [old, old]
        assert shard.machine.image is served.broker.groups.runtime.image is not old


async def test_new_leader_epoch_replaces_the_shard_and_keeps_its_groups(
    autojump_clock: MockClock,
) -> None:
    async with broker() as served:
        await serve(served)
        await commit(served, "g", "t", 0, 7)
        shard = served.broker.groups.coordinator.shard_of("g")
        lead(served, served.broker.groups.topic.partition_of("g"), by=1)
        assert shard.state is ShardState.UNLOADED
        await served.serve_groups("g")

        assert served.broker.groups.coordinator.shard_of("g") is not shard
        assert stored(served, "g", "t", 0) == 7
        await commit(served, "g", "t", 0, 8)


async def test_unloaded_shard_is_freed_in_steps_while_its_successor_loads(
    autojump_clock: MockClock,
) -> None:
    async with broker({"offsets.topic.num.partitions": "1"}) as served:
        await serve(served)
        for number in range(1000):
            await commit(served, f"g{number}", "t", 0, number)
        runtime = served.broker.groups.runtime
        machine = served.broker.groups.coordinator.shard_of("g").machine
        offsets = machine.offsets.by_group
        lead(served, 0, by=1)
        assert runtime.figures()["leaving"] == 2  # timers and those who wait; the groups
        assert len(machine.by_id) == len(offsets) == 1000
        await served.serve_groups("g")
        await settle()

        assert runtime.figures()["leaving"] == 0
        assert machine.by_id == offsets == {}
        assert stored(served, "g999", "t", 0) == 999


async def test_shard_that_loses_leadership_while_loading_does_not_become_active(
    autojump_clock: MockClock,
) -> None:
    world = simulated_world()
    async with served_broker(world) as served:
        await serve(served)
        await commit(served, "g", "t", 0, 7)
    world.universe.nowait = False  # what the life before wrote is read in threads
    async with served_broker(world) as served:
        groups = served.broker.groups
        shard = groups.coordinator.shard_of("g")
        assert shard.state is ShardState.LOADING
        lead(served, groups.topic.partition_of("g"), by=7)
        await settle()

        assert shard.state is ShardState.UNLOADED
        assert shard.figures()["timers"] == 0


async def test_loaded_offsets_are_returned_only_after_their_commit(
    autojump_clock: MockClock,
) -> None:
    async with broker() as served:
        await serve(served)
        groups = served.broker.groups
        follow(served, "g", behind=True)
        topic = TopicOffsets("t", bytes(16), [PartitionOffset(0, 7, -1, "")])
        commit_one = Commit(group_id="g", topics=[topic])
        assert isinstance(groups.offsets.commit(commit_one), Delayed)
        groups.coordinator.shard_of("g").fail()
        await trio.sleep(0.1)

        assert groups.coordinator.shard_of("g").state is ShardState.ACTIVE
        assert groups.coordinator.shard_of("g").machine.image is groups.runtime.image
        assert stored(served, "g", "t", 0) == 7
        fetch_offsets = [FetchOffsets(group_id="g", topics=None)]
        assert isinstance(groups.offsets.fetch(fetch_offsets), Delayed)
        follow(served, "g", behind=False)
        await trio.sleep(0.1)
        ((topic,),) = groups.offsets.fetch(fetch_offsets)
        assert topic.partitions[0].offset == 7


async def test_deleting_the_offsets_topic_removes_all_shards(autojump_clock: MockClock) -> None:
    async with broker() as served:
        await serve(served)
        await commit(served, "g", "t", 0, 7)
        await delete_topic(served, TOPIC)
        await settle()
        assert served.broker.groups.runtime.shards == {}

        await served.serve_groups("g")  # a new one, in which nobody has committed
        assert stored(served, "g", "t", 0) is None


async def test_exception_in_an_event_reloads_its_shard(
    autojump_clock: MockClock, caplog: pytest.LogCaptureFixture
) -> None:
    async with broker() as served:
        await serve(served)
        await commit(served, "g", "t", 0, 7)
        shard = served.broker.groups.coordinator.shard_of("g")

        def fail(machine: Groups, _now_ms: int) -> Effects:
            machine.offsets.by_group.clear()  # what it knows is wrong now
            raise ValueError("a bug")

        shard.apply(fail)
        assert shard.state is ShardState.UNLOADED
        await served.serve_groups("g")

        assert served.broker.groups.coordinator.shard_of("g") is not shard
        assert stored(served, "g", "t", 0) == 7
    assert "event failed" in caplog.text


async def test_repeated_failures_of_a_shard_delay_its_reload_exponentially(
    autojump_clock: MockClock,
) -> None:
    async with broker() as served:
        await serve(served)
        await commit(served, "g", "t", 0, 7)
        groups = served.broker.groups
        waits = []
        for _ in range(8):
            groups.coordinator.shard_of("g").fail()
            failed = trio.current_time()
            refused = groups.offsets.commit(Commit(group_id="g", topics=[]))
            assert isinstance(refused, KafkaError)
            assert refused.code is ErrorCode.COORDINATOR_LOAD_IN_PROGRESS
            while groups.coordinator.shard_of("g").state is not ShardState.ACTIVE:
                await trio.sleep(0.01)
            waits.append(trio.current_time() - failed)

        assert waits == pytest.approx([0, 0.1, 0.2, 0.4, 0.8, 1.6, 3.2, 6.4], abs=0.06)
        assert stored(served, "g", "t", 0) == 7
        await trio.sleep(130)
        groups.coordinator.shard_of("g").fail()
        await trio.sleep(0.05)
        assert groups.coordinator.shard_of("g").state is ShardState.ACTIVE


async def test_new_leader_epoch_ends_the_reload_delay_of_a_shard(
    autojump_clock: MockClock,
) -> None:
    async with broker() as served:
        await serve(served)
        groups = served.broker.groups
        number = groups.topic.partition_of("g")
        for _ in range(6):
            await served.serve_groups("g")
            groups.coordinator.shard_of("g").fail()
        held = groups.coordinator.shard_of("g")
        assert groups.runtime.figures()["held"] == 1
        timers = groups.runtime._dependencies.timers
        due = timers.waiting

        lead(served, number, by=1)
        assert timers.waiting == due - 1
        await trio.sleep(0.05)

        assert groups.coordinator.shard_of("g").state is ShardState.ACTIVE
        assert (held.state, groups.runtime.figures()["held"]) == (ShardState.UNLOADED, 0)
        await trio.sleep(100)
        assert groups.runtime.figures()["to_load"] == 0


async def test_invariant_error_in_an_event_propagates(autojump_clock: MockClock) -> None:
    async with broker() as served:
        await serve(served)

        def fail(_machine: Groups, _now_ms: int) -> Effects:
            raise InvariantError("what can never be")

        with pytest.raises(InvariantError):
            served.broker.groups.coordinator.shard_of("g").apply(fail)


async def test_stepwise_event_finishes_before_a_later_commit(autojump_clock: MockClock) -> None:
    async with broker() as served:
        await serve(served)
        shard = served.broker.groups.coordinator.shard_of("g")
        seen = []

        def slowly(_machine: Groups, _now_ms: int) -> Steps[Effects]:
            for number in range(3):
                seen.append(number)
                yield
            return Effects()

        shard.apply(slowly)
        await commit(served, "g", "t", 0, 7)  # has waited for its turn

        assert seen == [0, 1, 2]
        assert stored(served, "g", "t", 0) == 7


async def test_failed_disk_affects_only_groups_on_that_disk(autojump_clock: MockClock) -> None:
    world = simulated_world()
    settings = {"log.dirs": "/a,/b", "metadata.log.dir": "/a"}
    async with served_broker(world, settings) as served:
        await serve(served)
        names = [f"g{number}" for number in range(20)]
        await served.serve_groups(*names)
        replicas, groups = served.broker.replicas, served.broker.groups
        lost = {
            name
            for name in names
            if replicas.partition(TOPIC, groups.topic.partition_of(name)).at
            in served.broker.logs.directories[1].logs
        }
        assert 0 < len(lost) < 20
        world.universe.fault = fault_on("append", OSError(5, "I/O error"), "/b/__consumer")

        for name in names:
            topics = [commits(part(0, 9))]
            answer = await served.ask(OffsetCommitRequest(name, topics=topics), 9)
            code = answer.topics[0].partitions[0].error_code
            assert code == (ErrorCode.NOT_COORDINATOR if name in lost else 0)


async def test_waiting_requests_get_not_coordinator_when_the_broker_stops(
    autojump_clock: MockClock,
) -> None:
    async with broker() as served:
        await serve(served)
        groups = served.broker.groups
        shard = groups.coordinator.shard_of("g")
        ticket = shard.ask(lambda _machine, _ticket, _now_ms: Effects())  # waits for ever
        groups.stop()

        assert ticket.answer.code is ErrorCode.NOT_COORDINATOR
        assert groups.runtime.shards == {}


async def test_inspection_tree_shows_shards_and_their_groups(autojump_clock: MockClock) -> None:
    async with broker() as served:
        await serve(served)
        await commit(served, "g", "t", 0, 7)
        nodes = {node.path: node.figures() for _, node in served.broker.node.walk()}
        number = served.broker.groups.topic.partition_of("g")

    assert nodes[f"broker-1/group-coordinator/{TOPIC}-{number}/g"]["state"] == "Empty"
    assert nodes[f"broker-1/group-coordinator/{TOPIC}-{number}"]["state"] == "active"
    due = nodes[f"broker-1/group-coordinator/{TOPIC}-{number}/timers"]
    assert list(due) == ["expire-group-metadata"]
    whole = nodes["broker-1/group-coordinator"]
    assert (whole["groups"], whole["offsets"], whole["shards"]) == (1, 1, 50)
