"""Partitions on simulated disks, and what producers send them."""

from collections.abc import Mapping

import pytest

from tests.records.kit import encode_batch
from trio_kafka.config.broker import BrokerConfig
from trio_kafka.config.topic import TopicConfig, topic_config
from trio_kafka.errors import ErrorCode, KafkaError
from trio_kafka.introspect.tree import Node
from trio_kafka.log.config import LogConfig
from trio_kafka.log.manager.identity import new_directory_id
from trio_kafka.log.manager.loading import load_logs
from trio_kafka.log.manager.log_manager import LogManager
from trio_kafka.log.manager.meta_properties import MetaProperties, write_meta_properties
from trio_kafka.log.recovery.partition import create_log
from trio_kafka.log.rolling import roll
from trio_kafka.metadata.delta import MetadataDelta
from trio_kafka.metadata.image import ConfigResourceType, MetadataImage, PartitionState
from trio_kafka.model import NodeId, TopicId, TopicPartition
from trio_kafka.purgatory import Delayed, Timers
from trio_kafka.records.batch import Record
from trio_kafka.replication.assembly import Replication, assemble
from trio_kafka.replication.leader.fetch import Fetch, FetchAnswer
from trio_kafka.replication.leader.read import PartitionFetch, PartitionRead
from trio_kafka.replication.partition import Partition
from trio_kafka.replication.publisher import ReplicaPublisher
from trio_kafka.replication.purgatories import Purgatories
from trio_kafka.replication.settings import PartitionSettings
from trio_kafka.scheduling.chunked_work import whole
from trio_kafka.world.world import World

ME = NodeId(1)
PEER = NodeId(2)
TOPIC_ID = TopicId(b"t" * 16)
AT = TopicPartition("t", 0)


def state(*isr: int, leader: int = 1, epoch: int = 0, replicas: tuple = ()) -> PartitionState:
    """A partition in sync on these brokers."""
    return PartitionState(
        replicas=tuple(map(NodeId, replicas or isr)),
        isr=tuple(map(NodeId, isr)),
        leader=NodeId(leader),
        leader_epoch=epoch,
    )


def make_slow(partition: Partition) -> None:
    """As after an append that took long."""
    now = partition.log.latency.elapsed()
    partition.log.latency.took_long(now - 1, now)


class Marks(list):
    """Stand-in for `changed`: keeps the arguments of its calls."""

    def __call__(self, partition: Partition) -> None:
        self.append(partition)


def new_purgatories() -> Purgatories:
    node = Node("broker", "broker")
    return Purgatories(Timers(node), node)


def new_partition(
    world: World,
    *isr: int,
    leader: int = 1,
    epoch: int = 0,
    settings: PartitionSettings | None = None,
    at: TopicPartition = AT,
    path: str = "",
    **config,
) -> tuple[Partition, Marks]:
    """A partition with an empty log below a path; nothing is marked yet."""
    marks = Marks()
    partition = Partition(
        TOPIC_ID,
        at,
        ME,
        state(*(isr or (1,)), leader=leader, epoch=epoch),
        purgatories=new_purgatories(),
        settings=settings or PartitionSettings(),
    )
    partition.changed = marks
    root = world.directory(f"{path}/{at}", create=True)
    partition.open(create_log(world, root, at, config=LogConfig(**config)))
    marks.clear()
    return partition, marks


def batch(count: int = 1, *, size: int = 10, **fields) -> memoryview:
    """A batch as a producer sends it; without times."""
    records = [Record(key=b"k", value=bytes(size)) for _ in range(count)]
    return memoryview(bytearray(encode_batch(records, **fields)))


def make_cold(partition: Partition) -> None:
    """Put all appended batches into a sealed segment, and out of the page cache."""
    roll(partition.log)
    for segment in partition.log.segments:
        segment.file.chill()


def want(offset: int = 0, max_bytes: int = 1 << 20, **fields) -> PartitionFetch:
    return PartitionFetch(offset=offset, max_bytes=max_bytes, **fields)


def content(read: PartitionRead) -> int:
    """How many bytes there are; gives them back."""
    size = read.size
    read.release()
    return size


