"""The logs of all partitions as a part of the node."""

from tests.broker.kit import APIS, config_of, content_of, live_once
from trio_kafka.broker import Broker
from trio_kafka.model import TopicPartition

THREE = config_of({"log.dirs": "/a,/b,/c"})


async def test_partition_in_two_directories_is_served_from_the_directory_in_the_metadata(
    world, autojump_clock
) -> None:
    config = config_of({"log.dirs": "/a,/b"})
    world = await live_once(world, config, clean=True)
    where = next(path for path in ("/a", "/b") if world.directory(path).exists("t-0"))
    known = content_of(world, f"{where}/t-0", "partition.metadata")
    for path in {"/a", "/b"} - {where}:
        copy = world.directory(path).directory("t-0", create=True)
        copy.create("partition.metadata").append([known])

    async with Broker(config, world, apis=APIS) as broker:
        (stray,) = broker.logs.strays
        found = broker.logs.directory_of(TopicPartition("t", 0))

    assert found is not None
    assert found.path == where
    assert not stray.startswith(f"{where}/")
