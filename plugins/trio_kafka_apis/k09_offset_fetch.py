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

from collections.abc import Iterator, Sequence
from functools import partial
from typing import Final

from attrs import field

from trio_kafka.attributes import define
from trio_kafka.coordinators.groups.coordinator import GroupCoordinator
from trio_kafka.coordinators.groups.offset_values import FetchedTopic, FetchOffsets, TopicPartitions
from trio_kafka.errors import ErrorCode, KafkaError
from trio_kafka.model import ZERO_TOPIC_ID, TopicId
from trio_kafka.pending import Eventual, then
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
from trio_kafka.requests.api import MANY_PARTITIONS, api
from trio_kafka.requests.context import Context
from trio_kafka.requests.lazy_arrays import rows_of
from trio_kafka.requests.rows import Pairs, for_each
from trio_kafka.security.operations import Operation

GROUPS_SINCE: Final = 8
IDS_SINCE: Final = 10
PARTITIONS: Final = 1000  # numbers of partitions that are taken at once
NO_OFFSET: Final = -1
Fetched = list[FetchedTopic] | KafkaError
TopicKey = tuple[str, bytes]  # name and id, one of which is empty


def say_error(
    request: OffsetFetchRequest, code: ErrorCode, message: str | None
) -> OffsetFetchResponse:
    """Return the error for each group; before version 8, for each partition too."""
    del message
    if request.groups:
        return OffsetFetchResponse(
            groups=rows_of(
                request.groups, lambda group: OffsetFetchResponseGroup(group.group_id, [], code)
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
def offset_fetch(request: OffsetFetchRequest, context: Context) -> Eventual[OffsetFetchResponse]:
    if context.version < GROUPS_SINCE:
        context.authorize(Operation.DESCRIBE, group=request.group_id)
    groups = _groups(request, context.version)
    fetch = _Fetch(request, context)
    topics = Pairs(groups, lambda group: group.topics or ())
    named = Pairs(topics, lambda pair: _chunks(pair[1].partition_indexes))
    return for_each(groups, fetch.name_group, lambda: for_each(named, fetch.name, fetch.plan))


def _chunks(numbers: list[int]) -> Sequence[list[int]]:
    """Return numbers of partitions in lists of at most PARTITIONS; one list if there are none."""
    if len(numbers) <= PARTITIONS:
        return (numbers,)
    return [numbers[at : at + PARTITIONS] for at in range(0, len(numbers), PARTITIONS)]


def _groups(request: OffsetFetchRequest, version: int) -> list[OffsetFetchRequestGroup]:
    """Return the groups of a request; before version 8 there is one."""
    if version >= GROUPS_SINCE:
        return request.groups
    topics = request.topics
    if topics is not None:
        named = [
            OffsetFetchRequestTopics(topic.name, ZERO_TOPIC_ID, topic.partition_indexes)
            for topic in topics
        ]
    return [OffsetFetchRequestGroup(request.group_id, topics=None if topics is None else named)]


@define(eq=False)
class _Plan:
    """Plan for one group: the offsets to ask for, and its part of the response.

    named: partitions by topic; None: all topics.
    asked: topics for the coordinator; None: all. answered: rows that are known without it, or None
    for each of `asked`, in the order of the request.
    fetched: what the coordinator told, or the error of a group that may not be described.
    """

    group: OffsetFetchRequestGroup
    named: dict[TopicKey, dict[int, None]] | None = field(factory=dict, init=False)
    query_topics: list[TopicPartitions] | None = field(default=None, init=False)
    answered: list[OffsetFetchResponseTopics | None] = field(factory=list, init=False)
    fetched: Fetched | None = field(default=None, init=False)
    response: OffsetFetchResponseGroup = field(init=False)

    def __attrs_post_init__(self) -> None:
        self.response = OffsetFetchResponseGroup(self.group.group_id)

    def query(self, *, require_stable: bool) -> FetchOffsets:
        """Return what the coordinator is asked."""
        return FetchOffsets(
            group_id=self.group.group_id,
            member_id=self.group.member_id,
            epoch=self.group.member_epoch,
            topics=self.query_topics,
            require_stable=require_stable,
        )


@define(eq=False)
class _Fetch:
    """One request: names its groups without repetitions, asks for offsets, writes the response."""

    request: OffsetFetchRequest
    context: Context
    plans: dict[str, _Plan] = field(factory=dict, init=False)

    # What is asked for

    def name_group(self, group: OffsetFetchRequestGroup) -> None:
        """Add a group; all that is asked of it is asked for at once."""
        plan = self.plans.setdefault(group.group_id, _Plan(group))
        if group.topics is None:
            plan.named = None

    def name(
        self, chunk: tuple[tuple[OffsetFetchRequestGroup, OffsetFetchRequestTopics], list[int]]
    ) -> None:
        """Add partitions of a topic of a group."""
        (group, topic), numbers = chunk
        plan = self.plans[group.group_id]
        if plan.named is not None:
            topic_numbers = plan.named.setdefault((topic.name, topic.topic_id), {})
            topic_numbers.update(dict.fromkeys(numbers))

    def plan(self) -> Eventual[OffsetFetchResponse]:
        """Find out which groups and topics the client may describe, and ask for these."""
        topics = Pairs(self.plans.values(), _named_topics)
        return for_each(
            self.plans.values(),
            self._plan_group,
            lambda: for_each(topics, self._plan_topic, self._ask),
        )

    def _plan_group(self, plan: _Plan) -> None:
        if not self.context.is_authorized(Operation.DESCRIBE, group=plan.group.group_id):
            plan.fetched, plan.named = KafkaError(ErrorCode.GROUP_AUTHORIZATION_FAILED), None
        elif plan.named is not None:
            plan.query_topics = []

    def _plan_topic(self, pair: tuple[_Plan, tuple[TopicKey, dict[int, None]]]) -> None:
        plan, ((named, topic_id), numbers) = pair
        partitions = list(numbers)
        name: str | None = named
        if self.context.version >= IDS_SINCE:
            name = self.context.image.topic_names.get(TopicId(topic_id))
        if name is None:
            denial = ErrorCode.UNKNOWN_TOPIC_ID
        elif not self.context.is_authorized(Operation.DESCRIBE, topic=name):
            denial = ErrorCode.TOPIC_AUTHORIZATION_FAILED
        else:
            plan.answered.append(None)
            if plan.query_topics is not None:
                plan.query_topics.append(TopicPartitions(name, topic_id, partitions))
            return
        rows = rows_of(partitions, partial(_no_offset, denial))
        plan.answered.append(OffsetFetchResponseTopics(named, topic_id, rows))

    def _ask(self) -> Eventual[OffsetFetchResponse]:
        queries = self._queries()
        if self.plans and all(plan.fetched is not None for plan in self.plans.values()):
            return self._answer([])
        return then(self.context[GroupCoordinator].offsets.fetch(queries), self._answer)

    def _queries(self) -> Iterator[FetchOffsets]:
        for plan in self.plans.values():
            if plan.fetched is None:
                yield plan.query(require_stable=self.request.require_stable)

    # What is answered

    def _answer(self, fetched: list[Fetched]) -> Eventual[OffsetFetchResponse]:
        """Write the response. fetched: of the groups that were asked, in their order."""
        in_order = iter(fetched)

        def take(plan: _Plan) -> None:
            if plan.fetched is None:
                plan.fetched = next(in_order)
            if isinstance(plan.fetched, KafkaError):
                plan.response.error_code = _as_fetched(plan.fetched)

        topics = Pairs(self.plans.values(), _fetched_topics)
        write = partial(for_each, topics, self._add_topic, self._response)
        return for_each(self.plans.values(), take, write)

    def _add_topic(self, pair: tuple[_Plan, FetchedTopic | OffsetFetchResponseTopics]) -> None:
        """Add a topic to the answer of a group, if the client may see it."""
        plan, topic = pair
        if isinstance(topic, OffsetFetchResponseTopics):
            plan.response.topics.append(topic)
            return
        if plan.query_topics is None:
            if not self.context.is_authorized(Operation.DESCRIBE, topic=topic.topic):
                return
            if self.context.version >= IDS_SINCE:
                image = self.context.image.topics.get(topic.topic)
                if image is None:
                    return  # from that version on only those that exist
                topic = topic._replace(topic_id=image.id)
        plan.response.topics.append(_row(topic))

    def _response(self) -> OffsetFetchResponse:
        groups = [plan.response for plan in self.plans.values()]
        if self.context.version >= GROUPS_SINCE:
            return OffsetFetchResponse(groups=groups)
        if groups[0].error_code:
            return say_error(self.request, ErrorCode(groups[0].error_code), None)
        return OffsetFetchResponse(topics=rows_of(groups[0].topics, _row_of_one))


def _named_topics(plan: _Plan) -> Sequence[tuple[TopicKey, dict[int, None]]]:
    return () if plan.named is None else list(plan.named.items())


def _fetched_topics(plan: _Plan) -> Sequence[FetchedTopic | OffsetFetchResponseTopics]:
    """Return the topics of the answer, in the order of the request."""
    if plan.fetched is None or isinstance(plan.fetched, KafkaError):
        return ()
    if plan.query_topics is None:
        return plan.fetched
    in_order = iter(plan.fetched)
    return [answered or next(in_order) for answered in plan.answered]


def _row_of_one(topic: OffsetFetchResponseTopics) -> OffsetFetchResponseTopic:
    return OffsetFetchResponseTopic(
        topic.name,
        rows_of(
            topic.partitions,
            lambda row: OffsetFetchResponsePartition(
                row.partition_index,
                row.committed_offset,
                row.committed_leader_epoch,
                row.metadata,
                row.error_code,
            ),
        ),
    )


def _row(topic: FetchedTopic) -> OffsetFetchResponseTopics:
    rows = rows_of(
        topic.partitions,
        lambda offset: OffsetFetchResponsePartitions(
            offset.partition, offset.offset, offset.leader_epoch, offset.metadata, offset.error
        ),
    )
    return OffsetFetchResponseTopics(topic.topic, topic.topic_id, rows)


def _no_offset(code: ErrorCode, number: int) -> OffsetFetchResponsePartitions:
    return OffsetFetchResponsePartitions(number, NO_OFFSET, NO_OFFSET, "", code)


def _refused(number: int, code: ErrorCode) -> OffsetFetchResponsePartition:
    return OffsetFetchResponsePartition(number, NO_OFFSET, NO_OFFSET, "", code)


def _as_fetched(error: KafkaError) -> ErrorCode:
    """Return a code that consumers retry: before 3.9 they do not know COORDINATOR_NOT_AVAILABLE."""
    if error.code is ErrorCode.COORDINATOR_NOT_AVAILABLE:
        return ErrorCode.NOT_COORDINATOR
    return error.code
