"""A shard whose topic goes while it is loaded, and one that cannot be loaded for a while."""

from itertools import pairwise
from typing import Any

import pytest
import trio
from trio.testing import MockClock

from tests.apis.kit import broker, delete_topic
from tests.apis.test_k08_offset_commit import stored
from tests.apis.test_k09_offset_fetch import commit
from tests.coordinators.shards.test_runtime import TOPIC, serve, settle
from trio_kafka.coordinators.groups.groups import Groups
from trio_kafka.coordinators.shards.effects import Effects
from trio_kafka.coordinators.shards.protocols import ShardState
from trio_kafka.errors import ErrorCode, KafkaError
from trio_kafka.metadata.delta import MetadataDelta
from trio_kafka.model import TopicId, TopicPartition
from trio_kafka.replication.lifecycle import ReplicaLifecycle
from trio_kafka.scheduling.chunked_work import Steps
from trio_kafka.testing.broker import ServedBroker

FEW = {"offsets.topic.num.partitions": "4", "offsets.topic.replication.factor": "1"}
GROUPS = [f"g{number}" for number in range(12)]


async def commit_all(served: ServedBroker, offset: int) -> None:
    await served.serve_groups(*GROUPS)
    for group in GROUPS:
        await commit(served, group, "t", 0, offset)


@pytest.mark.slow
async def test_offsets_topic_can_be_deleted_at_any_moment_of_a_shard_load(
    autojump_clock: MockClock,
) -> None:
    async with broker(FEW) as served, served.connect() as other:
        await served.create_topic("t")
        beside = ServedBroker(broker=served.broker, client=other)
        runtime = served.broker.groups.runtime
        for passes in range(40):
            await commit_all(served, passes)
            for shard in list(runtime.shards.values()):
                shard.fail()

            async with trio.open_nursery() as nursery:
                nursery.start_soon(delete_topic, beside, TOPIC)
                for _ in range(2 * passes):
                    await trio.lowlevel.checkpoint()
                for shard in list(runtime.shards.values()):
                    shard.fail()
            await settle()

            assert runtime.shards == {}
            assert runtime.figures()["held"] == 0
            assert served.broker.groups.runtime.count is None
        await commit_all(served, 99)
        assert {stored(served, group, "t", 0) for group in GROUPS} == {99}
        await settle()
        assert {shard.state for shard in runtime.shards.values()} == {ShardState.ACTIVE}


async def test_removed_partition_of_a_failed_shard_does_not_crash_the_broker(
    autojump_clock: MockClock,
) -> None:
    async with broker(FEW) as served:
        await served.create_topic("t")
        await commit_all(served, 7)
        replicas, runtime = served.broker.replicas, served.broker.groups.runtime
        for number, shard in list(runtime.shards.items()):
            shard.fail()
            served.broker[ReplicaLifecycle].remove(replicas.partition(TOPIC, number))
        await settle()

        assert runtime.shards == {}
        assert runtime.figures()["held"] == 4
        with pytest.raises(KafkaError, match="NOT_COORDINATOR"):
            served.broker.groups.coordinator.shard_of("g1")


async def test_replica_created_later_than_the_metadata_gets_its_shard(
    autojump_clock: MockClock,
) -> None:
    async with broker(FEW) as served:
        await served.create_topic("t")
        await commit_all(served, 7)
        replicas, runtime = served.broker.replicas, served.broker.groups.runtime
        late = dict(replicas._partitions)
        replicas._partitions.clear()
        for shard in list(runtime.shards.values()):
            shard.fail()
        await settle()
        assert runtime.shards == {}

        replicas._partitions.update(late)
        await trio.sleep(10)
        assert {shard.state for shard in runtime.shards.values()} == {ShardState.ACTIVE}
        assert sorted(runtime.shards) == [0, 1, 2, 3]
        assert {stored(served, group, "t", 0) for group in GROUPS} == {7}


