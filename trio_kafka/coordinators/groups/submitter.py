"""Submission of requests to the shards of their groups: each is an event, and gets one answer.

Many events of one request are submitted in slices.
"""

from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from itertools import islice
from math import inf
from typing import Any, Final

from trio_kafka.coordinators.groups.groups import Change, Event, Groups
from trio_kafka.coordinators.groups.settings import GroupSettings
from trio_kafka.coordinators.pending_reply import (
    NOT_YET,
    PendingReply,
    value_or_raise,
    wait_for_answers,
)
from trio_kafka.coordinators.shard import Shard
from trio_kafka.errors import KafkaError
from trio_kafka.introspect.tree import Node
from trio_kafka.pending import Eventual, Work, then
from trio_kafka.purgatory import Purgatory, Timers
from trio_kafka.scheduling.chunked_work import Steps, in_slices

_AT_ONCE: Final = 100  # groups of one request that are asked in one step: 1 ms
_A_STEP: Final = 10
# Waits for other members, which their sessions and rebalance timeouts bound.
_FOR_MEMBERS: Final = ("JoinGroup", "SyncGroup")
PURGATORIES: Final = (
    *_FOR_MEMBERS,
    "Heartbeat",
    "LeaveGroup",
    "DescribeGroups",
    "ListGroups",
    "DeleteGroups",
    "ConsumerGroupHeartbeat",
    "ConsumerGroupDescribe",
    "OffsetCommit",
    "OffsetFetch",
)


class Submitter:
    """Submits events to the shards. settings: of groups without settings of their own.

    wait, in all methods: one of PURGATORIES.
    """

    def __init__(
        self,
        shard_of: Callable[[str], Shard[Groups]],
        shards: Mapping[int, Shard[Groups]],
        settings: GroupSettings,
        timers: Timers,
        node: Node,
    ) -> None:
        """shard_of: the shard of a group, or KafkaError. shards: all of this broker."""
        self.settings = settings
        self._shard_of = shard_of
        self._shards = shards
        self.purgatories = {wait: Purgatory(wait, timers, node) for wait in PURGATORIES}

    def submit(self, wait: str, group_id: str, event: Event) -> Any:
        """Submit an event to a group's shard. Return its answer, or a Pending of it.

        Raises KafkaError, now or when the Pending completes: an error of the machine,
        COORDINATOR_LOAD_IN_PROGRESS, NOT_COORDINATOR, COORDINATOR_NOT_AVAILABLE (also after the
        timeout).
        """
        return then(self.submit_for_outcome(wait, group_id, event), value_or_raise)

    def submit_for_outcome(self, wait: str, group_id: str, event: Event) -> Any:
        """Submit an event. An error is returned like any answer, not raised."""
        reply = self._ask(group_id, event)
        if reply.answer is not NOT_YET:
            return reply.answer
        return then(self._wait(wait, [reply]), _first)

    def apply(self, group_id: str, change: Change) -> None:
        """Submit an event that has no answer; ignored if the group is led elsewhere by now."""
        with suppress(KafkaError):
            self._shard_of(group_id).apply(change)

    def submit_many(self, wait: str, events: Iterable[tuple[str, Event]]) -> Eventual[list[Any]]:
        """Submit events by group id. Return all answers in order, errors included."""
        rest = iter(events)
        replies = [self._ask(group_id, event) for group_id, event in islice(rest, _AT_ONCE)]
        if len(replies) == _AT_ONCE:
            return Work(self._submit_rest(wait, replies, rest))
        return self._wait(wait, replies)

    def _submit_rest(
        self, wait: str, replies: list[PendingReply], rest: Iterable[tuple[str, Event]]
    ) -> Steps[Eventual[list[Any]]]:
        for some in in_slices(rest, _A_STEP):
            yield
            replies += [self._ask(group_id, event) for group_id, event in some]
        yield
        return self._wait(wait, replies)

    def submit_everywhere(self, wait: str, event: Event) -> Eventual[list[Any]]:
        """Submit an event to every shard. Return all answers, errors of loading shards included."""
        return self._wait(wait, [shard.ask(event) for shard in self._shards.values()])

    def _ask(self, group_id: str, event: Event) -> PendingReply:
        try:
            return self._shard_of(group_id).ask(event)
        except KafkaError as error:
            return PendingReply(error.as_value())

    def _wait(self, wait: str, replies: list[PendingReply]) -> Eventual[list[Any]]:
        timeout_s = self.settings.offsets_commit_timeout_ms / 1000
        if wait in _FOR_MEMBERS:
            timeout_s = inf
        return wait_for_answers(replies, self.purgatories[wait], timeout_s)


def _first(answers: list[Any]) -> Any:
    return answers[0]
