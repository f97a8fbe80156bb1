"""OffsetFetch (key 9): return the offsets that groups have stored.

Waits, parked, until the offsets it read are committed. A partition without an offset has -1, and so
has every partition of a group that does not exist. From version 8 on it asks for several groups at
once, from version 10 on topics are named by id. A group, topic or partition that is named twice is
answered once, at the place of its first occurrence: the answer is never larger than what is asked
for and stored. With `require_stable` a partition whose offset an
open transaction may still change gets UNSTABLE_OFFSET_COMMIT.
Source: KIP-447, KIP-709, KIP-848, KIP-516.

Needs DESCRIBE on each group and on each topic. Where a group is asked for all topics, those without
the permission are left out.
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
    Operation,
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
    OffsetFetchRequestTopics,
    OffsetFetchResponse,
    OffsetFetchResponseGroup,
    OffsetFetchResponsePartition,
    OffsetFetchResponsePartitions,
    OffsetFetchResponseTopic,
    OffsetFetchResponseTopics,
)

GROUPS_SINCE: Final = 8
IDS_SINCE: Final = 10
STEP: Final = 50  # topics in one step
MANY: Final = 200  # partitions in one step
PARTITIONS: Final = 1000  # numbers of partitions in one step
NO_OFFSET: Final = -1
Told = list[FetchedTopic] | KafkaError
_TopicsByKey = dict[tuple[str, bytes], dict[int, None]]


def say_error(
    request: OffsetFetchRequest, code: ErrorCode, message: str | None
) -> OffsetFetchResponse:
    """Return the error for each group; before version 8, for each partition too."""
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
        context.authorize(Operation.DESCRIBE, group=request.group_id)
    groups = _groups(request, context.version)
    steps = _fetch(groups, request, context)
    return _through(steps) if _is_large(groups) else whole(steps)


def _is_large(groups: Sequence[OffsetFetchRequestGroup]) -> bool:
    """Return whether a request names more than MANY groups, topics and partitions."""
    count = len(groups)
    for group in groups:
        count += len(group.topics or ())
        if count > MANY:
            return True
        for topic in group.topics or ():
            count += len(topic.partition_indexes)
    return count > MANY


def _distinct(groups: Sequence[OffsetFetchRequestGroup]) -> Steps[list[OffsetFetchRequestGroup]]:
    """Return the groups without repetitions; all that is asked of a group is asked for at once."""
    topics: dict[str, _TopicsByKey | None] = {}
    first: dict[str, OffsetFetchRequestGroup] = {}
    for group in groups:
        first.setdefault(group.group_id, group)
        if group.topics is None or topics.setdefault(group.group_id, {}) is None:
            topics[group.group_id] = None
            yield
            continue
        named = topics[group.group_id] or {}
        topics[group.group_id] = named
        for topic in group.topics:
            numbers = named.setdefault((topic.name, topic.topic_id), {})
            for some in in_slices(topic.partition_indexes, PARTITIONS):
                numbers.update(dict.fromkeys(some))
                yield
        yield
    return [
        OffsetFetchRequestGroup(
            group_id, first[group_id].member_id, first[group_id].member_epoch, _topics(named)
        )
        for group_id, named in topics.items()
    ]


def _topics(named: "_TopicsByKey | None") -> list[OffsetFetchRequestTopics] | None:
    if named is None:
        return None
    return [
        OffsetFetchRequestTopics(name, topic_id, list(numbers))
        for (name, topic_id), numbers in named.items()
    ]


def _groups(request: OffsetFetchRequest, version: int) -> list[OffsetFetchRequestGroup]:
    """Return the groups of a request; before version 8 there is one."""
    if version >= GROUPS_SINCE:
        return request.groups
    topics = request.topics
    if topics is not None:
        named = [
            OffsetFetchRequestTopics(one.name, ZERO_TOPIC_ID, one.partition_indexes)
            for one in topics
        ]
    return [OffsetFetchRequestGroup(request.group_id, topics=None if topics is None else named)]


def _through(steps: Steps[Any]) -> Steps[Any]:
    """Take steps to their end, then the steps that they returned."""
    answer = yield from steps
    return (yield from answer) if isinstance(answer, GeneratorType) else answer


def _fetch(
    groups: Sequence[OffsetFetchRequestGroup], request: OffsetFetchRequest, context: Context
) -> Steps[Any]:
    plans: list[_Plan] = []
    for group in (yield from _distinct(groups)):
        plan = _Plan(group)
        yield from plan.look(context)
        plans.append(plan)
        yield
    if groups and all(plan.denial is not None for plan in plans):
        return _answer(request, plans, context, [])
    asked = (
        FetchOffsets(
            group_id=plan.group.group_id,
            member_id=plan.group.member_id,
            epoch=plan.group.member_epoch,
            topics=plan.asked,
            require_stable=request.require_stable,
        )
        for plan in plans
        if plan.denial is None
    )
    return context.groups.offsets.fetch(asked, partial(_answer, request, plans, context))


def _answer(
    request: OffsetFetchRequest, plans: "list[_Plan]", context: Context, told: list[Told]
) -> OffsetFetchResponse | Steps[OffsetFetchResponse]:
    """Return the response. told: of the groups that were asked, in their order."""
    found = iter(told)
    of_all = [next(found) if plan.denial is None else plan.denial for plan in plans]
    if context.version < GROUPS_SINCE:
        steps = _answer_one(request, plans[0], context, of_all[0])
    else:
        steps = _answer_many(plans, context, of_all)
    return steps if _count(plans, of_all) > MANY else whole(steps)


def _answer_many(
    plans: "list[_Plan]", context: Context, told: list[Told]
) -> Steps[OffsetFetchResponse]:
    response = OffsetFetchResponse()
    for plan, one in zip(plans, told, strict=True):
        response.groups.append((yield from plan.answer(one, context)))
        yield
    return response


def _answer_one(
    request: OffsetFetchRequest, plan: "_Plan", context: Context, told: Told
) -> Steps[OffsetFetchResponse]:
    """Return the response of a version before 8."""
    if isinstance(told, KafkaError):
        return say_error(request, _as_fetched(told), None)
    group = yield from plan.answer(told, context)
    return OffsetFetchResponse(topics=rows_of(group.topics, _row_of_one))


def _row_of_one(topic: OffsetFetchResponseTopics) -> OffsetFetchResponseTopic:
    return OffsetFetchResponseTopic(
        topic.name,
        rows_of(
            topic.partitions,
            lambda one: OffsetFetchResponsePartition(
                one.partition_index,
                one.committed_offset,
                one.committed_leader_epoch,
                one.metadata,
                one.error_code,
            ),
        ),
    )


def _count(plans: "list[_Plan]", told: list[Told]) -> int:
    """Count groups, topics and partitions, up to a little more than MANY."""
    count = 0
    for plan, one in zip(plans, told, strict=True):
        topics = () if isinstance(one, KafkaError) else one
        count += 1 + len(topics) + len(plan.asked or ()) + plan.answered
        for topic in islice(topics, MANY):
            count += len(topic.partitions)
        if count > MANY:
            break
    return count


class _Plan:
    """Plan for one group: topics to ask for, and rows of the response that are known before.

    asked: None stands for all topics. denial: the error of a group that may not be described.
    answered: number of topics whose rows are known before.
    """

    def __init__(self, group: OffsetFetchRequestGroup) -> None:
        self.group = group
        self.asked: list[AskedTopic] | None = None
        self.denial: KafkaError | None = None
        self.answered = 0
        self._places: list[OffsetFetchResponseTopics | None] = []

    def look(self, context: Context) -> Steps[None]:
        """Find out what to ask for."""
        if not context.is_authorized(Operation.DESCRIBE, group=self.group.group_id):
            self.denial = KafkaError(ErrorCode.GROUP_AUTHORIZATION_FAILED)
            return
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
                    self._deny(topic, ErrorCode.UNKNOWN_TOPIC_ID)
                    continue
                name = found
            if not context.is_authorized(Operation.DESCRIBE, topic=name):
                self._deny(topic, ErrorCode.TOPIC_AUTHORIZATION_FAILED)
                continue
            self._places.append(None)
            self.asked.append(AskedTopic(name, topic_id, topic.partition_indexes))

    def _deny(self, topic: OffsetFetchRequestTopics, code: ErrorCode) -> None:
        rows = rows_of(topic.partition_indexes, lambda number: _no_offset(number, code))
        self._places.append(OffsetFetchResponseTopics(topic.name, topic.topic_id, rows))
        self.answered += 1

    def answer(self, told: Told, context: Context) -> Steps[OffsetFetchResponseGroup]:
        """Return the group's part of the response. told: from the group, or its error."""
        response = OffsetFetchResponseGroup(self.group.group_id)
        if isinstance(told, KafkaError):
            response.error_code = _as_fetched(told)
            return response
        if self.asked is None:
            for topic in _visible(told, context):
                response.topics.append(_row(topic))
                yield
            return response
        found = iter(told)
        for place in self._places:
            response.topics.append(place or _row(next(found)))
            yield
        return response


