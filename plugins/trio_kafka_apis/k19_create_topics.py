"""CreateTopics (key 19): make topics, each for itself.

Waits for the controller, at most the request's timeout: a topic is answered when its records are
durable and this broker has seen them. The answer tells the topic's settings (version 5 on,
KIP-525).
"""

from collections import Counter

import trio

from trio_kafka.plugin import (
    Context,
    CreatedTopic,
    ErrorCode,
    KafkaError,
    NewTopic,
    NodeId,
    api,
    describe_topic,
    lazily,
)
from trio_kafka.protocol.messages.k19_create_topics import (
    CreatableTopic,
    CreatableTopicConfigs,
    CreatableTopicResult,
    CreateTopicsRequest,
    CreateTopicsResponse,
)


@api(CreateTopicsRequest)
async def create_topics(request: CreateTopicsRequest, context: Context) -> CreateTopicsResponse:
    named = Counter(topic.name for topic in request.topics)
    wanted: list[NewTopic] = []
    failed: dict[str, KafkaError] = {}
    for topic in request.topics:
        if named[topic.name] == 1:
            try:
                wanted.append(_wanted(topic))
            except KafkaError as error:
                failed[topic.name] = error
        else:
            failed[topic.name] = KafkaError(
                ErrorCode.INVALID_REQUEST, f"topic {topic.name} is named twice"
            )
    made = await context.parked(_create, wanted, request, context)
    return CreateTopicsResponse(
        topics=lazily(named, lambda name: _result(name, failed.get(name) or made[name], context))
    )


async def _create(
    wanted: list[NewTopic], request: CreateTopicsRequest, context: Context
) -> dict[str, CreatedTopic | KafkaError]:
    return await context.controller.create_topics(
        wanted,
        deadline=trio.current_time() + max(request.timeout_ms, 0) / 1000,
        validate_only=request.validate_only,
    )


def _wanted(topic: CreatableTopic) -> NewTopic:
    """Raises KafkaError for what is said twice."""
    assignments: dict[int, list[NodeId]] = {}
    for one in topic.assignments:
        if one.partition_index in assignments:
            raise KafkaError(
                ErrorCode.INVALID_REPLICA_ASSIGNMENT,
                f"partition {one.partition_index} is assigned twice",
            )
        assignments[one.partition_index] = [NodeId(node) for node in one.broker_ids]
    return NewTopic(
        name=topic.name,
        partitions=topic.num_partitions,
        replication_factor=topic.replication_factor,
        assignments=assignments,
        configs={config.name: config.value for config in topic.configs},
    )


def _result(name: str, made: CreatedTopic | KafkaError, context: Context) -> CreatableTopicResult:
    if isinstance(made, KafkaError):
        return CreatableTopicResult(
            name=name, error_code=made.code, error_message=made.message, configs=None
        )
    layers = context.settings.usable(context.metadata.image)
    return CreatableTopicResult(
        name=name,
        topic_id=made.id,
        error_message=None,
        num_partitions=made.partitions,
        replication_factor=made.replication_factor,
        configs=[
            CreatableTopicConfigs(row.name, row.value, row.read_only, row.source, row.sensitive)
            for row in describe_topic(made.configs, layers)
        ],
    )
