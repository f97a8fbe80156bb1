"""Internal topic whose partitions own the keys of a coordinator, such as group ids.

A key belongs to one partition, by Java's hash of it, and to the leader of that partition. The topic
is created when the first client looks for its coordinator. Its number of partitions must not
change: the keys would have other partitions then.
"""

from collections.abc import Callable
from functools import lru_cache
from typing import Final, Generic

from trio_kafka.coordinators.shards.runtime import M, ShardRuntime
from trio_kafka.errors import ErrorCode, KafkaError
from trio_kafka.model import NO_NODE, NodeId

_UINT32: Final = 0xFFFFFFFF
_SIGN: Final = 0x80000000
_SMALLEST: Final = -0x80000000


def java_hash(text: str) -> int:
    """Return `String.hashCode` of Java, a signed 32-bit integer over the UTF-16 units."""
    value = 0
    data = text.encode("utf-16-be", "surrogatepass")
    for at in range(0, len(data), 2):
        value = (value * 31 + (data[at] << 8 | data[at + 1])) & _UINT32
    return value - (value & _SIGN) * 2


@lru_cache(maxsize=4096)
def partition_of(key: str, count: int) -> int:
    """Return the partition, of `count`, that holds the records of a key.

    The smallest integer has no absolute value and counts as 0, as in Kafka.
    """
    value = java_hash(key)
    return 0 if value == _SMALLEST else abs(value) % count


class OwnedTopic(Generic[M]):
    """Owners of keys. The partition count is that of the topic when it was first seen; before, that
    with which the topic would be created.
    """

    def __init__(
        self, runtime: ShardRuntime[M], *, new_count: int, create: Callable[[], None]
    ) -> None:
        """runtime: shards of the topic. new_count: partitions of a new topic. create: have the
        topic created; returns at once.
        """
        self._runtime = runtime
        self.new_count = new_count
        self.create = create

    def partition_of(self, key: str) -> int:
        """Return the partition of a key."""
        return partition_of(key, self._runtime.count or self.new_count)

    def leader_of(self, key: str) -> NodeId:
        """Return the broker that coordinates a key.

        Raises KafkaError(COORDINATOR_NOT_AVAILABLE) if the partition has no leader. A missing topic
        is created meanwhile.
        """
        runtime = self._runtime
        topic = runtime.image.topics.get(runtime.topic)
        if topic is None:
            self.create()
        else:
            partition = topic.partitions.get(self.partition_of(key))
            if partition is not None and partition.leader != NO_NODE:
                return partition.leader
        raise KafkaError(ErrorCode.COORDINATOR_NOT_AVAILABLE)
