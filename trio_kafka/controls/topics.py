"""Topics of a broker under test: create, delete, look at."""

from collections.abc import Mapping
from typing import Final

from trio_kafka.controls.ask import ask, check, last_version
from trio_kafka.controls.running import HasParts
from trio_kafka.controls.values import Topic
from trio_kafka.errors import ErrorCode, KafkaError
from trio_kafka.log.manager.log_manager import LogManager
from trio_kafka.metadata.image import TopicImage
from trio_kafka.model import TopicPartition
from trio_kafka.protocol.messages.k02_list_offsets import (
    ListOffsetsPartition,
    ListOffsetsRequest,
    ListOffsetsTopic,
)
from trio_kafka.protocol.messages.k19_create_topics import (
    CreatableTopic,
    CreatableTopicConfig,
    CreateTopicsRequest,
)
from trio_kafka.protocol.messages.k20_delete_topics import DeleteTopicsRequest, DeleteTopicState
from trio_kafka.protocol.messages.k21_delete_records import (
    DeleteRecordsPartition,
    DeleteRecordsRequest,
    DeleteRecordsTopic,
)

__tracebackhide__ = True  # pytest ends the traceback of a failed test where it calls the kit

NOT_THERE: Final = frozenset(
    {
        ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
        ErrorCode.UNKNOWN_TOPIC_ID,
        ErrorCode.LEADER_NOT_AVAILABLE,
        ErrorCode.NOT_LEADER_OR_FOLLOWER,
    }
)
"""Codes for a topic that is being created or deleted."""
_EARLIEST, _LATEST = -2, -1
_TIMEOUT_MS = 30_000
_STATES = 6  # first version of DeleteTopics for names or ids


async def create_topic(
    broker: HasParts, name: str, partitions: int, *, configs: Mapping[str, str]
) -> None:
    """Create a topic. Raises KafkaError."""
    topic_configs = [CreatableTopicConfig(key, value) for key, value in configs.items()]
    topic = CreatableTopic(name, partitions, 1, configs=topic_configs)
    answer = await ask(broker, CreateTopicsRequest([topic], timeout_ms=_TIMEOUT_MS))
    (row,) = answer.topics
    check(row.error_code, f"{name}: {row.error_message}")


async def delete_topic(broker: HasParts, name: str) -> None:
    """Delete a topic. Raises KafkaError."""
    request = DeleteTopicsRequest(timeout_ms=_TIMEOUT_MS)
    if last_version(broker, DeleteTopicsRequest) < _STATES:
        request.topic_names = [name]
    else:
        request.topics = [DeleteTopicState(name=name)]
    answer = await ask(broker, request)
    (done,) = answer.responses
    check(done.error_code, f"{name}: {done.error_message}")


async def compact_topic(broker: HasParts, image: TopicImage) -> None:
    """Compact the logs of a topic. Raises KafkaError."""
    cleaner = broker.parts.cleaner
    for number in image.partitions:
        log = broker.parts[LogManager].get(TopicPartition(image.name, number))
        if log is None:
            continue
        if not log.config.compacts:
            raise KafkaError(
                ErrorCode.POLICY_VIOLATION,
                f"{image.name} is not compacted: create it with cleanup.policy=compact",
            )
        await cleaner.clean_now(log)
        if why := cleaner.states.uncleanable.get(log):
            raise KafkaError(ErrorCode.CORRUPT_MESSAGE, why)
        await cleaner.apply_retention(log)


async def delete_records(
    broker: HasParts, image: TopicImage, offsets: Mapping[int, int]
) -> dict[int, int]:
    """Delete the records below an offset of each partition. Return the first offsets.

    Raises KafkaError.
    """
    rows = [DeleteRecordsPartition(number, offset) for number, offset in offsets.items()]
    topic = DeleteRecordsTopic(image.name, rows)
    answer = await ask(broker, DeleteRecordsRequest([topic], timeout_ms=_TIMEOUT_MS))
    done = [row for topic in answer.topics for row in topic.partitions]
    for row in done:
        check(row.error_code, f"{image.name}-{row.partition_index}")
    return {row.partition_index: row.low_watermark for row in done}


def find_topic(broker: HasParts, name: str) -> TopicImage | None:
    """Return a topic as the broker knows it."""
    return broker.parts.metadata.image.topics.get(name)


async def describe_topic(broker: HasParts, image: TopicImage) -> Topic:
    """Return a topic with its offsets."""
    firsts = await first_offsets(broker, image)
    ends = await _offsets(broker, image, _LATEST)
    return Topic(
        name=image.name,
        partitions=len(image.partitions),
        offsets={number: (firsts[number], ends[number]) for number in sorted(ends)},
    )


async def first_offsets(broker: HasParts, image: TopicImage) -> dict[int, int]:
    """Return the first offset of each partition."""
    return await _offsets(broker, image, _EARLIEST)


async def _offsets(broker: HasParts, image: TopicImage, time: int) -> dict[int, int]:
    partitions = [
        ListOffsetsPartition(partition_index=number, timestamp=time) for number in image.partitions
    ]
    request = ListOffsetsRequest(replica_id=-1, topics=[ListOffsetsTopic(image.name, partitions)])
    (topic,) = (await ask(broker, request)).topics
    for row in topic.partitions:
        check(row.error_code, f"{image.name}-{row.partition_index}")
    return {row.partition_index: row.offset for row in topic.partitions}
