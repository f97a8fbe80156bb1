"""DeleteTopics (key 20): remove topics by name, or by id from version 6 on.

Waits for the controller, at most the request's timeout. Names are free again when this is answered;
files go later (file.delete.delay.ms). Each topic for itself: one that is named twice, also once by
name and once by id, stays.
"""

from collections.abc import Mapping
from typing import Final

import trio

from trio_kafka.plugin import (
    ZERO_TOPIC_ID,
    Charges,
    Context,
    ErrorCode,
    KafkaError,
    MetadataImage,
    TopicId,
    TopicImage,
    api,
    counted,
    in_slices,
    in_steps,
    rows_of,
)
from trio_kafka.protocol.messages.k20_delete_topics import (
    DeletableTopicResult,
    DeleteTopicsRequest,
    DeleteTopicsResponse,
    DeleteTopicState,
)

DISABLED_SINCE: Final = 3  # the version that brought TOPIC_DELETION_DISABLED
STRICT_SINCE: Final = 5  # KIP-599
SLICE: Final = 200  # topics that are looked at without letting others run
TWICE: Final = KafkaError(ErrorCode.INVALID_REQUEST, "the topic is named twice")


@api(DeleteTopicsRequest)
async def delete_topics(request: DeleteTopicsRequest, context: Context) -> DeleteTopicsResponse:
    image = context.metadata.image
    named: list[str | TopicId] = [*request.topic_names]
    unclear: list[DeleteTopicState] = []
    for some in in_slices(request.topics, SLICE):
        named += [_name(topic) for topic in some if _is_one(topic)]
        unclear += [topic for topic in some if not _is_one(topic)]
        await trio.lowlevel.checkpoint()
    times = await in_steps(counted(_topic(one, image) for one in named))
    wanted: list[str | TopicId] = []
    for part in in_slices(named, SLICE):
        wanted += [one for one in part if times[_topic(one, image)] == 1]
        await trio.lowlevel.checkpoint()
    charges = context.quotas.mutations(context.request, strict=context.version >= STRICT_SINCE)
    made = await context.parked(_delete, wanted, request, context, charges)
    return DeleteTopicsResponse(
        throttle_time_ms=charges.left_ms(),
        responses=rows_of(
            [*dict.fromkeys(named), *unclear], lambda one: _answer(one, made, context)
        ),
    )


async def _delete(
    wanted: list[str | TopicId], request: DeleteTopicsRequest, context: Context, charges: Charges
) -> dict[str | TopicId, TopicImage | KafkaError]:
    deadline = trio.current_time() + max(request.timeout_ms, 0) / 1000
    return await context.controller.delete_topics(wanted, deadline=deadline, charge=charges)


def _is_one(topic: DeleteTopicState) -> bool:
    """Whether it has a name or an id, not both."""
    return (topic.name is None) != (topic.topic_id == ZERO_TOPIC_ID)


def _name(topic: DeleteTopicState) -> str | TopicId:
    return TopicId(topic.topic_id) if topic.name is None else topic.name


def _topic(one: str | TopicId, image: MetadataImage) -> str | TopicId:
    """The same for a name and an id of the same topic."""
    topic = image.topic(one)
    return one if topic is None else topic.id


def _answer(
    one: str | TopicId | DeleteTopicState,
    made: Mapping[str | TopicId, TopicImage | KafkaError],
    context: Context,
) -> DeletableTopicResult:
    if isinstance(one, DeleteTopicState):
        return _unclear(one)
    return _result(one, made.get(one, TWICE), context)


def _unclear(topic: DeleteTopicState) -> DeletableTopicResult:
    return DeletableTopicResult(
        topic.name, topic.topic_id, ErrorCode.INVALID_REQUEST, "want a topic's name or its id"
    )


def _result(
    one: str | TopicId, made: TopicImage | KafkaError, context: Context
) -> DeletableTopicResult:
    if not isinstance(made, KafkaError):
        return DeletableTopicResult(made.name, made.id)
    disabled = made.code is ErrorCode.TOPIC_DELETION_DISABLED
    return DeletableTopicResult(
        name=one if isinstance(one, str) else None,
        topic_id=ZERO_TOPIC_ID if isinstance(one, str) else one,
        error_code=ErrorCode.INVALID_REQUEST
        if disabled and context.version < DISABLED_SINCE
        else made.code,
        error_message=made.message,
    )
