"""Calls about the producers of partitions, and their transactions there. Source: KIP-664."""

from collections.abc import Iterable, Iterator, Sequence
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
from trio_kafka.clients.admin.calls.targets import BrokerTarget, LeaderTarget
from trio_kafka.clients.admin.partitions import by_topic, leaders, partition_place
from trio_kafka.model import TopicPartition
from trio_kafka.protocol.messages.k27_write_txn_markers import (
    WritableTxnMarker,
    WritableTxnMarkerTopic,
    WriteTxnMarkersRequest,
    WriteTxnMarkersResponse,
)
from trio_kafka.protocol.messages.k61_describe_producers import (
    DescribeProducersRequest,
    DescribeProducersResponse,
    TopicRequest,
)
from trio_kafka.protocol.messages.k61_describe_producers import ProducerState as ProducerRow

_AT_ONCE: Final = 500  # partitions of one request


@frozen(kw_only=True)
class ProducerState:
    """A producer as a partition's log knows it.

    last_timestamp: ms since 1970. coordinator_epoch: None: no marker yet.
    current_transaction_start_offset: None: no transaction is open in the partition.
    """

    producer_id: int
    producer_epoch: int
    last_sequence: int
    last_timestamp: int
    coordinator_epoch: int | None = None
    current_transaction_start_offset: int | None = None


@frozen(kw_only=True)
class AbortTransactionSpec:
    """A transaction to end in one partition, by its producer. coordinator_epoch: of the producer's
    state; None: no marker yet.
    """

    partition: TopicPartition
    producer_id: int
    producer_epoch: int
    coordinator_epoch: int | None = None


def describe_producers(
    partitions: Iterable[TopicPartition], *, broker_id: int | None = None
) -> Plan[Results[TopicPartition, tuple[ProducerState, ...]]]:
    """Return the producers of partitions. broker_id: None: their leaders say; else this replica."""
    chosen = list(partitions)
    targets = leaders(chosen)
    if broker_id is not None:
        targets = dict.fromkeys(chosen, BrokerTarget(broker_id))

    def request(items: Sequence[TopicPartition], _timeout_ms: int) -> DescribeProducersRequest:
        topics = by_topic(items, lambda at: at.partition)
        return DescribeProducersRequest([TopicRequest(*row) for row in topics.items()])

    return perform(
        Call(
            targets=targets,
            request=request,
            read=_read_producers,
            place=partition_place,
            most=_AT_ONCE,
        )
    )


def abort_transaction(spec: AbortTransactionSpec) -> Plan[None]:
    """End a hanging transaction in one partition with an abort marker. Raises ClientError.

    A transaction that its coordinator knows is aborted by `fence_producers` instead.
    """
    at = spec.partition
    marker = WritableTxnMarker(
        spec.producer_id,
        spec.producer_epoch,
        transaction_result=False,
        topics=[WritableTxnMarkerTopic(at.topic, [at.partition])],
        coordinator_epoch=spec.coordinator_epoch or 0,
    )
    call: Call[TopicPartition, WriteTxnMarkersResponse, None] = Call(
        targets={at: LeaderTarget(at)},
        request=lambda _items, _timeout_ms: WriteTxnMarkersRequest([marker]),
        read=_read_markers,
        place=partition_place,
    )
    return perform_single(call)


def _read_producers(
    response: DescribeProducersResponse, _items: Sequence[TopicPartition]
) -> Iterator[tuple[TopicPartition, tuple[ProducerState, ...] | Rejection]]:
    for topic in response.topics:
        for row in topic.partitions:
            producers = tuple(map(_producer, row.active_producers))
            at = TopicPartition(topic.name, row.partition_index)
            yield at, result_of(row.error_code, row.error_message, producers)


def _producer(row: ProducerRow) -> ProducerState:
    return ProducerState(
        producer_id=row.producer_id,
        producer_epoch=row.producer_epoch,
        last_sequence=row.last_sequence,
        last_timestamp=row.last_timestamp,
        coordinator_epoch=_or_none(row.coordinator_epoch),
        current_transaction_start_offset=_or_none(row.current_txn_start_offset),
    )


def _or_none(number: int) -> int | None:
    return number if number >= 0 else None


def _read_markers(
    response: WriteTxnMarkersResponse, _items: Sequence[TopicPartition]
) -> Iterator[tuple[TopicPartition, Rejection | None]]:
    for marker in response.markers:
        for topic in marker.topics:
            for row in topic.partitions:
                at = TopicPartition(topic.name, row.partition_index)
                yield at, result_of(row.error_code, None, None)
