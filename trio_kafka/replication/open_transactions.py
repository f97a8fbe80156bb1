"""Transactions that are open in the logs of this broker: read in steps, when asked for."""

from collections.abc import Callable
from heapq import nsmallest
from typing import Final

from trio_kafka.attributes import frozen
from trio_kafka.log.producer_state import Producer
from trio_kafka.model import TopicPartition
from trio_kafka.replication.partition import Partition
from trio_kafka.replication.table import Replicas
from trio_kafka.scheduling.chunked_work import Steps

_A_STEP: Final = 256  # partitions, and transactions of one


@frozen(kw_only=True)
class OpenInLog:
    """Transaction of one producer in one partition. start: its first offset. is_oldest: of the
    partition. last_ms: timestamp of the producer's last batch.
    """

    at: TopicPartition
    producer_id: int
    epoch: int
    coordinator_epoch: int
    start: int
    is_oldest: bool
    last_ms: int
    partition: Partition

    @property
    def is_open(self) -> bool:
        """True if the transaction is still open."""
        log = self.partition.leading
        producer = None if log is None else log.producers.get(self.producer_id)
        return producer is not None and producer.transaction_first_offset == self.start


def open_transactions(
    replicas: Replicas, is_visible: Callable[[str], bool], most: int
) -> Steps[tuple[list[OpenInLog], int]]:
    """Return the open transactions that are silent for longest, and the number of all.

    is_visible: of a topic. most: transactions that are returned; the oldest one of a partition is
    looked at first.
    """
    chosen, total = list[OpenInLog](), 0
    for number, partition in enumerate(replicas.partitions, 1):
        log = partition.leading
        if log is not None and log.producers.has_open and is_visible(partition.at.topic):
            for place, producer in enumerate(tuple(log.producers.open_transactions())):
                total += 1
                chosen.append(_open_in_log(partition, producer, is_oldest=not place))
                if not total % _A_STEP:
                    chosen = _silent(chosen, most)
                    yield
        if not number % _A_STEP:
            yield
    yield
    return _silent(chosen, most), total


def _silent(transactions: list[OpenInLog], most: int) -> list[OpenInLog]:
    return nsmallest(most, transactions, key=_order)


def _order(transaction: OpenInLog) -> tuple[int, str, int, int]:
    at = transaction.at
    return transaction.last_ms, at.topic, at.partition, transaction.start


def _open_in_log(partition: Partition, producer: Producer, *, is_oldest: bool) -> OpenInLog:
    return OpenInLog(
        at=partition.at,
        producer_id=producer.producer_id,
        epoch=producer.epoch,
        coordinator_epoch=producer.coordinator_epoch,
        start=producer.transaction_first_offset or 0,
        is_oldest=is_oldest,
        last_ms=producer.timestamp,
        partition=partition,
    )