def _visible(told: Iterable[FetchedTopic], context: Context) -> Iterator[FetchedTopic]:
    """Yield the topics that the client may see; from version 10 on only those that exist."""
    for topic in told:
        if not context.is_authorized(Operation.DESCRIBE, topic=topic.topic):
            continue
        if context.version < IDS_SINCE:
            yield topic
            continue
        image = context.metadata.image.topics.get(topic.topic)
        if image is not None:
            yield topic._replace(topic_id=image.id)


def _row(topic: FetchedTopic) -> OffsetFetchResponseTopics:
    rows = rows_of(
        topic.partitions,
        lambda one: OffsetFetchResponsePartitions(
            one.partition, one.offset, one.leader_epoch, one.metadata, one.error
        ),
    )
    return OffsetFetchResponseTopics(topic.topic, topic.topic_id, rows)


def _no_offset(number: int, code: ErrorCode) -> OffsetFetchResponsePartitions:
    return OffsetFetchResponsePartitions(number, NO_OFFSET, NO_OFFSET, "", code)


def _refused(number: int, code: ErrorCode) -> OffsetFetchResponsePartition:
    return OffsetFetchResponsePartition(number, NO_OFFSET, NO_OFFSET, "", code)


def _as_fetched(error: KafkaError) -> ErrorCode:
    """Return a code that consumers retry: before 3.9 they do not know COORDINATOR_NOT_AVAILABLE."""
    if error.code is ErrorCode.COORDINATOR_NOT_AVAILABLE:
        return ErrorCode.NOT_COORDINATOR
    return error.code
