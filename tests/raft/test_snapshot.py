"""Snapshots: written as Kafka's, read whole or not at all."""

import pytest

from tests.raft.kit import DIRECTORY_ID, NODE_1, ROOT, dumped, put_sample
from trio_kafka.errors import ErrorCode, KafkaError
from trio_kafka.metadata.features import bootstrap_features
from trio_kafka.protocol.json_data import to_data
from trio_kafka.protocol.stored.metadata.topics import TopicRecord
from trio_kafka.raft.snapshot import (
    BOOTSTRAP,
    SnapshotId,
    read_snapshot,
    snapshots_in,
    write_snapshot,
)
from trio_kafka.raft.voters import Voter, VoterEndpoint, VoterSet
from trio_kafka.records.batch import iterate_headers
from trio_kafka.testing.simulation import simulated_world

VOTERS = VoterSet(1, (Voter(NODE_1, DIRECTORY_ID, (VoterEndpoint("C", "h", 9),)),))


async def write(
    directory, at: SnapshotId, count: int = 300, voters: VoterSet | None = VOTERS
) -> int:
    records = [TopicRecord(name=f"t{n}", topic_id=n.to_bytes(16)) for n in range(count)]
    return await write_snapshot(
        directory, at, records, level=33, voters=voters, timestamp_ms=77, now_ms=99
    )


async def test_written_snapshot_is_read_unchanged(world, autojump_clock) -> None:
    directory = world.directory(ROOT, create=True)
    at = SnapshotId(1234, 5)

    size = await write(directory, at)
    snapshot = await read_snapshot(directory, at)

    assert directory.names() == ["00000000000000001234-0000000005.checkpoint"]
    assert await snapshots_in(directory) == [at]
    assert [record.name for record in snapshot.records] == [f"t{n}" for n in range(300)]
    assert (snapshot.timestamp_ms, snapshot.voters, snapshot.size) == (77, VOTERS, size)


async def test_batches_of_a_snapshot_are_contiguous_between_header_and_footer(
    world, autojump_clock
) -> None:
    directory = world.directory(ROOT, create=True)
    await write(directory, SnapshotId(1, 1), voters=None)
    file = directory.open(SnapshotId(1, 1).name)
    content = bytearray(file.size)
    await file.read(0, content)
    file.close()

    headers = [header for _, header in iterate_headers(content)]

    assert [header.is_control for header in headers] == [True, False, False, False, True]
    assert [header.base_offset for header in headers] == [0, 1, 129, 257, 301]


@pytest.mark.parametrize("name", ["cluster_metadata", "dynamic_quorum"])
async def test_snapshots_written_by_kafka_are_read_record_by_record(
    world, autojump_clock, name: str
) -> None:
    await put_sample(world, name)
    directory = world.directory(ROOT).directory("__cluster_metadata-0")
    expected = dumped(name)
    read = 0

    for at in await snapshots_in(directory):
        snapshot = await read_snapshot(directory, at)
        for record, dump in zip(snapshot.records, expected[at.name], strict=True):
            data = to_data(record, names="kafka", version=dump.version)
            assert {key: data[key] for key in dump.data} == dump.data
            read += 1
        assert (snapshot.voters is not None) == (name == "dynamic_quorum")

    assert read >= 78


async def test_bootstrap_snapshot_has_the_size_of_that_of_kafka(world, autojump_clock) -> None:
    directory = world.directory(ROOT, create=True)
    endpoint = VoterEndpoint("CONTROLLER", "127.0.0.1", 31194)

    size = await write_snapshot(
        directory,
        BOOTSTRAP,
        bootstrap_features(),
        level=33,
        voters=VoterSet(1, (Voter(NODE_1, DIRECTORY_ID, (endpoint,)),)),
        timestamp_ms=1795235784646,
        now_ms=1795235784711,
    )

    assert size == 494


@pytest.mark.parametrize("cut", [1, 75, 500, 10_000])
async def test_truncated_snapshot_is_refused(world, autojump_clock, cut: int) -> None:
    directory = world.directory(ROOT, create=True)
    at = SnapshotId(7, 1)
    size = await write(directory, at)
    file = directory.open(at.name)
    file.truncate(max(0, size - cut))
    file.close()

    with pytest.raises(KafkaError) as caught:
        await read_snapshot(directory, at)

    assert caught.value.code is ErrorCode.CORRUPT_MESSAGE


async def test_incomplete_snapshot_file_is_ignored_and_overwritten(world, autojump_clock) -> None:
    directory = world.directory(ROOT, create=True)
    directory.create(SnapshotId(7, 1).name + ".part").close()
    assert await snapshots_in(directory) == []

    await write(directory, SnapshotId(7, 1))

    assert len((await read_snapshot(directory, SnapshotId(7, 1))).records) == 300


@pytest.mark.parametrize("seed", range(5))
async def test_written_snapshot_survives_a_power_loss(autojump_clock, seed: int) -> None:
    world = simulated_world(seed=seed)
    universe = world.universe
    root = world.directory(ROOT, create=True)
    directory = root.directory("d", create=True)
    await root.sync()
    at = SnapshotId(7, 1)
    await write(directory, at)

    world.crash(kept=0.0)
    next_life = universe.machine(world.name)

    snapshot = await read_snapshot(next_life.directory(ROOT).directory("d"), at)
    assert len(snapshot.records) == 300
