import pytest

from tests.log.managers import format_directory, started
from trio_kafka.log.files.partition_metadata import parse_id
from trio_kafka.log.manager.identity import IdentityError, new_directory_id
from trio_kafka.log.manager.meta_properties import MetaProperties
from trio_kafka.model import NodeId


@pytest.mark.parametrize(
    "identity",
    [
        MetaProperties(node_id=NodeId(2), cluster_id="cluster"),
        MetaProperties(node_id=NodeId(1), cluster_id="another"),
    ],
)
async def test_a_directory_of_another_node_or_cluster_is_refused(autojump_clock, world, identity):
    await format_directory(world, "/data", identity=identity)

    with pytest.raises(IdentityError, match="/data is of node"):
        await started(world)


async def test_start_is_refused_if_no_log_directory_is_formatted(autojump_clock, world):
    with pytest.raises(IdentityError, match="no log directory is formatted"):
        await started(world)


async def test_two_directories_with_the_same_id_are_refused(autojump_clock, world):
    await format_directory(world, "/a")
    await format_directory(world, "/b")

    with pytest.raises(IdentityError, match="have one directory id"):
        await started(world, "/a", "/b")


async def test_empty_directory_beside_a_formatted_directory_is_formatted(autojump_clock, world):
    await format_directory(world, "/a")

    manager = await started(world, "/a", "/b")

    ids = [directory.properties.directory_id for directory in manager.directories]
    assert len(set(ids)) == 2
    assert len(parse_id(ids[1])) == 16


async def test_new_directory_ids_are_distinct_and_do_not_begin_with_a_dash(autojump_clock, world):
    ids = [new_directory_id(world) for _ in range(200)]

    assert not any(text.startswith("-") for text in ids)
    assert len(set(ids)) == 200
