"""How far groups are behind what they read: by partition, of the offsets that are committed.

As clients that read all but open transactions' records see it: up to the high watermark.
"""

from collections.abc import Callable, Iterator
from typing import Any, TypeAlias

from trio_kafka.attributes import frozen
from trio_kafka.coordinators.groups.groups import Groups
from trio_kafka.errors import KafkaError
from trio_kafka.replication.manager import ReplicaManager

# The high watermark of a partition; None where this broker does not lead it.
EndOf: TypeAlias = Callable[[str, int], int | None]


@frozen(kw_only=True)
class Lag:
    """Of one group in one partition. end, lag: None where another broker knows."""

    group_id: str
    topic: str
    partition: int
    offset: int
    end: int | None

    @property
    def lag(self) -> int | None:
        """Records that are still to be read; none where the log was cut below the offset."""
        return None if self.end is None else max(0, self.end - self.offset)


def ends_of(replicas: ReplicaManager) -> EndOf:
    """What the partitions of this broker have."""

    def end_of(topic: str, partition: int) -> int | None:
        try:
            log: Any = replicas.partition(topic, partition).leading
        except KafkaError:
            return None
        return None if log is None else int(log.high_watermark)

    return end_of


def lags(groups: Groups, group_id: str, end_of: EndOf) -> Iterator[Lag]:
    """All of a group, topic by topic; nothing of a group that is not there.

    Offsets may be committed and groups may go while it is iterated.
    """
    for topic, partitions in tuple(groups.offsets.of_group(group_id).items()):
        for partition, value in tuple(partitions.items()):
            yield Lag(
                group_id=group_id,
                topic=topic,
                partition=partition,
                offset=value.offset,
                end=end_of(topic, partition),
            )
