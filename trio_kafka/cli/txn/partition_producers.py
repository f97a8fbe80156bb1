"""Producers of partitions, and the coordinators' transactions that they belong to."""

from collections.abc import Iterable, Iterator, Mapping, Sequence

from trio_kafka.attributes import frozen
from trio_kafka.cli.txn.remedies import topic_refusal
from trio_kafka.clients.admin.producers import ProducerState
from trio_kafka.clients.admin.transactions import TransactionDescription
from trio_kafka.clients.blocking import BlockingAdmin
from trio_kafka.model import TopicPartition


@frozen
class PartitionProducer:
    """Producer of one partition, as the partition's log knows it."""

    at: TopicPartition
    state: ProducerState

    @property
    def has_open_transaction(self) -> bool:
        """True if its transaction is open there."""
        return self.start_offset >= 0

    @property
    def start_offset(self) -> int:
        """First offset of its open transaction; -1: none is open."""
        return number_or(self.state.current_transaction_start_offset)


def partitions_of(admin: BlockingAdmin, topics: Sequence[str]) -> list[TopicPartition]:
    """Return the partitions of topics; of all topics if none is named.

    Raises CommandFailedError.
    """
    names = list(topics) or list(admin.list_topics(include_internal=True))
    results = admin.describe_topics(names)
    for topic, error in results.errors.items():
        raise topic_refusal(admin, f"topic {topic!s}", str(topic), error)
    return [
        TopicPartition(description.name, info.partition)
        for description in results.values()
        for info in description.partitions
    ]


def read_producers(
    admin: BlockingAdmin, partitions: Iterable[TopicPartition]
) -> Iterator[PartitionProducer]:
    """Yield the producers of partitions. Raises CommandFailedError for the first error."""
    results = admin.describe_producers(partitions)
    for at, error in results.errors.items():
        raise topic_refusal(admin, f"partition {at}", at.topic, error)
    for at, states in results.items():
        for state in states:
            yield PartitionProducer(at, state)


def owners_of(
    admin: BlockingAdmin, producer_ids: Iterable[int]
) -> Mapping[int, TransactionDescription]:
    """Return the transactional ids that use these producer ids, by producer id.

    Ids that are removed meanwhile are left out. Raises ClientError.
    """
    chosen = sorted(set(producer_ids))
    if not chosen:
        return {}
    listed = admin.list_transactions(producer_ids=chosen).all()
    states = admin.describe_transactions(listed).values_by_item.values()
    return {state.producer_id: state for state in states}


def has_partition(owner: TransactionDescription | None, producer: PartitionProducer) -> bool:
    """Return whether a coordinator's transaction has the partition of an open one."""
    return owner is not None and producer.at in owner.partitions


def number_or(value: int | None) -> int:
    """Return the number, -1 for None, as commands print it."""
    return -1 if value is None else value
