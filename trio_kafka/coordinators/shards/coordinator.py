"""Requests to the shards of an internal topic: each is an event of one shard, and gets one answer.

    handler ─▶ Coordinator.ask(key, event) ─▶ Shard.ask(event) ─▶ event(machine, ticket, now_ms)

The answer is a value if nothing has to be awaited. Otherwise it is a Delayed in the purgatory of
its kind of request. Many events of one request are asked in slices.
"""

from collections.abc import Collection, Iterable, Mapping
from contextlib import suppress
from itertools import islice
from math import inf
from typing import Any, Final, Generic

from trio_kafka.coordinators.shards.owned_topic import OwnedTopic, partition_of
from trio_kafka.coordinators.shards.pending_reply import NOT_YET, PendingReply, wait_for_answers
from trio_kafka.coordinators.shards.protocols import Change, Event
from trio_kafka.coordinators.shards.runtime import M, ShardRuntime
from trio_kafka.coordinators.shards.shard import Shard
from trio_kafka.errors import ErrorCode, KafkaError
from trio_kafka.pending import Eventual, Work
from trio_kafka.purgatory import Purgatory
from trio_kafka.scheduling.chunked_work import Steps, in_slices

_AT_ONCE: Final = 100  # keys of one request that are asked in one step: 1 ms
_A_STEP: Final = 10


class Coordinator(Generic[M]):
    """Asks the shards of one topic. timeout_s: longest wait for a commit.

    wait, in all methods: the purgatory of the request, by name.
    """

    def __init__(
        self,
        topic: OwnedTopic[M],
        runtime: ShardRuntime[M],
        *,
        purgatories: Mapping[str, Purgatory],
        unbounded: Collection[str] = (),
        timeout_s: float,
    ) -> None:
        """unbounded: waits that something else bounds, such as the sessions of members."""
        self.purgatories = purgatories
        self.timeout_s = timeout_s
        self._topic = topic
        self._runtime = runtime
        self._unbounded = unbounded

    def shard_of(self, key: str) -> Shard[M]:
        """Return the shard of a key. Raises KafkaError(NOT_COORDINATOR) if another broker leads it.

        A missing topic is created meanwhile.
        """
        runtime, topic = self._runtime, self._topic
        shard = runtime.shards.get(partition_of(key, runtime.count or topic.new_count))
        if shard is None:
            if runtime.count is None:
                topic.create()
            raise KafkaError(ErrorCode.NOT_COORDINATOR)
        return shard

    def ask(self, key: str, event: Event[M], wait: str) -> Eventual[Any]:
        """Ask the shard of a key. Return the event's answer, or a Pending of it.

        Errors are answers: a KafkaError of the machine, COORDINATOR_LOAD_IN_PROGRESS,
        NOT_COORDINATOR, COORDINATOR_NOT_AVAILABLE (also after the timeout). See `value_or_raise`.
        """
        try:
            shard = self.shard_of(key)
        except KafkaError as error:
            return error.as_value()
        reply = shard.ask(event)
        if reply.answer is not NOT_YET:
            return reply.answer
        reply.source, reply.key = shard, key
        timeout_s = inf if wait in self._unbounded else self.timeout_s
        return reply.wait(self.purgatories[wait], timeout_s)

    def ask_partition(self, number: int, event: Event[M], wait: str) -> Eventual[Any]:
        """Ask the shard of a partition, as `ask` does that of a key."""
        shard = self._runtime.shards.get(number)
        if shard is None:
            return KafkaError(ErrorCode.NOT_COORDINATOR)
        reply = _ask(shard, shard.name, event)
        if reply.answer is not NOT_YET:
            return reply.answer
        return reply.wait(self.purgatories[wait], self.timeout_s)

    def ask_many(self, events: Iterable[tuple[str, Event[M]]], wait: str) -> Eventual[list[Any]]:
        """Ask by key. Return all answers in order, errors included."""
        rest = iter(events)
        replies = [self._reply(key, event) for key, event in islice(rest, _AT_ONCE)]
        if len(replies) == _AT_ONCE:
            return Work(self._ask_rest(replies, rest, wait))
        return self._answers(replies, wait)

    def _ask_rest(
        self, replies: list[PendingReply], rest: Iterable[tuple[str, Event[M]]], wait: str
    ) -> Steps[Eventual[list[object]]]:
        for events in in_slices(rest, _A_STEP):
            yield
            replies += [self._reply(key, event) for key, event in events]
        yield
        return self._answers(replies, wait)

    def ask_everywhere(self, event: Event[M], wait: str) -> Eventual[list[Any]]:
        """Ask every shard. Return all answers, errors of loading shards included."""
        shards = self._runtime.shards.values()
        return self._answers([_ask(shard, "", event) for shard in shards], wait)

    def apply(self, key: str, change: Change[M]) -> None:
        """Have the shard of a key take an event that has no answer; ignored if another broker leads
        it by now.
        """
        with suppress(KafkaError):
            self.shard_of(key).apply(change)

    def _reply(self, key: str, event: Event[M]) -> PendingReply:
        try:
            return _ask(self.shard_of(key), key, event)
        except KafkaError as error:
            return PendingReply(error.as_value())

    def _answers(self, replies: list[PendingReply], wait: str) -> Eventual[list[object]]:
        timeout_s = inf if wait in self._unbounded else self.timeout_s
        return wait_for_answers(replies, self.purgatories[wait], timeout_s)


def _ask(shard: Shard[M], key: str, event: Event[M]) -> PendingReply:
    reply = shard.ask(event)
    reply.source, reply.key = shard, key
    return reply
