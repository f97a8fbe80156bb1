import pytest

from tests.log.kit import fill, sample
from trio_kafka.errors import LogDirError
from trio_kafka.log.manager.meta_properties import (
    NAME,
    MetaProperties,
    read_meta_properties,
    write_meta_properties,
)
from trio_kafka.model import NodeId


async def test_meta_properties_of_apache_kafka_are_read(autojump_clock, world):
    root = world.directory("/data", create=True)
    await fill(root, {NAME: sample("log_dir_root")[""][NAME]})

    assert await read_meta_properties(root) == MetaProperties(
        node_id=NodeId(1),
        cluster_id="tUc4FjVgQ2C6K8g1mQWPOg",
        directory_id="X4dTDEPe9f1caU0mLZ04Rg",
    )


@pytest.mark.parametrize("directory_id", [None, "X4dTDEPe9f1caU0mLZ04Rg"])
async def test_written_meta_properties_are_read_again(autojump_clock, world, directory_id):
    root = world.directory("/data", create=True)
    properties = MetaProperties(node_id=NodeId(7), cluster_id="c", directory_id=directory_id)

    await write_meta_properties(root, properties)

    assert await read_meta_properties(root) == properties


async def test_unformatted_directory_has_no_meta_properties(autojump_clock, world):
    assert await read_meta_properties(world.directory("/data", create=True)) is None


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (b"version=0\nnode.id=1\ncluster.id=c\n", "version is '0', want 1. Restore"),
        (b"version=1\ncluster.id=c\n", "node.id is missing"),
        (b"version=1\nnode.id=one\ncluster.id=c\n", "node.id is 'one'"),
        (b"#\nversion=1\nnode.id\n", "line 3"),
    ],
)
async def test_corrupt_meta_properties_are_refused_with_the_reason(
    autojump_clock, world, content, reason
):
    root = world.directory("/data", create=True)
    await fill(root, {NAME: content})

    with pytest.raises(LogDirError, match=reason):
        await read_meta_properties(root)
