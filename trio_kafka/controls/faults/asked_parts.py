"""Parts that a request asks for without naming them: those of a fetch session, all topics.

A rule about a partition matches each poll of a session with that partition, although the poll does
not name it. A Metadata for all topics names each of them, and every topic its partitions.
"""

from collections.abc import Iterator
from copy import copy

from attrs import evolve

from trio_kafka.controls.faults.parts import NamedParts, Names
from trio_kafka.metadata.image import MetadataImage, TopicImage
from trio_kafka.model import TopicId
from trio_kafka.protocol.messages.k01_fetch import FetchPartition, FetchRequest, FetchTopic
from trio_kafka.protocol.messages.k03_metadata import MetadataRequest
from trio_kafka.protocol.messages.k75_describe_topic_partitions import (
    DescribeTopicPartitionsRequest,
)
from trio_kafka.replication.leader.session_cache import SessionCache
from trio_kafka.requests.context import Context
from trio_kafka.requests.parts import MissingPartError

# Their responses always have parts that the request does not name; errors replace those.
ANSWERED_IN_FULL = (FetchRequest, MetadataRequest, DescribeTopicPartitionsRequest)


def parts_of(context: Context) -> NamedParts:
    """Return a reader of the parts of messages that knows the broker's topics."""

    def name_of(topic_id: TopicId) -> str | None:
        topic = _topic(context, topic_id)
        return None if topic is None else topic.name

    return NamedParts(name_of)


def names_in(request: object, context: Context, parts: NamedParts) -> Iterator[Names]:
    """Yield the names of each innermost part that a request asks for."""
    if isinstance(request, FetchRequest):
        request = in_full(request, context)
    if isinstance(request, MetadataRequest) and request.topics is None:
        image = _image(context)
        if image is not None:
            for topic in image.topics.values():
                yield from _with_partitions(Names(topic=topic.name), topic)
        return
    for names in parts.below(request):
        if isinstance(request, ANSWERED_IN_FULL) and names.partition is None:
            yield from _with_partitions(names, _topic(context, names.topic))
        else:
            yield names


def in_full(request: FetchRequest, context: Context) -> FetchRequest:
    """Return a copy of a Fetch that also names the partitions of its session."""
    full = copy(request)
    full.topics = list(request.topics)
    named = {
        (topic.topic or topic.topic_id, partition.partition)
        for topic in request.topics
        for partition in topic.partitions
    }
    for key, number in _in_session(request, context):
        if (key, number) not in named:
            name, topic_id = (key, bytes(16)) if isinstance(key, str) else ("", key)
            full.topics.append(FetchTopic(name, topic_id, [FetchPartition(number)]))
    return full


def _in_session(request: FetchRequest, context: Context) -> list[tuple[TopicId | str, int]]:
    if request.session_id <= 0 or request.session_epoch <= 0:
        return []
    try:
        return context[SessionCache].keys_of(request.session_id)
    except MissingPartError:
        return []


def _with_partitions(names: Names, topic: TopicImage | None) -> Iterator[Names]:
    """Yield the names of each partition of a topic; those of the topic if it does not exist."""
    if topic is None:
        yield names
        return
    for number in topic.partitions:
        yield evolve(names, partition=number)


def _topic(context: Context, name: TopicId | str | None) -> TopicImage | None:
    image = _image(context)
    return None if image is None or name is None else image.topic(name)


def _image(context: Context) -> MetadataImage | None:
    try:
        return context.image
    except MissingPartError:
        return None
