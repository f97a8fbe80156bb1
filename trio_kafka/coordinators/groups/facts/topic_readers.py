"""Groups that read topics, by what they have committed."""

from collections.abc import Callable, Collection, Sequence
from typing import Final

from trio_kafka.coordinators.groups.groups import Groups
from trio_kafka.coordinators.groups.lag import EndOf
from trio_kafka.introspect.facts.topics import TopicReader
from trio_kafka.scheduling.chunked_work import Steps

_A_STEP: Final = 128  # groups or partitions in one step


def groups_of_topics(
    machines: Sequence[Groups],
    topics: Collection[str],
    may_see: Callable[[str], bool],
    most: int,
) -> Steps[dict[str, tuple[str, ...]]]:
    """Return the groups that have committed offsets for each of some topics, by name, in the order
    of the shards; at most `most` for each.
    """
    groups = dict[str, list[str]]()
    number = 0
    for machine in machines:
        for group_id, offsets in tuple(machine.offsets.by_group.items()):
            number += 1
            if not number % _A_STEP:
                yield
            if len(offsets) < len(topics):
                read = [topic for topic in offsets if topic in topics]
            else:
                read = [topic for topic in topics if topic in offsets]
            if not read or not may_see(group_id):
                continue
            for topic in read:
                readers = groups.setdefault(topic, [])
                if len(readers) < most:
                    readers.append(group_id)
    return {topic: tuple(readers) for topic, readers in groups.items()}


def readers_of_topic(
    machines: Sequence[Groups],
    topic: str,
    end_of: EndOf,
    may_see: Callable[[str], bool],
    most: int,
) -> Steps[list[TopicReader]]:
    """Return the groups that read one topic, those with the greatest lag in it first."""
    readers = list[TopicReader]()
    number = 0
    for machine in machines:
        for group_id, offsets in tuple(machine.offsets.by_group.items()):
            number += 1
            if not number % _A_STEP:
                yield
            group = machine.by_id.get(group_id)
            if topic not in offsets or group is None or not may_see(group_id):
                continue
            lag = 0
            for count, (partition, value) in enumerate(tuple(offsets[topic].items()), 1):
                end = end_of(topic, partition) if value.offset >= 0 else None
                lag += max(0, end - value.offset) if end is not None else 0
                if not count % _A_STEP:
                    yield
            readers.append(
                TopicReader(
                    group_id=group_id,
                    state=group.state,
                    members=len(group.members()),
                    partitions=len(offsets[topic]),
                    lag=lag,
                )
            )
    return sorted(readers, key=lambda reader: (-reader.lag, reader.group_id))[:most]
