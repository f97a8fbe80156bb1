"""Samples of offset and end of the partitions that groups read, for a history of their lag."""

from collections.abc import Callable, Container, Sequence
from typing import Final, NamedTuple, TypeAlias

from trio_kafka.attributes import frozen
from trio_kafka.coordinators.groups.groups import Groups
from trio_kafka.coordinators.groups.lag import EndOf
from trio_kafka.scheduling.chunked_work import Steps

_A_STEP: Final = 128  # partitions in one step: 0.3 ms
_MOST_SCANNED: Final = 20_000  # partitions that are looked at for one sample
LagKey: TypeAlias = tuple[str, str, int]
"""Group, topic and partition."""


class LagSample(NamedTuple):
    """Committed offset and high watermark of a partition, at one moment."""

    key: LagKey
    offset: int
    end: int


@frozen
class LagSamples:
    """One sample of each partition. left_out: partitions that were seen and not sampled."""

    samples: Sequence[LagSample]
    left_out: int


def lag_samples(
    machines: Sequence[Groups],
    end_of: EndOf,
    may_sample: Callable[[str, str], bool],
    *,
    tracked: Container[LagKey],
    most: int,
) -> Steps[LagSamples]:
    """Sample at most `most` partitions: tracked ones first, then those with lag, then others.

    may_sample: whether the reader may see a group and a topic. Partitions that another broker leads
    have no end, so they are never sampled.
    """
    preferred, others = list[LagSample](), list[LagSample]()
    scanned = seen = 0
    for machine in machines:
        for group_id, topics in tuple(machine.offsets.by_group.items()):
            for topic, partitions in tuple(topics.items()):
                if not may_sample(group_id, topic):
                    continue
                if scanned >= _MOST_SCANNED:
                    seen += len(partitions)
                    continue
                for partition, value in tuple(partitions.items()):
                    scanned += 1
                    if not scanned % _A_STEP:
                        yield
                    end = end_of(topic, partition) if value.offset >= 0 else None
                    if end is None:
                        continue
                    seen += 1
                    key = (group_id, topic, partition)
                    sample = LagSample(key, value.offset, max(end, value.offset))
                    is_preferred = sample.end > sample.offset or key in tracked
                    (preferred if is_preferred else others).append(sample)
    yield
    samples = [*preferred, *others][:most]
    return LagSamples(samples, seen - len(samples))