class Cluster:
    """The replication of a broker and the metadata that it follows."""

    def __init__(self, world: World, logs: LogManager, replication: Replication) -> None:
        self.world = world
        self.logs = logs
        self.replication = replication
        self.replicas = replication.replicas
        self.publisher = ReplicaPublisher(replication.lifecycle, settings_of)
        self.image = MetadataImage()

    def change(self, **topics: Mapping[int, PartitionState] | None) -> None:
        """Create or change topics by name; None deletes. Then publish."""
        delta = MetadataDelta(self.image)
        for name, partitions in topics.items():
            topic_id = delta.topic_id(name)
            if partitions is None:
                delta.delete_topic(delta.topic(topic_id))
                continue
            if topic_id is None:
                topic_id = TopicId(self.world.random_bytes(16))
                delta.create_topic(name, topic_id)
            for number, partition_state in partitions.items():
                delta.set_partition(delta.topic(topic_id), number, partition_state)
        self._publish(delta)

    def configure(self, topic: str, **settings: str) -> None:
        delta = MetadataDelta(self.image)
        config = delta.config((ConfigResourceType.TOPIC, topic))
        config.update({name.replace("_", "."): text for name, text in settings.items()})
        self._publish(delta)

    def _publish(self, delta: MetadataDelta) -> None:
        self.image = delta.apply(self.image.offset + 1, 0, 0)
        for _ in self.publisher.publish(delta, self.image) or ():
            pass

    def topic_id(self, name: str) -> TopicId:
        return self.image.topics[name].id


def settings_of(image: MetadataImage, topic: str) -> TopicConfig:
    return topic_config(image.config(ConfigResourceType.TOPIC, topic), BROKER)


BROKER = BrokerConfig(
    node_id=1, process_roles=("broker", "controller"), controller_listener_names=("CONTROLLER",)
)


async def open_cluster(
    world: World, image: MetadataImage | None = None, *, paths: tuple[str, ...] = ("/data",)
) -> Cluster:
    """A broker's logs and replicas; what was on the disks before is there again."""
    LANE.clear()
    node = Node("broker", "broker")
    identity = MetaProperties(node_id=ME, cluster_id="c", directory_id=None)
    for path in paths:
        root = world.directory(path, create=True)
        if not root.exists("meta.properties"):
            mine = MetaProperties(node_id=ME, cluster_id="c", directory_id=new_directory_id(world))
            await write_meta_properties(root, mine)
    replication: Replication | None = None

    def offline(directory) -> None:
        if replication is not None:
            replication.lifecycle.directory_offline(directory)

    logs = LogManager(world, paths, node, on_offline=offline)
    await logs.open()
    await logs.identify(identity)
    await load_logs(logs, lambda _: LogConfig())
    replication = assemble(world, ME, logs, Timers(node), node)
    cluster = Cluster(world, logs, replication)
    if image is not None:
        cluster.image = image
        start(cluster)
    return cluster


def start(cluster: Cluster) -> None:
    """Take over the image, in all of its steps."""
    for _ in cluster.publisher.start(cluster.image):
        pass


def refused(cluster: Cluster, topic: TopicId | str, number: int = 0) -> ErrorCode:
    """Why there is no replica."""
    with pytest.raises(KafkaError) as caught:
        cluster.replicas.partition(topic, number).local_log()
    return caught.value.code


def names(world: World, path: str = "/data") -> list[str]:
    """Of the directories of partitions."""
    return [name for name in world.directory(path).names() if name[-1].isdigit()]


def park(delayed: Delayed) -> list:
    """Watch it, with a lane that is served at once when the caller is done: see `serve`."""
    done: list = []
    delayed.purgatory.watch(delayed, LANE.append, done.append)
    return done


LANE: list[Delayed] = []


def try_complete(fetch: Fetch, timed_out: bool) -> FetchAnswer | None:
    """Answer of a parked fetch after a mark or at its deadline."""
    return whole(fetch.complete()) if fetch.is_due(timed_out) else None


def serve() -> int:
    """Look at whatever was marked; how many were."""
    looks = 0
    while LANE:
        delayed = LANE.pop(0)
        delayed.purgatory.check(delayed)
        looks += 1
    return looks
