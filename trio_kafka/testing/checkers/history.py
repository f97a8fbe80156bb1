"""History of what clients did, in the order in which they did it.

Call each method when the event happens: `sent` before the request leaves, `acknowledged` when the
answer has arrived. A record is any hashable value that identifies it, such as its value.
"""

from collections.abc import Hashable, Iterator
from typing import TypeVar

from attrs import field

from trio_kafka.attributes import define, frozen
from trio_kafka.model import TopicPartition

E = TypeVar("E", bound="Event")


@frozen(kw_only=True)
class Event:
    """Base of the events; `partition` is -1 while it is unknown."""

    topic: str
    partition: int

    @property
    def at(self) -> TopicPartition:
        """Return the partition of the event."""
        return TopicPartition(self.topic, self.partition)


@frozen(kw_only=True)
class Sent(Event):
    """A record that may arrive from now on, in one or several attempts."""

    producer: str
    record: Hashable
    idempotent: bool


@frozen(kw_only=True)
class Acknowledged(Event):
    """An answer without error. offset: -1 if it is unknown."""

    producer: str
    record: Hashable
    offset: int


@frozen(kw_only=True)
class Positioned(Event):
    """A consumer that continues at `offset`, after an assignment or a seek."""

    consumer: str
    group: str | None
    offset: int


@frozen(kw_only=True)
class Read(Event):
    """A record that a consumer has received."""

    consumer: str
    group: str | None
    offset: int
    record: Hashable


@frozen(kw_only=True)
class CommitSent(Event):
    """A commit that may take effect from now on."""

    consumer: str
    group: str
    offset: int


@frozen(kw_only=True)
class Committed(Event):
    """A commit that was answered without error."""

    consumer: str
    group: str
    offset: int


@frozen(kw_only=True)
class CommitFound(Event):
    """A committed offset that the coordinator returned; -1: none. since: see `History.mark`."""

    group: str
    offset: int
    since: int


@define(eq=False)
class History:
    """Events of all clients of a test. For one thread or one event loop."""

    events: list[Event] = field(factory=list)

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
    ) -> None:
        self.events.append(
            Sent(
                producer=producer,
                topic=topic,
                partition=partition,
                record=record,
                idempotent=idempotent,
            )
        )

    def acknowledged(
        self, producer: str, topic: str, partition: int, record: Hashable, *, offset: int
    ) -> None:
        self.events.append(
            Acknowledged(
                producer=producer, topic=topic, partition=partition, record=record, offset=offset
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