async def test_topic_recreated_in_a_single_metadata_change_gets_new_shards(
    autojump_clock: MockClock,
) -> None:
    """Deleted and made again before the coordinator looks: with the same leader epochs."""
    async with broker(FEW) as served:
        await serve(served)
        runtime, replicas = served.broker.groups.runtime, served.broker.replicas
        image = served.broker.metadata.image
        old, shards = image.topics[TOPIC], dict(runtime.shards)
        new = TopicId(bytes(15) + b"\x07")
        delta = MetadataDelta(image)
        gone = delta.topic(old.id)
        assert gone is not None
        delta.delete_topic(gone)
        delta.create_topic(TOPIC, new)
        new_topic = delta.topic(new)
        assert new_topic is not None
        for number in (0, 1):
            delta.set_partition(new_topic, number, old.partitions[number])
            replicas._partitions[new, number] = replicas.partition(TOPIC, number)
        image = delta.apply(image.offset, image.epoch, 0)
        for _ in runtime.publish(delta, image):
            pass

        assert {shard.state for shard in shards.values()} == {ShardState.UNLOADED}
        assert sorted(runtime.shards) == [0, 1]
        assert runtime.count == 2


async def test_failed_load_is_retried_until_success(
    autojump_clock: MockClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In the same leader epoch; clients are told that another one may be the coordinator."""
    fails, tries, states = True, [], []
    replay = Groups.replay

    def replay_or_fail(machine: Groups, record: Any) -> None:
        if fails:
            tries.append(trio.current_time())
            states.append(groups.coordinator.shard_of("g").state)
            raise ValueError("a bug")
        replay(machine, record)

    async with broker(FEW) as served:
        await serve(served)
        await commit(served, "g", "t", 0, 7)
        groups = served.broker.groups
        monkeypatch.setattr(Groups, "replay", replay_or_fail)
        began = trio.current_time()
        groups.coordinator.shard_of("g").fail()
        await trio.sleep(5)
        refused = groups.coordinator.shard_of("g").ask(lambda *_: Effects()).answer
        assert refused.code is ErrorCode.NOT_COORDINATOR
        assert groups.runtime.figures()["failed"] == 1
        fails = False
        await trio.sleep(7)

        waits = [later - earlier for earlier, later in pairwise(tries)]
        assert tries[0] - began == pytest.approx(0, abs=0.05)
        assert waits == pytest.approx([0.1, 0.2, 0.4, 0.8, 1.6], abs=0.05)
        assert set(states) == {ShardState.LOADING}
        assert stored(served, "g", "t", 0) == 7
        assert groups.runtime.figures()["failed"] == 0
        await commit(served, "g", "t", 0, 8)


async def test_failed_activation_of_a_shard_is_retried_with_growing_delays(
    autojump_clock: MockClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    fails, tries = True, []
    loaded = Groups.loaded

    def loaded_or_fail(machine: Groups, now_ms: int) -> Steps[Effects]:
        if fails:
            tries.append(trio.current_time())
            raise ValueError("a bug")
        return (yield from loaded(machine, now_ms))

    async with broker(FEW) as served:
        await serve(served)
        await commit(served, "g", "t", 0, 7)
        monkeypatch.setattr(Groups, "loaded", loaded_or_fail)
        served.broker.groups.coordinator.shard_of("g").fail()
        await trio.sleep(100)
        assert 10 <= len(tries) <= 13
        fails = False
        await trio.sleep(61)

        assert stored(served, "g", "t", 0) == 7


async def test_load_from_a_failed_disk_affects_only_groups_on_that_disk(
    autojump_clock: MockClock,
) -> None:
    settings = {**FEW, "log.dirs": "/a,/b", "metadata.log.dir": "/a"}
    async with broker(settings) as served:
        await served.create_topic("t")
        await commit_all(served, 7)
        groups, universe = served.broker.groups, served.broker.world.universe
        lost = {
            number
            for number in groups.runtime.shards
            if TopicPartition(TOPIC, number) in served.broker.logs.directories[1].logs
        }
        assert 0 < len(lost) < 4
        universe.fault = lambda machine, call, target: (
            OSError(5, "I/O error") if "read" in call and "/b/__consumer" in target else None
        )
        for shard in list(groups.runtime.shards.values()):
            shard.fail()
        await trio.sleep(30)

        for group in GROUPS:
            if groups.topic.partition_of(group) not in lost:
                assert stored(served, group, "t", 0) == 7
            else:
                refused = groups.coordinator.shard_of(group).ask(lambda *_: Effects()).answer
                assert refused.code is ErrorCode.NOT_COORDINATOR
