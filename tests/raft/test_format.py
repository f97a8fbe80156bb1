"""Files written by formatting."""

import pytest

from tests.raft.kit import DIRECTORY_ID, NODE_1, ROOT, format_root
from trio_kafka.errors import KafkaError
from trio_kafka.raft.format import format_metadata
from trio_kafka.raft.snapshot import BOOTSTRAP, read_snapshot


async def test_a_formatted_directory_has_one_snapshot_with_voters_and_features(
    world, autojump_clock
) -> None:
    await format_root(world)

    directory = world.directory(ROOT).directory("__cluster_metadata-0")
    snapshot = await read_snapshot(directory, BOOTSTRAP)
    assert directory.names() == ["00000000000000000000-0000000000.checkpoint"]
    assert snapshot.voters is not None
    assert snapshot.voters.kraft_version == 1
    assert snapshot.voters.voters[0].id == NODE_1
    assert snapshot.voters.voters[0].directory_id == DIRECTORY_ID
    assert snapshot.records[0].feature_level == 33


async def test_second_format_of_a_directory_changes_no_file(world, autojump_clock) -> None:
    root = world.directory(ROOT, create=True)

    async def again(level: int) -> bool:
        return await format_metadata(
            root, node_id=NODE_1, directory_id=DIRECTORY_ID, endpoints=[], now_ms=1, level=level
        )

    assert await again(33)
    assert not await again(20)
    snapshot = await read_snapshot(root.directory("__cluster_metadata-0"), BOOTSTRAP)
    assert snapshot.records[0].feature_level == 33


async def test_snapshot_below_kraft_version_1_has_no_voters(world, autojump_clock) -> None:
    await format_root(world, level=20)

    snapshot = await read_snapshot(
        world.directory(ROOT).directory("__cluster_metadata-0"), BOOTSTRAP
    )
    assert snapshot.voters is None


async def test_unknown_metadata_version_is_refused_and_nothing_is_written(
    world, autojump_clock
) -> None:
    with pytest.raises(KafkaError):
        await format_root(world, level=99)

    assert world.directory(ROOT).names() == []
