"""A quorum of one: elections, commits, what Kafka wrote, what a power loss leaves."""

import pytest
import trio
import trio.testing

from tests.raft.kit import (
    CONFIG,
    DIRECTORY_ID,
    NODE_1,
    ROOT,
    STATIC,
    append,
    dumped,
    format_root,
    put_sample,
    running_quorum,
)
from trio_kafka.errors import ErrorCode, KafkaError, LogDirError, leaves
from trio_kafka.introspect.tree import Node
from trio_kafka.metadata.source import Committed
from trio_kafka.model import NodeId
from trio_kafka.protocol.json_data import to_data
from trio_kafka.protocol.stored.metadata.configs import ConfigRecord
from trio_kafka.protocol.stored.metadata.producer_ids import ProducerIdsRecord
from trio_kafka.raft.driver import RaftDriver, open_quorum
from trio_kafka.raft.retention import Retention
from trio_kafka.raft.snapshot import SnapshotId
from trio_kafka.raft.store import open_store
from trio_kafka.raft.values import Role
from trio_kafka.raft.voters import UnsupportedQuorumError
from trio_kafka.testing.simulation import run_simulated, run_until_crash
from trio_kafka.world.simulated import SimulatedWorld, Universe
from trio_kafka.world.simulated.faults import CallFault


def setting(value: object, name: str = "retention.ms") -> ConfigRecord:
    return ConfigRecord(resource_type=2, resource_name="t", name=name, value=str(value))


async def test_new_log_begins_with_a_leader_change_and_has_bootstrap_records(
    world, autojump_clock
) -> None:
    await format_root(world)

    async with running_quorum(world) as (driver, _):
        epoch = await driver.elect()
        first = (await driver.read(0))[0]

    assert epoch == 1
    assert first.leader_id == NODE_1
    assert first.next_offset == 1
    assert [record.name for record in driver.bootstrap()][:2] == [
        "metadata.version",
        "eligible.leader.replicas.version",
    ]
    assert driver._core.role is Role.LEADER


async def test_each_start_leads_a_new_epoch(world, autojump_clock) -> None:
    await format_root(world)

    for life in range(1, 4):
        async with running_quorum(world) as (driver, loader):
            assert await driver.elect() == life
            assert loader.image.offset == life
            assert loader.image.leader_id == NODE_1


async def test_wait_for_a_commit_ends_when_the_batch_is_synced(world, autojump_clock) -> None:
    await format_root(world)
    async with running_quorum(world) as (driver, loader):
        end = append(driver, [setting(1), setting(2, "segment.ms")], driver.epoch, 33)
        assert driver.committed_offset < end

        await driver.wait_committed(end)
        await loader.wait_published(end)

    assert driver.store.log.recovery_point >= end
    assert loader.image.configs[2, "t"] == {"retention.ms": "1", "segment.ms": "2"}


async def test_batches_appended_during_a_sync_share_the_next_sync(world, autojump_clock) -> None:
    await format_root(world)
    async with running_quorum(world) as (driver, _):
        before = driver.syncs

        async def commit(number: int) -> None:
            await driver.wait_committed(append(driver, [setting(number)], driver.epoch, 33))

        async with trio.open_nursery() as nursery:
            for number in range(100):
                nursery.start_soon(commit, number)

        assert driver.syncs - before <= 3


async def test_append_in_an_old_epoch_is_refused(world, autojump_clock) -> None:
    await format_root(world)
    async with running_quorum(world) as (driver, _):
        with pytest.raises(KafkaError) as caught:
            append(driver, [setting(1)], driver.epoch - 1, 33)

    assert caught.value.code is ErrorCode.NOT_CONTROLLER


async def test_wait_for_a_commit_fails_when_the_leader_resigns(world, autojump_clock) -> None:
    await format_root(world)
    async with running_quorum(world) as (driver, _):
        end = append(driver, [setting(1)], driver.epoch, 33)
        await driver.resign()

        with pytest.raises(KafkaError) as caught:
            await driver.wait_committed(end)

    assert caught.value.code is ErrorCode.NOT_CONTROLLER


async def test_a_leader_that_resigned_leads_again_in_a_new_epoch(world, autojump_clock) -> None:
    await format_root(world)
    async with running_quorum(world) as (driver, loader):
        await driver.resign()
        began = trio.current_time()

        epoch = await driver.elect()

        assert epoch == 2
        assert 1.0 <= trio.current_time() - began <= 2.0
        end = append(driver, [setting(1)], epoch, 33)
        await driver.wait_committed(end)
        await loader.wait_published(end)
        assert loader.image.leader_id == NODE_1


