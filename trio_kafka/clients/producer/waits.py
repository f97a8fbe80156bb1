"""Waits of a producer before a record is queued: for the metadata of its topic, and for memory."""

from collections.abc import Callable

import trio

from trio_kafka.clients.errors import BufferExhaustedError, Place, TimedOutError
from trio_kafka.clients.metadata.refresh import Metadata
from trio_kafka.clients.metadata.values import TopicMetadata
from trio_kafka.clients.producer.buffer_pool import BufferPool


def topic_nowait(
    metadata: Metadata, name: str, partition: int | None, now: float
) -> TopicMetadata | None:
    """Return a topic; None if it is not known whether it has the partition. None: any."""
    topic = metadata.topic_nowait(name, now)
    if topic is None or partition is None or partition in topic.partitions:
        return topic
    return None


async def wait_topic(
    metadata: Metadata,
    name: str,
    partition: int | None,
    *,
    deadline: float,
    check: Callable[[], None],
) -> TopicMetadata:
    """Wait for metadata with the topic and, as partitions may be added, the partition.

    check: raises if the producer was closed meanwhile.
    """
    timeout_s = max(deadline - trio.current_time(), 0.0)
    topic = await metadata.wait_topic(name, timeout_s=timeout_s)
    with trio.move_on_at(deadline):
        while (current := topic_nowait(metadata, name, partition, trio.current_time())) is None:
            metadata.request_refresh()
            await metadata.wait_change()
        check()
        return current
    place = Place(topic=name, partition=partition)
    topic = metadata.topic_nowait(name) or topic
    raise TimedOutError(f"the topic has {len(topic.partitions)} partitions", place=place)


async def wait_memory(
    pool: BufferPool,
    topic: str,
    size: int,
    *,
    deadline: float,
    wake: Callable[[], None],
    check: Callable[[], None],
) -> None:
    """Take memory as soon as it is free. wake: wakes the sender. check: as of `wait_topic`."""
    granted = trio.Event()
    wait = pool.wait(size, granted.set)
    wake()  # batches are due as soon as records wait for memory
    try:
        with trio.move_on_at(deadline):
            await granted.wait()
        check()
        if not wait.granted:
            reason = f"{size} bytes of memory were not free within max.block.ms"
            raise BufferExhaustedError(reason, place=Place(topic=topic))
    except BaseException:
        pool.withdraw(wait)
        raise
