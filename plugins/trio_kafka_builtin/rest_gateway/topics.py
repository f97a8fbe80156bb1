"""Topics: listed, described, created and deleted by requests."""

from collections.abc import Mapping
from typing import Final, TypeGuard

import trio

from trio_kafka.errors import ErrorCode, KafkaError
from trio_kafka.protocol.messages.k19_create_topics import (
    CreatableTopic,
    CreatableTopicConfig,
    CreateTopicsRequest,
)
from trio_kafka.protocol.messages.k20_delete_topics import DeleteTopicsRequest, DeleteTopicState
from trio_kafka.protocol.texts import show_uuid
from trio_kafka_builtin.rest_gateway.client import Client, refused
from trio_kafka_builtin.rest_gateway.objects import check_object

MOST_NAMES: Final = 1000
_STEP: Final = 1000


async def list_topics(client: Client, after: str, most: int) -> dict[str, object]:
    """Return the topics that the client may see, sorted, after `after`, and where to go on."""
    names: list[str] = []
    for number, name in enumerate(client.context.parts.metadata.image.topics, 1):
        if name > after and client.may_describe(name):
            names.append(name)
        if len(names) >= 2 * _STEP:
            names = sorted(names)[: most + 1]
        if not number % _STEP:
            await trio.lowlevel.checkpoint()
    names = sorted(names)[: most + 1]
    return {"topics": names[:most], "next": names[most - 1] if len(names) > most else None}


async def describe_topic(client: Client, name: str) -> dict[str, object]:
    """Return a topic and its partitions. Raises KafkaError as `Client.topic`."""
    topic = client.topic(name)
    rows = []
    for number, state in topic.partitions.items():
        row = {
            "partition": number,
            "leader": int(state.leader),
            "replicas": list(map(int, state.replicas)),
            "isr": list(map(int, state.isr)),
        }
        rows.append(row)
        if not len(rows) % _STEP:
            await trio.lowlevel.checkpoint()
    return {"name": topic.name, "id": show_uuid(topic.id), "partitions": rows}


async def create_topic(client: Client, body: object) -> dict[str, object]:
    """Create a topic. Raises KafkaError."""
    topic_request = _creatable(body)
    settings = client.context.settings
    response = await client.ask(
        CreateTopicsRequest(topics=[topic_request], timeout_ms=settings.timeout_ms)
    )
    (topic,) = response.topics
    if topic.error_code:
        raise refused(topic.error_code, topic.error_message)
    return {
        "name": topic.name,
        "id": show_uuid(topic.topic_id),
        "partitions": topic.num_partitions,
        "replication_factor": topic.replication_factor,
    }


async def delete_topic(client: Client, name: str) -> None:
    """Delete a topic. Raises KafkaError."""
    timeout_ms = client.context.settings.timeout_ms
    topics = [DeleteTopicState(name=name)]
    response = await client.ask(DeleteTopicsRequest(topics=topics, timeout_ms=timeout_ms))
    (topic,) = response.responses
    if topic.error_code:
        raise refused(topic.error_code, topic.error_message)


def _creatable(body: object) -> CreatableTopic:
    """Parse a creation. Raises KafkaError(INVALID_REQUEST)."""
    shape = '{"name": text, "partitions": n, "replication_factor": n, "configs": {text: text}}'
    fields = check_object(body, _NAMES, "the body")
    name = fields.get("name")
    if not isinstance(name, str):
        raise KafkaError(ErrorCode.INVALID_REQUEST, f"want {shape}")
    partitions, factor = fields.get("partitions", -1), fields.get("replication_factor", -1)
    configs = fields.get("configs", {})
    if not _is_count(partitions) or not _is_count(factor) or not _has_texts(configs):
        raise KafkaError(ErrorCode.INVALID_REQUEST, f"want {shape}")
    return CreatableTopic(
        name=name,
        num_partitions=partitions,
        replication_factor=factor,
        configs=[CreatableTopicConfig(name, value) for name, value in configs.items()],
    )


def _is_count(value: object) -> TypeGuard[int]:
    return isinstance(value, int) and not isinstance(value, bool) and -(1 << 15) <= value < 1 << 15


def _has_texts(value: object) -> TypeGuard[Mapping[str, str]]:
    return isinstance(value, Mapping) and all(isinstance(text, str) for text in value.values())


_NAMES: Final = ("name", "partitions", "replication_factor", "configs")