async def test_a_leader_that_resigns_while_its_election_is_saved_does_not_lead_that_epoch(
    world, autojump_clock
) -> None:
    await format_root(world)
    async with running_quorum(world) as (driver, _):
        await driver.resign()
        while driver._core.role is not Role.LEADER:  # it is elected, and saves that
            await trio.sleep(0.0001)
        assert driver.epoch == -1
        await driver.resign()
        await trio.sleep(0.5)  # the election is saved by now
        assert driver.epoch == -1

        assert await driver.elect() == 3


async def test_record_appended_during_a_roll_in_a_thread_is_written_after_the_roll(
    world, autojump_clock
) -> None:
    await format_root(world)
    async with running_quorum(world, retention=Retention(max_bytes=0)) as (driver, _):
        for number in range(2):
            end = append(driver, [setting(number)], driver.epoch, 33)
            await driver.wait_committed(end)
            await driver.store.write_snapshot(
                SnapshotId(end, driver.epoch), [], level=33, timestamp_ms=1
            )
        log = driver.store.log
        now = log.latency.elapsed()
        log.latency.took_long(now - 1, now)

        async with trio.open_nursery() as nursery:
            nursery.start_soon(driver.store.remove_expired)
            while log.writer.blocked_by is None:
                await trio.sleep(0.00001)
            assert log.writer.blocked_by == "roll"
            await driver.wait_writable()
            end = append(driver, [setting(9)], driver.epoch, 33)
        await driver.wait_committed(end)

    assert log.segments.active.base_offset == end - 1


async def test_idle_leader_never_wakes(world, autojump_clock) -> None:
    await format_root(world)
    async with running_quorum(world) as (driver, _):
        syncs = driver.syncs
        world.universe.trace.clear()

        await trio.sleep(3600)

        assert driver.syncs == syncs
        assert not world.universe.trace


async def test_reader_gets_all_committed_batches_of_the_log(world, autojump_clock) -> None:
    await format_root(world)
    async with running_quorum(world) as (driver, _):
        for number in range(400):
            end = append(driver, [setting(number)], driver.epoch, 33)
        await driver.wait_committed(end)

        result = await read_all(driver)

    values = [record.value for batch in result for record in batch.records]
    assert values == [str(number) for number in range(400)]
    assert [batch.next_offset for batch in result] == list(range(1, 402))


async def read_all(driver: RaftDriver) -> list[Committed]:
    result: list[Committed] = []
    offset = 0
    while offset < driver.committed_offset:
        result += await driver.read(offset)
        offset = result[-1].next_offset
    return result


def kept(driver: RaftDriver) -> object:
    return driver._figures()["kept"]


async def test_records_that_were_read_are_no_longer_kept_in_memory(world, autojump_clock) -> None:
    await format_root(world)
    async with running_quorum(world) as (driver, loader):
        for value in range(300):
            end = append(driver, [setting(value)], driver.epoch, 33)
        assert kept(driver) == 300

        await loader.wait_published(end)
        await trio.testing.wait_all_tasks_blocked()

        assert kept(driver) == 0
        assert loader.image.configs[2, "t"] == {"retention.ms": "299"}


async def test_records_above_the_memory_limit_are_read_from_the_log(world, autojump_clock) -> None:
    await format_root(world)
    async with running_quorum(world) as (driver, loader):
        many = [setting(value, f"name-{value}") for value in range(5000)]
        for _ in range(2):
            end = append(driver, many, driver.epoch, 33)
        assert kept(driver) == 10_000

        await driver.wait_committed(end)
        assert kept(driver) == 0
        await loader.wait_published(end)

    assert len(loader.image.configs[2, "t"]) == 5000


async def test_log_written_by_kafka_is_read_record_by_record(world, autojump_clock) -> None:
    await put_sample(world, "cluster_metadata", without=".checkpoint")
    expected = dumped("cluster_metadata")["00000000000000000000.log"]
    async with running_quorum(world) as (driver, _):
        result: list[Committed] = []
        offset = 0
        while offset < driver.committed_offset:
            result += await driver.read(offset)
            offset = result[-1].next_offset

    records = [
        (batch.next_offset - len(batch.records) + at, record)
        for batch in result
        for at, record in enumerate(batch.records)
    ]
    assert [offset for offset, _ in records] == [record.offset for record in expected]
    for (_, record), dump in zip(records, expected, strict=True):
        name = "".join(part.capitalize() for part in dump.type.split("_"))
        assert type(record).__name__.lower() == name.lower()
        data = to_data(record, names="kafka", version=dump.version)
        assert {key: data[key] for key in dump.data} == dump.data


