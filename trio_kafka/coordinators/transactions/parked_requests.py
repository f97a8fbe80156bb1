"""Requests of a shard that wait until the markers of the transaction before are written.

A client that is told to come back does so after its own back-off, which is longer than most waits
for markers. A request is parked by the event that takes it, and its event is taken again.
"""

from collections import deque
from functools import partial
from typing import Final, Generic, TypeVar

from trio_kafka.coordinators.shards.effects import Effects, Ticket, TimerKey
from trio_kafka.coordinators.shards.protocols import Event, Machine, WaitTimes
from trio_kafka.coordinators.transactions.transaction import Transaction
from trio_kafka.errors import ErrorCode, InvariantError, KafkaError
from trio_kafka.introspect.waits import Subject, Wait
from trio_kafka.metadata.names import TRANSACTION_STATE
from trio_kafka.model import TopicPartition

PARKED: Final = "parked"  # kind of a timer: requests have waited long enough
M = TypeVar("M", bound=Machine)


class ParkedRequests(Generic[M]):
    """Parked requests by transactional id, each in the order in which they came."""

    def __init__(self) -> None:
        self._by_id: dict[str, deque[tuple[Ticket, Event[M]]]] = {}

    def count(self, transactional_id: str) -> int:
        """Return the number of requests that wait for an id."""
        return len(self._by_id.get(transactional_id, ()))

    def park(
        self, transactional_id: str, event: "Event[M]", ticket: Ticket, longest_wait_ms: int
    ) -> Effects:
        """Keep an event. The first one of an id sets the timer of all of them."""
        self._by_id.setdefault(transactional_id, deque()).append((ticket, event))
        return Effects().set_timer(_timer(transactional_id), longest_wait_ms, keep=True)

    def resume(self, transactional_id: str, machine: M, now_ms: int) -> Effects:
        """Take the first event of an id again, then the next one: each must see the records of the
        one before. If the id was prepared again in between, the event parks itself again, and all
        wait for the markers of that transaction.
        """
        parked = self._by_id.get(transactional_id)
        if parked is None:
            return Effects()
        ticket, event = parked.popleft()
        try:
            effects = event(machine, ticket, now_ms)
        except KafkaError as error:
            effects = Effects().answer(ticket, error.as_value())
        if not isinstance(effects, Effects):
            raise InvariantError("a parked event works in steps")
        if parked and parked[-1][0] is ticket:
            # Only the next markers resume them: to go on now would take this event for ever.
            parked.rotate(1)  # it came first
        elif parked:
            effects.committed = partial(self.resume, transactional_id, machine)
        else:
            del self._by_id[transactional_id]
            effects.cancel_timer(_timer(transactional_id))
        return effects

    def give_up(self, transactional_id: str) -> Effects:
        """Answer all requests of an id with CONCURRENT_TRANSACTIONS."""
        effects = Effects()
        for ticket, _ in self._by_id.pop(transactional_id, ()):
            effects.answer(ticket, KafkaError(ErrorCode.CONCURRENT_TRANSACTIONS))
        return effects

    def waits(self, transaction: Transaction, ticket: Ticket, times: WaitTimes) -> tuple[Wait, ...]:
        """Return the wait of a parked request for the transaction, and the transaction's for a
        marker; empty if the request is not parked.
        """
        name = transaction.transactional_id
        if all(ticket is not other for other, _ in self._by_id.get(name, ())):
            return ()
        count = len(transaction.partitions)
        at = min(transaction.partitions, key=str, default=TopicPartition(TRANSACTION_STATE, 0))
        return (
            Wait(
                cause="change",
                words=f"the end of the transaction before, {transaction.state.value}",
                on=Subject("transaction", name),
                left_s=times.left_s(_timer(name)),
                then="it is answered with CONCURRENT_TRANSACTIONS",
            ),
            Wait(
                cause="change",
                words=f"the markers of the transaction before, in {count:,} partitions",
                on=Subject("partition", str(at)),
            ),
        )

    def clear(self) -> None:
        """Drop all, without an answer."""
        self._by_id.clear()


def _timer(transactional_id: str) -> TimerKey:
    return (PARKED, transactional_id)
