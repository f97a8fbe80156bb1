"""DeleteTopics (key 20): delete topics by name, or by id from version 6 on.

Waits for the controller, at most the timeout of the request. The names are free again when this is
answered; the files are removed later (file.delete.delay.ms). Each topic is independent of the
others. A topic that is named twice, also once by name and once by id, is not deleted.

Needs DELETE on the cluster or on each topic. The response names a topic that was given by id only
if the client has DESCRIBE on it. A topic that the client may not describe is denied, whether it
exists or not.
"""

from collections.abc import Mapping
from typing import Final

import trio

from trio_kafka.controller.controller import Controller
from trio_kafka.errors import ErrorCode, KafkaError
from trio_kafka.introspect.declared_waits import CONTROLLER, waits_for
from trio_kafka.metadata.image import MetadataImage, TopicImage
from trio_kafka.model import ZERO_TOPIC_ID, TopicId
from trio_kafka.protocol.messages.k20_delete_topics import (
    DeletableTopicResult,
    DeleteTopicsRequest,
    DeleteTopicsResponse,
    DeleteTopicState,
)
from trio_kafka.quotas.mutation import Charges
from trio_kafka.requests.api import api
from trio_kafka.requests.context import Context
from trio_kafka.requests.lazy_arrays import rows_of
from trio_kafka.requests.rows import visit
from trio_kafka.requests.throttling.throttle import Throttle
from trio_kafka.scheduling.chunked_work import counted
from trio_kafka.scheduling.loop_budget import in_steps
from trio_kafka.security.operations import Operation

DISABLED_SINCE: Final = 3  # the version that brought TOPIC_DELETION_DISABLED
STRICT_SINCE: Final = 5  # KIP-599
TWICE: Final = KafkaError(ErrorCode.INVALID_REQUEST, "the topic is named twice")
DENIED: Final = KafkaError(ErrorCode.TOPIC_AUTHORIZATION_FAILED)

Name = str | TopicId


@api(DeleteTopicsRequest)
async def delete_topics(request: DeleteTopicsRequest, context: Context) -> DeleteTopicsResponse:
    image = context.image
    named: list[Name] = [*request.topic_names]
    unclear: list[DeleteTopicState] = []
    await visit(
        request.topics,
        lambda topic: (
            named.append(_name(topic)) if _is_named_once(topic) else unclear.append(topic)
        ),
    )
    denials = _Denials(await in_steps(counted(named)), image, context)
    await visit(dict.fromkeys(named), denials.look_at)
    failed = denials.results
    # Only now: that two of them are one topic would tell what the client may not know.
    times = await in_steps(counted(_topic(name, image) for name in named if name not in failed))
    deletable: list[Name] = []

    def add(name: Name) -> None:
        if name not in failed and times[_topic(name, image)] == 1:
            deletable.append(name)

    await visit(named, add)
    charges = context[Throttle].mutations(context.request, strict=context.version >= STRICT_SINCE)
    results = await context.parked(_delete, deletable, request, context, charges)
    return DeleteTopicsResponse(
        throttle_time_ms=charges.left_ms(),
        responses=rows_of(
            [*dict.fromkeys(named), *unclear],
            lambda name: _answer(name, failed=failed, results=results, context=context),
        ),
    )


class _Denials:
    """Rows of names that are there twice, and of topics that may not be deleted."""

    def __init__(self, times: Mapping[Name, int], image: MetadataImage, context: Context) -> None:
        self.results: dict[Name, DeletableTopicResult] = {}
        self._times = times
        self._image = image
        self._context = context
        self._may_delete_all = context.is_authorized(Operation.DELETE, cluster=True)

    def look_at(self, requested: Name) -> None:
        """Add the row of a name, unless the controller decides."""
        topic = self._image.topic(requested)
        name = requested if isinstance(requested, str) else None if topic is None else topic.name
        if self._times[requested] > 1:
            self.results[requested] = _refusal(requested, TWICE)
        elif name is not None and not self._may_delete_all:
            may_describe = self._context.is_authorized(Operation.DESCRIBE, topic=name)
            if may_describe and topic is None:
                return  # the controller answers that there is no such topic
            may_name = may_describe or not isinstance(requested, str)
            if not (may_name and self._context.is_authorized(Operation.DELETE, topic=name)):
                self.results[requested] = _refusal(requested, DENIED)
                if may_describe:
                    self.results[requested].name = name


@waits_for("change", CONTROLLER, "the controller to delete topics")
async def _delete(
    names: list[Name], request: DeleteTopicsRequest, context: Context, charges: Charges
) -> dict[Name, TopicImage | KafkaError]:
    deadline = trio.current_time() + max(request.timeout_ms, 0) / 1000
    return await context[Controller].delete_topics(names, deadline=deadline, charge=charges)


def _is_named_once(topic: DeleteTopicState) -> bool:
    """Return whether a topic has either a name or an id."""
    return (topic.name is None) != (topic.topic_id == ZERO_TOPIC_ID)


def _name(topic: DeleteTopicState) -> Name:
    return TopicId(topic.topic_id) if topic.name is None else topic.name


def _topic(name: Name, image: MetadataImage) -> Name:
    """Return the id of a topic that exists, else what the client named."""
    topic = image.topic(name)
    return name if topic is None else topic.id


def _answer(
    name: Name | DeleteTopicState,
    *,
    failed: Mapping[Name, DeletableTopicResult],
    results: Mapping[Name, TopicImage | KafkaError],
    context: Context,
) -> DeletableTopicResult:
    if isinstance(name, DeleteTopicState):
        return _unclear(name)
    return failed.get(name) or _result(name, results.get(name, TWICE), context)


def _unclear(topic: DeleteTopicState) -> DeletableTopicResult:
    reason = "a topic with name and id, or without both: expected one of them"
    return DeletableTopicResult(topic.name, topic.topic_id, ErrorCode.INVALID_REQUEST, reason)


def _result(name: Name, result: TopicImage | KafkaError, context: Context) -> DeletableTopicResult:
    if not isinstance(result, KafkaError):
        return DeletableTopicResult(result.name, result.id)
    row = _refusal(name, result)
    if result.code is ErrorCode.TOPIC_DELETION_DISABLED and context.version < DISABLED_SINCE:
        row.error_code = ErrorCode.INVALID_REQUEST
    return row


def _refusal(name: Name, error: KafkaError) -> DeletableTopicResult:
    """Return the row of a topic that stays, named as the client named it."""
    return DeletableTopicResult(
        name=name if isinstance(name, str) else None,
        topic_id=ZERO_TOPIC_ID if isinstance(name, str) else name,
        error_code=error.code,
        error_message=error.message,
    )
