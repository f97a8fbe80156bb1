"""Calls about the committed offsets of groups."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Final

from trio_kafka.clients.admin.calls.call import (
    RETRIED,
    AnyCall,
    Call,
    Plan,
    Rejection,
    as_older,
    perform,
    result_of,
)
from trio_kafka.clients.admin.calls.execution import item_error
from trio_kafka.clients.admin.calls.results import Results
from trio_kafka.clients.admin.calls.targets import group_target
from trio_kafka.clients.admin.group_descriptions import group_place
from trio_kafka.clients.admin.partitions import by_topic
from trio_kafka.clients.consumer.groups.offsets import (
    COMMIT_BY_NAME,
    FETCH_BY_NAME,
    FETCH_ONE_GROUP,
    MemberIdentity,
    commit_codes,
    commit_request,
    committed_offsets,
    fetch_code,
    fetch_request,
    older_fetch,
)
from trio_kafka.clients.consumer.values import OffsetAndMetadata
from trio_kafka.clients.errors import ClientError, Place
from trio_kafka.errors import ErrorCode
from trio_kafka.model import TopicPartition
from trio_kafka.protocol.messages.k08_offset_commit import OffsetCommitResponse
from trio_kafka.protocol.messages.k09_offset_fetch import OffsetFetchRequest, OffsetFetchResponse
from trio_kafka.protocol.messages.k47_offset_delete import (
    OffsetDeleteRequest,
    OffsetDeleteRequestPartition,
    OffsetDeleteRequestTopic,
    OffsetDeleteResponse,
)

_RETRIED: Final = RETRIED | {ErrorCode.UNSTABLE_OFFSET_COMMIT}
Committed = Results[TopicPartition, OffsetAndMetadata | None]


def list_consumer_group_offsets(
    groups: Mapping[str, Iterable[TopicPartition] | None], *, require_stable: bool = False
) -> Plan[Results[str, Committed]]:
    """Return the committed offsets of groups: an offset, None or an error for each partition.

    groups: partitions by group id; None: all with an offset. require_stable: wait for transactions
    that commit offsets of these partitions (KIP-447; Kafka 2.5 or later).
    """
    partitions = {group: None if ats is None else list(ats) for group, ats in groups.items()}

    def request(items: Sequence[str], _timeout_ms: int) -> OffsetFetchRequest:
        (group,) = items
        ats = partitions[group]
        message = fetch_request(group, ats or (), stable=require_stable)
        if ats is None:
            message.groups[0].topics = None
        return message

    def older_request(items: Sequence[str], timeout_ms: int) -> OffsetFetchRequest:
        message = request(items, timeout_ms)
        older = older_fetch(message)
        if message.groups[0].topics is None:
            older.topics = None
        return older

    def call(
        ask: Callable[[Sequence[str], int], OffsetFetchRequest],
        at_most: int,
        older: AnyCall | None = None,
    ) -> Call[str, OffsetFetchResponse, Committed]:
        return Call(
            targets={group: group_target(group) for group in partitions},
            request=ask,
            read=_read_offsets,
            place=group_place,
            most=1,
            at_most=at_most,
            retried=_RETRIED,
            older=older,
        )

    older = as_older(call(older_request, FETCH_ONE_GROUP))
    return perform(call(request, FETCH_BY_NAME, older))


def alter_consumer_group_offsets(
    group: str, offsets: Mapping[TopicPartition, OffsetAndMetadata]
) -> Plan[Results[TopicPartition, None]]:
    """Commit offsets for a group that has no members, by partition."""

    def read(
        response: OffsetCommitResponse, _items: Sequence[TopicPartition]
    ) -> Iterator[tuple[TopicPartition, Rejection | None]]:
        for at, code in commit_codes(response).items():
            yield at, result_of(code, None, None)

    return perform(
        Call(
            targets=dict.fromkeys(offsets, group_target(group)),
            request=lambda items, _timeout_ms: commit_request(
                group, MemberIdentity(), {at: offsets[at] for at in items}
            ),
            read=read,
            place=lambda at: _place(group, at),
            at_most=COMMIT_BY_NAME,
        )
    )


def delete_consumer_group_offsets(
    group: str, partitions: Iterable[TopicPartition]
) -> Plan[Results[TopicPartition, None]]:
    """Delete committed offsets of partitions of topics that no member subscribes to."""

    def request(items: Sequence[TopicPartition], _timeout_ms: int) -> OffsetDeleteRequest:
        topics = by_topic(items, lambda at: OffsetDeleteRequestPartition(at.partition))
        rows = [OffsetDeleteRequestTopic(name, partitions) for name, partitions in topics.items()]
        return OffsetDeleteRequest(group, rows)

    return perform(
        Call(
            targets=dict.fromkeys(partitions, group_target(group)),
            request=request,
            read=_read_deleted,
            place=lambda at: _place(group, at),
        )
    )


def _place(group: str, at: TopicPartition) -> Place:
    return Place(topic=at.topic, partition=at.partition, group=group)


def _read_offsets(
    response: OffsetFetchResponse, items: Sequence[str]
) -> Iterator[tuple[str, Committed | Rejection]]:
    (group,) = items
    values: dict[TopicPartition, OffsetAndMetadata | None] = {}
    errors: dict[TopicPartition, ClientError] = {}
    code: int = fetch_code(response)
    for at, answer in committed_offsets(response).items():
        if answer.code is ErrorCode.UNSTABLE_OFFSET_COMMIT:
            code = code or answer.code
        elif answer.code:
            errors[at] = item_error(answer.code, None, _place(group, at), sent=False)
        else:
            values[at] = answer.offset
    yield group, result_of(code, None, Results(values, errors))


def _read_deleted(
    response: OffsetDeleteResponse, items: Sequence[TopicPartition]
) -> Iterator[tuple[TopicPartition, Rejection | None]]:
    if response.error_code:
        for at in items:
            yield at, Rejection(response.error_code)
        return
    for topic in response.topics:
        for row in topic.partitions:
            at = TopicPartition(topic.name, row.partition_index)
            yield at, result_of(row.error_code, None, None)
