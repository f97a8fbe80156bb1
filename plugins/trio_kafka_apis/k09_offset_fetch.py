"""OffsetFetch (key 9): read the offsets that groups have stored.

Waits, parked, until what it has seen is committed. A partition without an offset has -1, and so has
one of a group that nobody knows. From version 8 on it asks for several groups at once, from version
10 on topics are named by their ids. With `require_stable` a partition whose offset an open
transaction may still change is UNSTABLE_OFFSET_COMMIT. Source: KIP-447, KIP-709, KIP-848, KIP-516.
"""

from collections.abc import Iterable, Iterator, Sequence
from functools import partial
from itertools import islice
from types import GeneratorType
from typing import Any, Final

from trio_kafka.plugin import (
    MANY_PARTITIONS,
    ZERO_TOPIC_ID,
    AskedTopic,
    Context,
    ErrorCode,
    FetchedTopic,
    FetchOffsets,
    KafkaError,
    Steps,
    TopicId,
    api,
    in_slices,
    rows_of,
    whole,
)
from trio_kafka.protocol.messages.k09_offset_fetch import (
    OffsetFetchRequest,
    OffsetFetchRequestGroup,
    OffsetFetchResponse,
    OffsetFetchResponseGroup,
    OffsetFetchResponsePartition,
    OffsetFetchResponsePartitions,
    OffsetFetchResponseTopic,
    OffsetFetchResponseTopics,
)

GROUPS_SINCE: Final = 8
IDS_SINCE: Final = 10
STEP: Final = 50  # topics that are looked up without letting others run
MANY: Final = 200  # partitions that are answered without letting others run
ERROR_SINCE: Final = 2  # before, each partition says the error
NO_OFFSET: Final = -1
Told = list[FetchedTopic] | KafkaError


def say_error(
    request: OffsetFetchRequest, code: ErrorCode, message: str | None
) -> OffsetFetchResponse:
    """The error for every group; where there is one group, for each partition too."""
    del message
    if request.groups:
        return OffsetFetchResponse(
            groups=rows_of(
                request.groups, lambda one: OffsetFetchResponseGroup(one.group_id, [], code)
            )
        )
    return OffsetFetchResponse(
        topics=rows_of(
            request.topics or (),
            lambda topic: OffsetFetchResponseTopic(
                topic.name,
                rows_of(topic.partition_indexes, lambda number: _refused(number, code)),
            ),
        ),
        error_code=code,
    )


@api(OffsetFetchRequest, largest=MANY_PARTITIONS, error=say_error)
def offset_fetch(request: OffsetFetchRequest, context: Context) -> Any:
    if context.version < GROUPS_SINCE:
        return _fetch_one(request, context)
    steps = _fetch_many(request, context)
    count = len(request.groups) + sum(len(group.topics or ()) for group in request.groups)
    return _through(steps) if count > MANY else whole(steps)


def _through(steps: Steps[Any]) -> Steps[Any]:
    """Take steps to their end, then the steps that they return, if they return any."""
    answer = yield from steps
    return (yield from answer) if isinstance(answer, GeneratorType) else answer


def _fetch_many(request: OffsetFetchRequest, context: Context) -> Steps[Any]:
    plans: list[_Plan] = []
    for group in request.groups:
        plan = _Plan(group)
        yield from plan.look(context)
        plans.append(plan)
        yield
    asked = (
        FetchOffsets(
            group_id=plan.group.group_id,
            member_id=plan.group.member_id,
            epoch=plan.group.member_epoch,
            topics=plan.asked,
            require_stable=request.require_stable,
        )
        for plan in plans
    )
    return context.groups.offsets.fetch(asked, partial(_answer, plans, context))


def _answer(
    plans: "list[_Plan]", context: Context, told: list[Told]
) -> OffsetFetchResponse | Steps[OffsetFetchResponse]:
    steps = _answer_in_steps(plans, context, told)
    return steps if _count(plans, told) > MANY else whole(steps)


def _answer_in_steps(
    plans: "list[_Plan]", context: Context, told: list[Told]
) -> Steps[OffsetFetchResponse]:
    response = OffsetFetchResponse()
    for plan, one in zip(plans, told, strict=True):
        response.groups.append((yield from plan.answer(one, context)))
        yield
    return response


def _count(plans: "list[_Plan]", told: list[Told]) -> int:
    """Groups, and their topics and partitions; not counted beyond MANY."""
    count = 0
    for plan, one in zip(plans, told, strict=True):
        topics = () if isinstance(one, KafkaError) else one
        count += 1 + len(topics) + len(plan.asked or ()) + plan.unknown
        for topic in islice(topics, MANY):
            count += len(topic.partitions)
        if count > MANY:
            break
    return count


