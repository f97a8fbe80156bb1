"""Replies of shards to requests, and the wait for them."""

from collections.abc import Sequence
from typing import Final, Protocol, TypeVar

import trio
from attrs import evolve

from trio_kafka.attributes import define
from trio_kafka.errors import ErrorCode, InvariantError, KafkaError
from trio_kafka.introspect.waits import Wait
from trio_kafka.pending import NO_ANSWER, Eventual
from trio_kafka.purgatory import Delayed, Purgatory

T = TypeVar("T")
NOT_YET: Final = object()


class ReplySource(Protocol):
    """A shard, as its replies see it."""

    def waits(self, key: str, reply: "PendingReply", now: float) -> tuple[Wait, ...]:
        """Return what a pending reply waits for. key: of its request."""


@define(eq=False)
class PendingReply:
    """The ticket of one request. answer: NOT_YET, a value or a KafkaError.

    delayed: what is marked when the answer comes. soon: expected at the end of the round.
    source, key: the shard that answers, and the key of the request.
    """

    answer: object = NOT_YET
    delayed: Delayed[object] | Delayed[list[object]] | None = None
    soon: bool = False
    source: ReplySource | None = None
    key: str = ""

    def give(self, answer: object) -> None:
        """Set the answer, once, and mark the Delayed. Raises InvariantError the second time."""
        if self.answer is not NOT_YET:
            raise InvariantError(f"reply answered twice: first {self.answer}, then {answer}")
        self.answer = answer
        delayed = self.delayed
        if delayed is not None:
            self.delayed = None  # breaks the cycle
            delayed.marked()

    def wait(self, purgatory: Purgatory, timeout_s: float) -> Delayed[object]:
        """Return a Pending of the answer, which is not there yet. An error is a value. timeout_s:
        may be infinite.
        """
        # No key: the reply itself marks the Delayed.
        delayed: Delayed[object] = Delayed(
            (), trio.current_time() + timeout_s, self._outcome, purgatory, self
        )
        self.delayed, delayed.soon = delayed, self.soon
        return delayed

    def waits(self, now: float) -> tuple[Wait, ...]:
        """See `introspect.waits.Waiting`."""
        return () if self.source is None else self.source.waits(self.key, self, now)

    def _outcome(self, timed_out: bool) -> object:
        """See `Delayed.try_complete`."""
        answer = self.answer
        if answer is NOT_YET:
            return _late() if timed_out else None
        return NO_ANSWER if answer is None else answer


def value_or_raise(answer: T | KafkaError) -> T:
    """Return an answer; raise a KafkaError."""
    if isinstance(answer, KafkaError):
        # A copy: an error that is raised itself refers to the frames that refer to it.
        raise KafkaError(answer.code, answer.message)
    return answer


def wait_for_answers(
    replies: Sequence[PendingReply], purgatory: Purgatory, timeout_s: float
) -> Eventual[list[object]]:
    """Return all answers in order, errors included, or a Pending of them."""
    all_replies = _Replies(replies)
    answers = all_replies.try_complete(False)
    if answers is not None:
        return answers
    # No key: the replies themselves mark the Delayed.
    delayed: Delayed[list[object]] = Delayed(
        (), trio.current_time() + timeout_s, all_replies.try_complete, purgatory, all_replies
    )
    for reply in replies:
        if reply.answer is NOT_YET:
            reply.delayed = delayed
            delayed.soon = reply.soon
    return delayed


@define(eq=False)
class _Replies:
    """Wait for several replies. answered: leading ones with an answer, not looked at again."""

    replies: Sequence[PendingReply]
    answered: int = 0

    def try_complete(self, timed_out: bool) -> list[object] | None:
        """See `Delayed.try_complete`."""
        replies, answered = self.replies, self.answered
        while answered < len(replies) and replies[answered].answer is not NOT_YET:
            answered += 1
        self.answered = answered
        if answered < len(replies) and not timed_out:
            return None
        return [_late() if reply.answer is NOT_YET else reply.answer for reply in replies]

    def waits(self, now: float) -> tuple[Wait, ...]:
        """See `introspect.waits.Waiting`: the waits of the first reply, and how many there are."""
        first = next((reply for reply in self.replies if reply.answer is NOT_YET), None)
        waits = () if first is None else first.waits(now)
        if len(self.replies) < 2 or not waits:
            return waits
        words = f"{waits[0].words}, for one of {len(self.replies):,} parts of the request"
        return (evolve(waits[0], words=words), *waits[1:])


def _late() -> KafkaError:
    return KafkaError(ErrorCode.COORDINATOR_NOT_AVAILABLE, "no answer in time")
