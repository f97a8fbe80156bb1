"""Markers that end transactions: appended to the partitions that are led here.

A marker is a control batch in the name of the producer. Its append moves the last stable offset and
wakes the readers that wait for it. A marker of `__consumer_offsets` goes to the group coordinator,
whose pending offsets it commits or drops.
Source: KIP-98, KIP-890; Kafka's WriteTxnMarkers request.
"""

from collections.abc import Callable, Mapping
from functools import partial
from typing import Final, Protocol, cast

from trio_kafka.attributes import define, frozen
from trio_kafka.errors import ErrorCode, KafkaError
from trio_kafka.joint_wait import Place, joined
from trio_kafka.log.append import Appended
from trio_kafka.log.transaction_checks import check_marker
from trio_kafka.metadata.names import CONSUMER_OFFSETS
from trio_kafka.model import TopicPartition
from trio_kafka.pending import Eventual, then
from trio_kafka.purgatory import Delayed
from trio_kafka.records.control import Marker, encode_marker
from trio_kafka.records.header import BatchHeader
from trio_kafka.replication.isr import ACKS_ALL
from trio_kafka.replication.leader.append import append_own
from trio_kafka.replication.leader.produce_wait import wait_for
from trio_kafka.replication.partition import Partition
from trio_kafka.replication.table import Replicas

TIMEOUT_S: Final = 30.0  # the default of Kafka's request.timeout.ms


@frozen(kw_only=True)
class TransactionMarker:
    """End of one producer's transaction in several partitions.

    producer_epoch: that of the marker, which is newer than that of the transaction's batches under
        transaction version 2. coordinator_epoch: leader epoch of the coordinator's partition.
    transaction_version: 2 demands a newer epoch; 0 and 1 do not.
    """

    producer_id: int
    producer_epoch: int
    coordinator_epoch: int
    is_commit: bool
    transaction_version: int
    partitions: tuple[TopicPartition, ...]


class Markers(Protocol):
    """Writer of markers in the partitions that are led here, `__consumer_offsets` included."""

    def write(self, marker: TransactionMarker) -> Eventual[Mapping[TopicPartition, ErrorCode]]:
        """Append the marker to each of its partitions. Return the error of every partition.

        ErrorCode.NONE: committed. NOT_LEADER_OR_FOLLOWER and UNKNOWN_TOPIC_OR_PARTITION: not led
        here, ask another broker. INVALID_PRODUCER_EPOCH and TRANSACTION_COORDINATOR_FENCED: never
        accepted. Others are worth a retry. Never raises KafkaError.
        """


# Ends a transaction in a partition of `__consumer_offsets`, given by its number.
EndOffsets = Callable[[int, TransactionMarker], Eventual[ErrorCode]]


def _not_coordinated(_partition: int, _marker: TransactionMarker) -> ErrorCode:
    """Answer for a broker without a group coordinator."""
    return ErrorCode.NOT_LEADER_OR_FOLLOWER


@define(eq=False)
class LocalMarkers:
    """Implements `Markers`. end_offsets: set by the group coordinator."""

    replicas: Replicas
    end_offsets: EndOffsets = _not_coordinated

    def write(self, marker: TransactionMarker) -> Eventual[Mapping[TopicPartition, ErrorCode]]:
        """See `Markers`."""
        codes: list[object] = []
        places: list[Place[ErrorCode]] = []
        for at in marker.partitions:
            code = self.write_to(at, marker)
            if isinstance(code, Delayed):
                places.append(Place(codes, len(codes), code, lambda error: error.code))
            codes.append(code)
        answer = partial(_by_partition, marker.partitions, codes)
        return joined(places).then(answer) if places else answer()

    def write_to(self, at: TopicPartition, marker: TransactionMarker) -> Eventual[ErrorCode]:
        """Append the marker to one of its partitions. Return its error when it is committed."""
        try:
            partition = self.replicas.partition(at.topic, at.partition)
            if at.topic == CONSUMER_OFFSETS:
                partition.local_log()
                return self.end_offsets(at.partition, marker)
            return then(append_marker(partition, marker), _no_error)
        except KafkaError as error:
            return error.code


def append_marker(partition: Partition, marker: TransactionMarker) -> Eventual[Appended]:
    """Append a marker. Return it when all in-sync replicas have it.

    Raises KafkaError: as `check_marker` and `append_own`, now or when the Pending completes; as
    `ProduceWait`.
    """
    now_ms = partition.local_log().now_ms()
    batch, header = marker_batch(marker, now_ms)
    check = partial(check_marker, marker.coordinator_epoch, marker.transaction_version)
    appended = append_own(partition, batch, header, acks=ACKS_ALL, now_ms=now_ms, check=check)
    return wait_for(partition, appended, ACKS_ALL, TIMEOUT_S)


def marker_batch(marker: TransactionMarker, now_ms: int) -> tuple[memoryview, BatchHeader]:
    """Return the control batch of a marker, and its header."""
    batch, header = encode_marker(
        Marker(committed=marker.is_commit, coordinator_epoch=marker.coordinator_epoch),
        producer_id=marker.producer_id,
        producer_epoch=marker.producer_epoch,
        timestamp=now_ms,
    )
    return memoryview(batch), header


def _no_error(_appended: Appended) -> ErrorCode:
    return ErrorCode.NONE


def _by_partition(
    partitions: tuple[TopicPartition, ...], codes: list[object], *_: object
) -> Mapping[TopicPartition, ErrorCode]:
    """Return the codes by partition. A partition that is named twice keeps its first error."""
    errors: dict[TopicPartition, ErrorCode] = {}
    for at, code in zip(partitions, codes, strict=True):
        errors[at] = errors.get(at) or cast("ErrorCode", code)
    return errors