async def test_image_of_a_log_written_by_kafka_has_its_newest_snapshot_and_later_records(
    world,
    autojump_clock,
) -> None:
    await put_sample(world, "cluster_metadata")
    snapshot = dumped("cluster_metadata")["00000000000000000269-0000000003.checkpoint"]
    topics = {
        record.data["name"]: record.data["topicId"]
        for record in snapshot
        if record.type == "TOPIC_RECORD"
    }

    async with running_quorum(world) as (driver, loader):
        image = loader.image

    assert driver.store.snapshot is not None
    assert driver.store.snapshot.offset == 269
    assert set(image.topics) == set(topics)
    assert "todelete" not in image.topics
    assert image.features["metadata.version"] == 33
    assert image.epoch == 4
    assert image.next_producer_id > 0
    assert image.configs[2, "compacted"]["cleanup.policy"] == "compact"
    assert image.brokers[NODE_1].endpoints[0].port == 30592


async def test_quorum_of_more_than_one_voter_is_refused_with_its_voters_named(
    world, autojump_clock
) -> None:
    await put_sample(world, "dynamic_quorum")

    with pytest.raises(UnsupportedQuorumError, match=r"found the voters \[1, 2"):
        async with running_quorum(world):
            pass


async def test_a_directory_of_another_voter_is_refused(world, autojump_clock) -> None:
    await format_root(world)

    before = world.descriptors.files
    store = await open_store(world, world.directory(ROOT), CONFIG)
    assert world.descriptors.files > before

    with pytest.raises(UnsupportedQuorumError, match="belongs to another directory"):
        await open_quorum(
            store, node_id=NODE_1, directory_id=bytes(16), node=Node("broker", "broker")
        )

    assert world.descriptors.files == before


async def test_unformatted_directory_is_refused(world, autojump_clock) -> None:
    world.directory(ROOT, create=True)

    with pytest.raises(LogDirError, match="format the directory first"):
        async with running_quorum(world):
            pass


async def test_quorum_without_voters_in_snapshot_and_settings_is_refused(
    world, autojump_clock
) -> None:
    await format_root(world, level=20)

    with pytest.raises(UnsupportedQuorumError, match="names no voters"):
        await open_quorum(
            await open_store(world, world.directory(ROOT), CONFIG),
            node_id=NODE_1,
            directory_id=DIRECTORY_ID,
            node=Node("broker", "broker"),
        )


async def test_voters_of_an_old_metadata_version_are_those_of_the_settings(
    world, autojump_clock
) -> None:
    await format_root(world, level=20)

    async with running_quorum(world) as (driver, _):
        assert driver.epoch == 1

    assert STATIC.ids == (NodeId(1),)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(25))
def test_committed_records_survive_a_power_loss(seed: int) -> None:
    async def main(universe: Universe) -> None:
        committed: list[int] = []
        world = universe.machine("broker")
        await format_root(world)

        async def life(world: SimulatedWorld) -> None:
            async with running_quorum(world) as (driver, loader):
                result = loader.image.configs.get((2, "t"), {})
                assert set(committed) <= {int(value) for value in result.values()}
                for number in range(1000 * world.life, 1000 * world.life + 200):
                    record = ProducerIdsRecord(broker_id=1, next_producer_id=number)
                    end = append(driver, [setting(number, str(number)), record], driver.epoch, 33)
                    await driver.wait_committed(end)
                    committed.append(number)

        for _ in range(4):
            after = universe.chance("crash").uniform(0.01, 1.0)
            await run_until_crash(world, life, after)
            world = universe.machine("broker")

    run_simulated(main, seed, moody=True)


async def test_failed_append_ends_the_quorum(world, autojump_clock) -> None:
    """Otherwise the broker would go on, and answer every change with an error."""
    await format_root(world)

    with pytest.raises(ExceptionGroup) as caught:
        async with running_quorum(world) as (driver, _):
            epoch = await driver.elect()
            world.universe.faults.add(CallFault(call="append", error="EIO", times=1))

            with pytest.raises(LogDirError):
                append(driver, [setting(1)], epoch, 33)
            await trio.sleep_forever()

    assert {type(leaf) for leaf in leaves(caught.value)} == {LogDirError}
