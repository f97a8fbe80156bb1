"""Requests that wait for their shards: tickets, and the one answer that is made of them."""

from collections.abc import Callable, Sequence
from functools import partial
from math import inf
from typing import Any, Final

import trio

from trio_kafka.attributes import define
from trio_kafka.errors import ErrorCode, InvariantError, KafkaError
from trio_kafka.purgatory import Delayed, Purgatory

NOT_YET: Final = object()


@define(eq=False)
class PendingReply:
    """The ticket of one event. answer: NOT_YET, a value or a KafkaError. soon: it is given at the
    end of the round, if all goes well.
    """

    answer: Any = NOT_YET
    delayed: Delayed | None = None
    soon: bool = False

    def give(self, answer: Any) -> None:
        """This is the answer. Whoever waits for it is only told to look. InvariantError where there
        is one already.
        """
        if self.answer is not NOT_YET:
            raise InvariantError(f"answered before: {self.answer}, and now {answer}")
        self.answer = answer
        delayed = self.delayed
        if delayed is not None:
            self.delayed = None  # which knows this ticket: no cycle is to stay
            delayed.marked()


def answer_of(
    ticket: PendingReply, make: Callable[[Any], Any], purgatory: Purgatory, timeout_s: float
) -> Any:
    """What `make` makes of the answer, or a Delayed. Raises KafkaError where that is the answer."""
    answer = ticket.answer
    if answer is not NOT_YET:
        return _told(answer, make) if isinstance(answer, KafkaError) else make(answer)

    def try_complete(timed_out: bool) -> Any:
        answer = ticket.answer
        if answer is not NOT_YET:
            return _told(answer, make)
        if timed_out:
            raise _late()
        return None

    deadline = trio.current_time() + timeout_s
    ticket.delayed = delayed = Delayed((ticket,), deadline, try_complete, purgatory)
    delayed.soon = ticket.soon
    return delayed


def deferred_reply(
    ticket: PendingReply, make: Callable[[Any], Any], purgatory: Purgatory, timeout_s: float
) -> Delayed:
    """What `make` makes of an answer that is not there yet, errors among them."""
    deadline = inf if timeout_s == inf else trio.current_time() + timeout_s
    # Its ticket tells it: there is no key that anybody would mark.
    ticket.delayed = delayed = Delayed((), deadline, partial(_if_told, ticket, make), purgatory)
    delayed.soon = ticket.soon
    return delayed


def _if_told(ticket: PendingReply, make: Callable[[Any], Any], timed_out: bool) -> Any:
    answer = ticket.answer
    if answer is not NOT_YET:
        return make(answer)
    return make(_late()) if timed_out else None


def answer_of_all(
    tickets: Sequence[PendingReply],
    make: Callable[[list[Any]], Any],
    purgatory: Purgatory,
    timeout_s: float,
) -> Any:
    """What `make` makes of all answers, in their order, errors among them; or a Delayed."""
    told = 0  # leading tickets that have answers: no look walks over them again

    def try_complete(timed_out: bool) -> Any:
        nonlocal told
        while told < len(tickets) and tickets[told].answer is not NOT_YET:
            told += 1
        if told < len(tickets) and not timed_out:
            return None
        return make([_late() if one.answer is NOT_YET else one.answer for one in tickets])

    found = try_complete(False)
    if found is not None:
        return found
    deadline = trio.current_time() + timeout_s
    # Each ticket tells it: no key needs to be watched.
    delayed = Delayed((), deadline, try_complete, purgatory=purgatory)
    for ticket in tickets:
        if ticket.answer is NOT_YET:  # whoever has it gives it up again
            ticket.delayed = delayed
            delayed.soon = ticket.soon
    return delayed


def _told(answer: Any, make: Callable[[Any], Any]) -> Any:
    if isinstance(answer, KafkaError):
        # Another one: raised itself, it would know the frames that know it.
        raise KafkaError(answer.code, answer.message)
    return make(answer)


def _late() -> KafkaError:
    return KafkaError(ErrorCode.COORDINATOR_NOT_AVAILABLE, "no answer in time")
