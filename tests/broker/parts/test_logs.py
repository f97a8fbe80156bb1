"""The logs of all partitions as a part of the node."""

from tests.apis.kit import broker, write
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
    content = content_of(world, f"{where}/t-0", "partition.metadata")
    for path in {"/a", "/b"} - {where}:
        copy = world.directory(path).directory("t-0", create=True)
        copy.create("partition.metadata").append([content])

    async with Broker(config, world, apis=APIS) as broker:
        (stray,) = broker.logs.strays
        directory = broker.logs.directory_of(TopicPartition("t", 0))

    assert directory is not None
    assert directory.path == where
    assert not stray.startswith(f"{where}/")


async def test_partition_names_its_topic_as_soon_as_a_record_is_acknowledged(
    autojump_clock,
) -> None:
    """A kill may come then. Apache Kafka would set a directory without the file aside."""
    async with broker() as served:
        await served.create_topic("t", partitions=2)
        await write(served, "t", b"value")

        log, other = (served.broker.logs.get(TopicPartition("t", number)) for number in (0, 1))
        assert log is not None
        assert other is not None
        assert log.unsynced.owed  # no sync has written it yet
        assert "partition.metadata" in log.directory.names()
        assert "partition.metadata" not in other.directory.names()
