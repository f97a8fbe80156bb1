"""Calls about brokers and the quorum of controllers: describe it, elect leaders, unregister."""

from collections.abc import Iterable, Iterator, Sequence
from enum import IntEnum
from typing import Final

from trio_kafka.attributes import frozen
from trio_kafka.clients.admin.calls.call import (
    Call,
    Plan,
    Rejection,
    perform,
    perform_single,
    result_of,
)
from trio_kafka.clients.admin.calls.results import Results
from trio_kafka.clients.admin.calls.targets import CONTROLLER
from trio_kafka.clients.admin.partitions import by_topic, partition_place
from trio_kafka.errors import ErrorCode
from trio_kafka.model import METADATA_TOPIC, TopicPartition
from trio_kafka.protocol.messages.k43_elect_leaders import (
    ElectLeadersRequest,
    ElectLeadersResponse,
    TopicPartitions,
)
from trio_kafka.protocol.messages.k55_describe_quorum import (
    DescribeQuorumRequest,
    DescribeQuorumResponse,
    PartitionData,
    PartitionResult,
    TopicData,
)
from trio_kafka.protocol.messages.k55_describe_quorum import ReplicaState as ReplicaRow
from trio_kafka.protocol.messages.k64_unregister_broker import (
    UnregisterBrokerRequest,
    UnregisterBrokerResponse,
)

_NO_ANSWER: Final = Rejection(ErrorCode.UNKNOWN_SERVER_ERROR, "an answer without the quorum")


class ElectionType(IntEnum):
    """Kind of election: of the preferred leader, or of a replica that may lack records."""

    PREFERRED = 0
    UNCLEAN = 1


@frozen(kw_only=True)
class QuorumReplica:
    """Progress of a voter or observer. Times are in ms since 1970; None: not known."""

    replica_id: int
    directory_id: bytes
    log_end_offset: int
    last_fetch_timestamp: int | None = None
    last_caught_up_timestamp: int | None = None


@frozen(kw_only=True)
class QuorumInfo:
    """Quorum of controllers. Source: KIP-595, KIP-836, KIP-853."""

    leader_id: int
    leader_epoch: int
    high_watermark: int
    voters: tuple[QuorumReplica, ...]
    observers: tuple[QuorumReplica, ...]


def describe_metadata_quorum() -> Plan[QuorumInfo]:
    """Describe the quorum of controllers: leader, voters, observers and their progress."""
    topic = TopicData(METADATA_TOPIC, [PartitionData(0)])
    call: Call[None, DescribeQuorumResponse, QuorumInfo] = Call(
        targets={None: CONTROLLER},
        request=lambda _items, _timeout_ms: DescribeQuorumRequest([topic]),
        read=_read_quorum,
    )
    return perform_single(call)


def elect_leaders(
    election_type: ElectionType, partitions: Iterable[TopicPartition]
) -> Plan[Results[TopicPartition, None]]:
    """Elect leaders of partitions.

    ELECTION_NOT_NEEDED is an error of partitions that have such a leader.
    """

    def request(items: Sequence[TopicPartition], timeout_ms: int) -> ElectLeadersRequest:
        topics = by_topic(items, lambda at: at.partition)
        rows = [TopicPartitions(*row) for row in topics.items()]
        return ElectLeadersRequest(election_type, rows, timeout_ms)

    return perform(
        Call(
            targets=dict.fromkeys(partitions, CONTROLLER),
            request=request,
            read=_read_elections,
            place=partition_place,
        )
    )


def unregister_broker(broker_id: int) -> Plan[None]:
    """Remove the registration of a broker that is gone for good. Raises ClientError."""
    call: Call[int, UnregisterBrokerResponse, None] = Call(
        targets={broker_id: CONTROLLER},
        request=lambda _items, _timeout_ms: UnregisterBrokerRequest(broker_id),
        read=lambda response, items: [
            (item, result_of(response.error_code, response.error_message, None)) for item in items
        ],
    )
    return perform_single(call)


def _read_quorum(
    response: DescribeQuorumResponse, _items: Sequence[None]
) -> Iterator[tuple[None, QuorumInfo | Rejection]]:
    if response.error_code:
        yield None, Rejection(response.error_code, response.error_message)
        return
    rows = [row for topic in response.topics for row in topic.partitions]
    if not rows:
        yield None, _NO_ANSWER
        return
    yield None, result_of(rows[0].error_code, rows[0].error_message, _quorum(rows[0]))


def _quorum(row: PartitionResult) -> QuorumInfo:
    return QuorumInfo(
        leader_id=row.leader_id,
        leader_epoch=row.leader_epoch,
        high_watermark=row.high_watermark,
        voters=tuple(map(_replica, row.current_voters)),
        observers=tuple(map(_replica, row.observers)),
    )


def _replica(row: ReplicaRow) -> QuorumReplica:
    fetch_ms, caught_up_ms = row.last_fetch_timestamp, row.last_caught_up_timestamp
    return QuorumReplica(
        replica_id=row.replica_id,
        directory_id=row.replica_directory_id,
        log_end_offset=row.log_end_offset,
        last_fetch_timestamp=fetch_ms if fetch_ms >= 0 else None,
        last_caught_up_timestamp=caught_up_ms if caught_up_ms >= 0 else None,
    )


def _read_elections(
    response: ElectLeadersResponse, items: Sequence[TopicPartition]
) -> Iterator[tuple[TopicPartition, Rejection | None]]:
    if response.error_code:
        for at in items:
            yield at, Rejection(response.error_code)
        return
    for topic in response.replica_election_results:
        for row in topic.partition_result:
            at = TopicPartition(topic.topic, row.partition_id)
            yield at, result_of(row.error_code, row.error_message, None)
