"""History of what clients did, in the order in which they did it.

Call each method when the event happens: `sent` before the request leaves, `acknowledged` when the
answer has arrived. A record is any hashable value that identifies it, such as its value.
"""

from collections import Counter
from collections.abc import Hashable, Iterator
from typing import TypeVar

from attrs import field

from trio_kafka.attributes import define, frozen
from trio_kafka.model import TopicPartition

E = TypeVar("E", bound="Event")


@frozen(kw_only=True)
class Event:
    """Base of all events."""


@frozen(kw_only=True)
class PartitionEvent(Event):
    """Base of the events of a partition; `partition` is -1 while it is unknown."""

    topic: str
    partition: int

    @property
    def at(self) -> TopicPartition:
        """Return the partition of the event."""
        return TopicPartition(self.topic, self.partition)


@frozen(kw_only=True)
class Sent(PartitionEvent):
    """A record that may arrive from now on, in one or several attempts.

    transaction: name of the transaction that it is part of.
    """

    producer: str
    record: Hashable
    idempotent: bool
    transaction: str | None = None


@frozen(kw_only=True)
class Acknowledged(PartitionEvent):
    """An answer without error. offset: -1 if it is unknown. transaction: as in `Sent`."""

    producer: str
    record: Hashable
    offset: int
    transaction: str | None = None


@frozen(kw_only=True)
class Positioned(PartitionEvent):
    """A consumer that continues at `offset`, after an assignment or a seek."""

    consumer: str
    group: str | None
    offset: int


@frozen(kw_only=True)
class Read(PartitionEvent):
    """A record that a consumer has received."""

    consumer: str
    group: str | None
    offset: int
    record: Hashable


@frozen(kw_only=True)
class CommitSent(PartitionEvent):
    """A commit that may take effect from now on."""

    consumer: str
    group: str
    offset: int


@frozen(kw_only=True)
class Committed(PartitionEvent):
    """A commit that was answered without error."""

    consumer: str
    group: str
    offset: int


@frozen(kw_only=True)
class CommitFound(PartitionEvent):
    """A committed offset that the coordinator returned; -1: none. since: see `History.mark`."""

    group: str
    offset: int
    since: int


@frozen(kw_only=True)
class TransactionCommitting(Event):
    """A transaction that may be committed from now on."""

    transaction: str


@frozen(kw_only=True)
class TransactionEnded(Event):
    """A transaction whose end was answered without error."""

    transaction: str
    committed: bool


@define(eq=False)
class History:
    """Events of all clients of a test. For one thread or one event loop."""

    events: list[Event] = field(factory=list)
    _transactions: Counter[str] = field(factory=Counter, init=False)

    def transaction(self, producer: str) -> "NotedTransaction":
        """Return the next transaction of a producer, to note what its client does.

        Its name is `producer#number`, from 1.
        """
        self._transactions[producer] += 1
        return NotedTransaction(self, producer, f"{producer}#{self._transactions[producer]}")

    def mark(self) -> int:
        """Return the number of events so far: call it before asking for committed offsets."""
        return len(self.events)

    def of(self, kind: type[E]) -> Iterator[E]:
        """Yield the events of one kind."""
        for event in self.events:
            if isinstance(event, kind):
                yield event

    def sent(
        self,
        producer: str,
        topic: str,
        record: Hashable,
        *,
        partition: int = -1,
        idempotent: bool = False,
        transaction: str | None = None,
    ) -> None:
        self.events.append(
            Sent(
                producer=producer,
                topic=topic,
                partition=partition,
                record=record,
                idempotent=idempotent,
                transaction=transaction,
            )
        )

    def acknowledged(
        self,
        producer: str,
        topic: str,
        partition: int,
        record: Hashable,
        *,
        offset: int,
        transaction: str | None = None,
    ) -> None:
        self.events.append(
            Acknowledged(
                producer=producer,
                topic=topic,
                partition=partition,
                record=record,
                offset=offset,
                transaction=transaction,
            )
        )

    def positioned(
        self, consumer: str, topic: str, partition: int, *, offset: int, group: str | None = None
    ) -> None:
        self.events.append(
            Positioned(
                consumer=consumer, group=group, topic=topic, partition=partition, offset=offset
            )
        )

    def read(
        self,
        consumer: str,
        topic: str,
        partition: int,
        record: Hashable,
        *,
        offset: int,
        group: str | None = None,
    ) -> None:
        self.events.append(
            Read(
                consumer=consumer,
                group=group,
                topic=topic,
                partition=partition,
                offset=offset,
                record=record,
            )
        )

    def commit_sent(
        self, consumer: str, group: str, topic: str, partition: int, *, offset: int
    ) -> None:
        self.events.append(
            CommitSent(
                consumer=consumer, group=group, topic=topic, partition=partition, offset=offset
            )
        )

    def committed(
        self, consumer: str, group: str, topic: str, partition: int, *, offset: int
    ) -> None:
        self.events.append(
            Committed(
                consumer=consumer, group=group, topic=topic, partition=partition, offset=offset
            )
        )

    def commit_found(
        self, group: str, topic: str, partition: int, *, offset: int, since: int
    ) -> None:
        self.events.append(
            CommitFound(group=group, topic=topic, partition=partition, offset=offset, since=since)
        )


@frozen
class NotedTransaction:
    """Notes of one transaction, see `History.transaction`. Call each method when it happens.

    A transaction without `committing` must not be seen by readers. One with `committing` and
    neither `committed` nor `aborted` has an unknown outcome: readers see all of it, or nothing.
    """

    history: History
    producer: str
    name: str

    def sent(self, topic: str, record: Hashable, *, partition: int = -1) -> None:
        """Note a record before the request that appends it."""
        self.history.sent(
            self.producer,
            topic,
            record,
            partition=partition,
            idempotent=True,
            transaction=self.name,
        )

    def acknowledged(
        self, topic: str, partition: int, record: Hashable, *, offset: int = -1
    ) -> None:
        """Note an append that was answered without error. offset: -1 if it is unknown."""
        self.history.acknowledged(
            self.producer, topic, partition, record, offset=offset, transaction=self.name
        )

    def committing(self) -> None:
        """Note a commit before its request."""
        self.history.events.append(TransactionCommitting(transaction=self.name))

    def committed(self) -> None:
        """Note a commit that was answered without error."""
        self.history.events.append(TransactionEnded(transaction=self.name, committed=True))

    def aborted(self) -> None:
        """Note an abort that was answered without error."""
        self.history.events.append(TransactionEnded(transaction=self.name, committed=False))