def _fetch_one(request: OffsetFetchRequest, context: Context) -> Any:
    """As versions before 8 ask: one group, topics by name."""
    topics = request.topics
    asked = FetchOffsets(
        group_id=request.group_id,
        topics=None
        if topics is None
        else [AskedTopic(one.name, ZERO_TOPIC_ID, one.partition_indexes) for one in topics],
        require_stable=request.require_stable,
    )
    return context.groups.offsets.fetch([asked], partial(_answer_one, request))


def _answer_one(request: OffsetFetchRequest, told: list[Told]) -> OffsetFetchResponse:
    found = told[0]
    if isinstance(found, KafkaError):
        return say_error(request, _as_fetched(found), None)
    return OffsetFetchResponse(topics=rows_of(found, _row_of_one))


def _row_of_one(topic: FetchedTopic) -> OffsetFetchResponseTopic:
    return OffsetFetchResponseTopic(
        topic.topic,
        rows_of(
            topic.partitions,
            lambda one: OffsetFetchResponsePartition(
                one.partition, one.offset, one.leader_epoch, one.metadata, one.error
            ),
        ),
    )


class _Plan:
    """What a group is asked, and the places of the answer that are known before.

    asked: None: all topics. unknown: number of topics whose ids do not exist, answered here.
    """

    def __init__(self, group: OffsetFetchRequestGroup) -> None:
        self.group = group
        self.asked: list[AskedTopic] | None = None
        self.unknown = 0
        self._places: list[OffsetFetchResponseTopics | None] = []

    def look(self, context: Context) -> Steps[None]:
        """Find out what to ask."""
        topics = self.group.topics
        if topics is None:
            return
        self.asked = []
        for number, topic in enumerate(topics, 1):
            if not number % STEP:
                yield
            name, topic_id = topic.name, topic.topic_id
            if context.version >= IDS_SINCE:
                found = context.metadata.image.topic_names.get(TopicId(topic_id))
                if found is None:
                    self._places.append(_unknown(topic_id, topic.partition_indexes))
                    self.unknown += 1
                    continue
                name = found
            self._places.append(None)
            self.asked.append(AskedTopic(name, topic_id, topic.partition_indexes))

    def answer(self, told: Told, context: Context) -> Steps[OffsetFetchResponseGroup]:
        response = OffsetFetchResponseGroup(self.group.group_id)
        if isinstance(told, KafkaError):
            response.error_code = _as_fetched(told)
            return response
        if self.asked is None:
            for topic in _known(told, context):
                response.topics.append((yield from _row(topic)))
            return response
        found = iter(told)
        for place in self._places:
            response.topics.append(place or (yield from _row(next(found))))
            yield
        return response


def _known(told: Iterable[FetchedTopic], context: Context) -> Iterator[FetchedTopic]:
    """Whoever knows topics by their ids is not told of those that are no more."""
    for topic in told:
        if context.version < IDS_SINCE:
            yield topic
            continue
        image = context.metadata.image.topics.get(topic.topic)
        if image is not None:
            yield topic._replace(topic_id=image.id)


def _row(topic: FetchedTopic) -> Steps[OffsetFetchResponseTopics]:
    row = OffsetFetchResponseTopics(topic.topic, topic.topic_id)
    for some in in_slices(topic.partitions, MANY):
        row.partitions += [
            OffsetFetchResponsePartitions(
                one.partition, one.offset, one.leader_epoch, one.metadata, one.error
            )
            for one in some
        ]
        yield
    return row


def _unknown(topic_id: bytes, partitions: Sequence[int]) -> OffsetFetchResponseTopics:
    code = ErrorCode.UNKNOWN_TOPIC_ID
    rows = rows_of(
        partitions,
        lambda number: OffsetFetchResponsePartitions(number, NO_OFFSET, NO_OFFSET, "", code),
    )
    return OffsetFetchResponseTopics("", topic_id, rows)


def _refused(number: int, code: ErrorCode) -> OffsetFetchResponsePartition:
    return OffsetFetchResponsePartition(number, NO_OFFSET, NO_OFFSET, "", code)


def _as_fetched(error: KafkaError) -> ErrorCode:
    """Consumers before 3.9 do not know COORDINATOR_NOT_AVAILABLE here, and would not try again."""
    if error.code is ErrorCode.COORDINATOR_NOT_AVAILABLE:
        return ErrorCode.NOT_COORDINATOR
    return error.code
