"""Log managers on simulated disks."""

from trio_kafka.introspect.tree import Node
from trio_kafka.log.config import LogConfig
from trio_kafka.log.manager.loading import load_logs
from trio_kafka.log.manager.log_manager import LogManager
from trio_kafka.log.manager.meta_properties import MetaProperties, write_meta_properties
from trio_kafka.model import NodeId, TopicId, TopicPartition

IDENTITY = MetaProperties(node_id=NodeId(1), cluster_id="cluster")
TOPIC_ID = TopicId(bytes(range(16)))
T0, T1 = TopicPartition("t", 0), TopicPartition("t", 1)
SMALL = LogConfig(segment_bytes=300)


async def format_directory(world, path, directory_id="A" * 22, identity=IDENTITY):
    root = world.directory(path, create=True)
    properties = MetaProperties(
        node_id=identity.node_id, cluster_id=identity.cluster_id, directory_id=directory_id
    )
    await write_meta_properties(root, properties)
    return root


async def start(manager, identity=IDENTITY, *, config=None, delete_delay_ms=60_000):
    await manager.open()
    await manager.identify(identity)
    config = config or LogConfig()
    await load_logs(manager, lambda partition: config, delete_delay_ms=delete_delay_ms)


async def started(world, *paths, config=SMALL, **options) -> LogManager:
    manager = LogManager(world, paths or ("/data",), Node("broker", "broker"), **options)
    await start(manager, config=config)
    return manager
