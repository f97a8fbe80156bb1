"""Tickets, and the one answer that is made of them."""

from math import inf
from typing import Any

import pytest
import trio
from trio.testing import MockClock

from trio_kafka.coordinators.shards.pending_reply import (
    PendingReply,
    value_or_raise,
    wait_for_answers,
)
from trio_kafka.errors import ErrorCode, KafkaError
from trio_kafka.introspect.tree import Node
from trio_kafka.pending import then
from trio_kafka.purgatory import Delayed, Purgatory, Timers

ERROR = KafkaError(ErrorCode.UNKNOWN_MEMBER_ID)


def the_value(answers: list[Any]) -> Any:
    """The only answer; an error is raised."""
    return value_or_raise(answers[0])


class Place:
    """A purgatory, and the answers that it has given."""

    def __init__(self) -> None:
        node = Node("test", "broker")
        self.timers = Timers(node)
        self.purgatory = Purgatory("commit", self.timers, node)
        self.answers: list[Any] = []

    def park(self, delayed: Any) -> None:
        assert isinstance(delayed, Delayed)
        self.purgatory.watch(delayed, self.purgatory.check, self.answers.append)


async def test_value_or_raise_returns_values_and_raises_errors() -> None:
    assert value_or_raise(3) == 3
    with pytest.raises(KafkaError, match="UNKNOWN_MEMBER_ID"):
        value_or_raise(ERROR)


async def test_late_answer_is_delivered_through_the_purgatory() -> None:
    place, ticket, wrong = Place(), PendingReply(), PendingReply()
    for reply in (ticket, wrong):
        place.park(then(wait_for_answers([reply], place.purgatory, 1.0), the_value))

    wrong.give(ERROR)
    ticket.give(3)

    assert [str(answer) for answer in place.answers] == [str(ERROR), "3"]
    assert place.answers[0] is not ERROR  # which, raised, would know the frames that know it
    assert place.purgatory.waiting == 0


async def test_errors_are_delivered_as_answers_without_a_value_step(
    autojump_clock: MockClock,
) -> None:
    """A reply without a timeout does not end by itself."""
    place, ticket, wrong, endless = Place(), PendingReply(), PendingReply(), PendingReply()
    async with trio.open_nursery() as nursery:
        nursery.start_soon(place.timers.run)
        for reply in (ticket, wrong, PendingReply()):
            place.park(wait_for_answers([reply], place.purgatory, 1.0))
        place.park(wait_for_answers([endless], place.purgatory, inf))
        wrong.give(ERROR)
        ticket.give(3)
        await trio.sleep(100.0)
        nursery.cancel_scope.cancel()

    late = KafkaError(ErrorCode.COORDINATOR_NOT_AVAILABLE, "no answer in time")
    assert [repr(answer) for answer in place.answers] == [repr([ERROR]), "[3]", repr([late])]
    endless.give(4)
    assert place.answers[-1] == [4]
    assert not place.purgatory.watchers


async def test_combined_answer_is_given_when_the_last_reply_arrives() -> None:
    place, first, last = Place(), PendingReply(), PendingReply()
    tickets = [first, PendingReply(ERROR), last]
    place.park(wait_for_answers(tickets, place.purgatory, 1.0))

    last.give(3)
    assert place.answers == []
    first.give(1)

    assert place.answers == [[1, ERROR, 3]]
    assert wait_for_answers([PendingReply(1), PendingReply(2)], place.purgatory, 1.0) == [1, 2]


async def test_reply_after_the_timeout_is_answered_with_an_error(autojump_clock: MockClock) -> None:
    place, ticket = Place(), PendingReply()
    async with trio.open_nursery() as nursery:
        nursery.start_soon(place.timers.run)
        place.park(then(wait_for_answers([ticket], place.purgatory, 1.0), the_value))
        place.park(wait_for_answers([PendingReply(1), PendingReply()], place.purgatory, 2.0))
        await trio.sleep(3.0)
        nursery.cancel_scope.cancel()

    error, (value, late) = place.answers
    assert (error.code, value, late.code) == (
        ErrorCode.COORDINATOR_NOT_AVAILABLE,
        1,
        ErrorCode.COORDINATOR_NOT_AVAILABLE,
    )
    ticket.give(5)  # nobody waits any more
    assert len(place.answers) == 2


async def test_answered_reply_keeps_no_reference_to_the_delayed_operation() -> None:
    place, there, wanting = Place(), PendingReply(1), PendingReply()

    place.park(wait_for_answers([there, wanting], place.purgatory, 1.0))
    assert there.delayed is None
    assert wanting.delayed is not None

    wanting.give(2)
    assert wanting.delayed is None
    assert place.answers == [[1, 2]]


async def test_single_reply_is_given_as_it_is_also_none_and_errors() -> None:
    place, replies = Place(), [PendingReply(), PendingReply(), PendingReply()]
    for reply in replies:
        place.park(then(reply.wait(place.purgatory, 1.0), lambda answer: [answer]))

    for reply, answer in zip(replies, (None, 3, ERROR), strict=True):
        reply.give(answer)

    assert place.answers == [[None], [3], [ERROR]]
    assert place.purgatory.waiting == 0


async def test_single_reply_is_an_error_after_its_timeout(autojump_clock: MockClock) -> None:
    place, reply, endless = Place(), PendingReply(), PendingReply()
    async with trio.open_nursery() as nursery:
        nursery.start_soon(place.timers.run)
        place.park(reply.wait(place.purgatory, 1.0))
        place.park(endless.wait(place.purgatory, inf))
        await trio.sleep(100.0)
        nursery.cancel_scope.cancel()

    (late,) = place.answers
    assert (late.code, late.message) == (ErrorCode.COORDINATOR_NOT_AVAILABLE, "no answer in time")
    endless.give(4)
    assert place.answers[1:] == [4]
