"""DeleteTopics (key 20): remove topics by name, or by id from version 6 on.

Waits for the controller, at most the request's timeout. Names are free again when this is answered;
files go later (file.delete.delay.ms).
"""

from collections import Counter

import trio

from trio_kafka.plugin import (
    ZERO_TOPIC_ID,
    Context,
    ErrorCode,
    KafkaError,
    TopicId,
    TopicImage,
    api,
)
from trio_kafka.protocol.messages.k20_delete_topics import (
    DeletableTopicResult,
    DeleteTopicsRequest,
    DeleteTopicsResponse,
)

Deleted = dict[str | TopicId, TopicImage | KafkaError]


@api(DeleteTopicsRequest)
async def delete_topics(request: DeleteTopicsRequest, context: Context) -> DeleteTopicsResponse:
    named = Counter(_named(request))
    wanted = [one for one, count in named.items() if count == 1]
    made = await context.parked(_delete, wanted, request, context)
    twice = KafkaError(ErrorCode.INVALID_REQUEST, "the topic is named twice")
    return DeleteTopicsResponse(
        responses=[_result(one, made.get(one, twice), context) for one in named]
    )


async def _delete(
    wanted: list[str | TopicId], request: DeleteTopicsRequest, context: Context
) -> Deleted:
    deadline = trio.current_time() + max(request.timeout_ms, 0) / 1000
    return await context.controller.delete_topics(wanted, deadline=deadline)


def _named(request: DeleteTopicsRequest) -> list[str | TopicId]:
    """Raises KafkaError(INVALID_REQUEST) where name and id are given, or neither."""
    named: list[str | TopicId] = list(request.topic_names)
    for topic in request.topics:
        if (topic.name is None) == (topic.topic_id == ZERO_TOPIC_ID):
            raise KafkaError(ErrorCode.INVALID_REQUEST, "want a topic's name or its id")
        named.append(TopicId(topic.topic_id) if topic.name is None else topic.name)
    return named


def _result(
    one: str | TopicId, made: TopicImage | KafkaError, context: Context
) -> DeletableTopicResult:
    if not isinstance(made, KafkaError):
        return DeletableTopicResult(name=made.name, topic_id=made.id)
    result = DeletableTopicResult(
        name=one if isinstance(one, str) else None,
        topic_id=ZERO_TOPIC_ID if isinstance(one, str) else one,
        error_code=made.code,
        error_message=made.message,
    )
    if made.code is ErrorCode.TOPIC_DELETION_DISABLED and context.version < 3:
        result.error_code = ErrorCode.INVALID_REQUEST  # that code came with version 3
    return result
