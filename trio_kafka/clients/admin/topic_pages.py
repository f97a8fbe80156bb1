"""Descriptions of topics by name, page by page (DescribeTopicPartitions, KIP-966).

An answer has topics in the order of their names, up to a number of partitions, and a cursor for the
next page. A topic is complete when the cursor is beyond it.
"""

from collections.abc import Iterator, Sequence

from attrs import field

from trio_kafka.attributes import define
from trio_kafka.clients.admin.authorized import operations_of
from trio_kafka.clients.admin.calls.call import LATER, AnyCall, Call, Later, Rejection
from trio_kafka.clients.admin.calls.targets import ANY
from trio_kafka.clients.admin.topic_values import TopicDescription, TopicPartitionInfo
from trio_kafka.clients.admin.topics import place_of
from trio_kafka.protocol.messages.k75_describe_topic_partitions import (
    Cursor,
    DescribeTopicPartitionsRequest,
    DescribeTopicPartitionsResponse,
    DescribeTopicPartitionsResponsePartition,
    DescribeTopicPartitionsResponseTopic,
    TopicRequest,
)

Row = DescribeTopicPartitionsResponseTopic


@define(eq=False)
class TopicPages:
    """Pages that were read so far. partitions_of_page: at most; the broker may have fewer."""

    partitions_of_page: int
    include_authorized_operations: bool
    _cursor: Cursor | None = field(default=None, init=False)
    _partitions: dict[str, list[TopicPartitionInfo]] = field(factory=dict, init=False)

    def call(
        self, names: Sequence[str], older: AnyCall
    ) -> Call[str, DescribeTopicPartitionsResponse, TopicDescription]:
        """Return the call about topics. older: for a broker without this API."""
        return Call(
            targets=dict.fromkeys(names, ANY),
            request=self._request,
            read=self._read,
            place=place_of,
            older=older,
        )

    def _request(self, names: Sequence[str], _timeout_ms: int) -> DescribeTopicPartitionsRequest:
        return DescribeTopicPartitionsRequest(
            topics=[TopicRequest(name) for name in sorted(names)],
            response_partition_limit=self.partitions_of_page,
            cursor=self._cursor,
        )

    def _read(
        self, response: DescribeTopicPartitionsResponse, names: Sequence[str]
    ) -> Iterator[tuple[str, TopicDescription | Rejection | Later]]:
        before, after = _place(self._cursor), _place(response.next_cursor)
        if after is not None and before is not None and after <= before:
            return  # the broker would page for ever
        self._cursor = response.next_cursor
        unread = set(names)
        for row in response.topics:
            name = row.name or ""
            unread.discard(name)
            if row.error_code:
                self._partitions.pop(name, None)
                yield name, Rejection(row.error_code)
                continue
            partitions = self._partitions.setdefault(name, [])
            partitions += map(_partition, row.partitions)
            is_complete = after is None or name != after[0]
            yield name, self._description(row) if is_complete else LATER
        for name in unread:
            # Behind this page; or before it, and asked for again once the last page is read.
            if after is not None or (before is not None and name < before[0]):
                yield name, LATER

    def _description(self, row: Row) -> TopicDescription:
        name = row.name or ""
        partitions = sorted(self._partitions.pop(name), key=lambda info: info.partition)
        mask = row.topic_authorized_operations
        return TopicDescription(
            name=name,
            topic_id=row.topic_id,
            is_internal=row.is_internal,
            partitions=tuple(partitions),
            authorized_operations=operations_of(mask)
            if self.include_authorized_operations
            else None,
        )


def _place(cursor: Cursor | None) -> tuple[str, int] | None:
    return None if cursor is None else (cursor.topic_name, cursor.partition_index)


def _partition(row: DescribeTopicPartitionsResponsePartition) -> TopicPartitionInfo:
    return TopicPartitionInfo(
        partition=row.partition_index,
        leader=row.leader_id,
        leader_epoch=row.leader_epoch,
        replicas=tuple(row.replica_nodes),
        isr=tuple(row.isr_nodes),
        offline_replicas=tuple(row.offline_replicas),
        elr=_replicas(row.eligible_leader_replicas),
        last_known_elr=_replicas(row.last_known_elr),
    )


def _replicas(nodes: list[int] | None) -> tuple[int, ...] | None:
    return None if nodes is None else tuple(nodes)
