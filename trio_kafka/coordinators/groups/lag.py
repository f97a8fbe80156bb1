"""Lag of groups: distance of their committed offsets from the high watermarks, by partition.

As Kafka's admin client and `kafka-consumer-groups` see it: a negative committed offset is none and
has no lag. Records below the start of the log count, although they cannot be read any more. Records
of open transactions count, as the end is the high watermark and not the last stable offset.
Source: `ListConsumerGroupOffsetsHandler` and `ConsumerGroupCommand.getLag` of Kafka 4.4.
"""

from collections.abc import Callable, Iterator
from typing import TypeAlias

from trio_kafka.attributes import frozen
from trio_kafka.coordinators.groups.groups import Groups
from trio_kafka.errors import KafkaError
from trio_kafka.replication.table import Replicas

# Return the high watermark of a partition; None if another broker leads it.
EndOf: TypeAlias = Callable[[str, int], int | None]


@frozen(kw_only=True)
class Lag:
    """Lag of one group in one partition. end, lag: None if another broker leads the partition."""

    group_id: str
    topic: str
    partition: int
    offset: int
    end: int | None

    @property
    def lag(self) -> int | None:
        """Records that are still to be read; 0 if the log was cut below the offset."""
        return None if self.end is None else max(0, self.end - self.offset)


def ends_of(replicas: Replicas) -> EndOf:
    """Return the high watermarks of this broker's partitions."""

    def end_of(topic: str, partition: int) -> int | None:
        try:
            log = replicas.partition(topic, partition).leading
        except KafkaError:
            return None
        return None if log is None else log.high_watermark

    return end_of


def lags(groups: Groups, group_id: str, end_of: EndOf) -> Iterator[Lag]:
    """Yield the lags of a group topic by topic; none for an unknown group or a negative offset.

    Offsets may be committed and groups deleted during the iteration.
    """
    for topic, partitions in tuple(groups.offsets.of_group(group_id).items()):
        for partition, value in tuple(partitions.items()):
            if value.offset < 0:
                continue
            yield Lag(
                group_id=group_id,
                topic=topic,
                partition=partition,
                offset=value.offset,
                end=end_of(topic, partition),
            )
