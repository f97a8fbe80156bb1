"""Submission of requests to the shards of their groups: each is an event, and gets one answer.

A handler passes `make`, which makes its answer of the machine's; the result is that, or a Delayed.
Many events of one request are submitted in steps.
"""

from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from itertools import islice
from math import inf
from types import GeneratorType
from typing import Any, Final, TypeVar

from trio_kafka.coordinators.groups.groups import Change, Event, Groups
from trio_kafka.coordinators.groups.settings import GroupSettings
from trio_kafka.coordinators.pending_reply import NOT_YET, PendingReply, joint_reply, value_or_raise
from trio_kafka.coordinators.shard import Shard
from trio_kafka.errors import KafkaError
from trio_kafka.introspect.tree import Node
from trio_kafka.purgatory import Purgatory, Timers
from trio_kafka.scheduling.chunked_work import Steps, in_slices

T = TypeVar("T")
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

    def submit(self, wait: str, group_id: str, event: Event, make: Callable[[Any], T]) -> Any:
        """Submit an event to a group's shard.

        Raises KafkaError, now or when the Delayed is asked: an error of the machine,
        COORDINATOR_LOAD_IN_PROGRESS, NOT_COORDINATOR, COORDINATOR_NOT_AVAILABLE (also after the
        timeout).
        """
        answer = (reply := self._ask(group_id, event)).answer
        if answer is not NOT_YET:
            return value_or_raise(make, answer)
        return self._joint(wait, [reply], lambda answers: value_or_raise(make, answers[0]))

    def apply(self, group_id: str, change: Change) -> None:
        """Submit an event that has no answer; ignored if the group is led elsewhere by now."""
        with suppress(KafkaError):
            self._shard_of(group_id).apply(change)

    def submit_told(self, wait: str, group_id: str, event: Event, make: Callable[[Any], T]) -> Any:
        """Submit an event; errors are passed to `make` like any answer."""
        reply = self._ask(group_id, event)
        if reply.answer is not NOT_YET:
            return make(reply.answer)
        return self._joint(wait, [reply], lambda answers: make(answers[0]))

    def submit_many(
        self, wait: str, events: Iterable[tuple[str, Event]], make: Callable[[list[Any]], T]
    ) -> Any:
        """Submit events by group id; `make` gets all answers in order, errors included.

        `make` may return steps, too.
        """
        rest = iter(events)
        replies = [self._ask(group_id, event) for group_id, event in islice(rest, _AT_ONCE)]
        if len(replies) == _AT_ONCE:
            return self._submit_rest(wait, replies, rest, make)
        return self._joint(wait, replies, make)

    def _submit_rest(
        self,
        wait: str,
        replies: list[PendingReply],
        rest: Iterable[tuple[str, Event]],
        make: Callable[[list[Any]], T],
    ) -> Steps[Any]:
        for some in in_slices(rest, _A_STEP):
            yield
            replies += [self._ask(group_id, event) for group_id, event in some]
        yield
        answer = self._joint(wait, replies, make)
        return (yield from answer) if isinstance(answer, GeneratorType) else answer

    def submit_everywhere(self, wait: str, event: Event, make: Callable[[list[Any]], T]) -> Any:
        """Submit an event to every shard; `make` gets all answers, errors of loading shards
        included.
        """
        return self._joint(wait, [shard.ask(event) for shard in self._shards.values()], make)

    def _ask(self, group_id: str, event: Event) -> PendingReply:
        try:
            return self._shard_of(group_id).ask(event)
        except KafkaError as error:
            return PendingReply(error.as_value())

    def _joint(self, wait: str, replies: list[PendingReply], make: Callable[[list[Any]], T]) -> Any:
        timeout_s = self.settings.offsets_commit_timeout_ms / 1000
        if wait in _FOR_MEMBERS:
            timeout_s = inf
        return joint_reply(replies, make, self.purgatories[wait], timeout_s)
