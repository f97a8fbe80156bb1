"""Group of a consumer: membership, commits, and the watch over the user's loop.

Tasks: the membership's own; one that asks for committed offsets; one that commits in the
background; and the watchdog, which leaves the group when the user's loop has not read for
`max.poll.interval.ms`. All that changes which partitions are read happens in `turn`, which the task
that reads awaits between two reads: no record is being processed then.
"""

from collections.abc import Callable, Collection, Mapping
from typing import Final

import trio
from attrs import field

from trio_kafka.attributes import define
from trio_kafka.clients.consumer.groups.commits import Commits
from trio_kafka.clients.consumer.groups.protocol import Membership
from trio_kafka.clients.consumer.groups.rebalance import Rebalance
from trio_kafka.clients.consumer.partition_state import Phase
from trio_kafka.clients.consumer.positions import Positions
from trio_kafka.clients.consumer.values import OffsetAndMetadata, Position
from trio_kafka.clients.errors import (
    ClientError,
    CommitFailedError,
    RetriableError,
    TimedOutError,
)
from trio_kafka.clients.group_metadata import GroupMetadata
from trio_kafka.clients.settings.consumer import ConsumerSettings
from trio_kafka.introspect.tree import Figures
from trio_kafka.model import TopicPartition

Offsets = Mapping[TopicPartition, OffsetAndMetadata]
Read = Callable[[], Mapping[TopicPartition, Position]]
_NEVER = float("inf")
# Kafka commits all positions at each interval. An idle consumer of many partitions does without,
# and stays below the least retention of offsets, 1 min.
RENEWAL_S: Final = 30.0


@define(eq=False, kw_only=True)
class ConsumerGroup:
    """Group of one consumer.

    membership: None: the partitions are assigned by the user. processed: returns the positions
    up to which records were processed. wake: wakes the reader.
    next_commit: time of the next automatic commit. next_renewal: of one that commits unchanged
    positions, too.
    reading_since: time since which the user's loop has not read; None: it is reading now.
    """

    settings: ConsumerSettings
    positions: Positions
    commits: Commits
    rebalance: Rebalance
    membership: Membership
    processed: Read
    wake: Callable[[], None]
    is_subscribed: bool = field(default=False, init=False)
    reading_since: float | None = field(default=None, init=False)
    expirations: int = field(default=0, init=False)
    next_commit: float = field(default=_NEVER, init=False)
    next_renewal: float = field(default=float("-inf"), init=False)
    _committed: dict[TopicPartition, int] = field(factory=dict, init=False)
    _queued: dict[TopicPartition, OffsetAndMetadata] = field(factory=dict, init=False)
    _lock: trio.Lock = field(factory=trio.Lock, init=False)
    _work: trio.Event = field(factory=trio.Event, init=False)
    _assigned: trio.Event = field(factory=trio.Event, init=False)
    _watch: trio.Event = field(factory=trio.Event, init=False)

    # --- the reader's part

    @property
    def needs_turn(self) -> bool:
        """True if `turn` has something to do."""
        return (self.is_subscribed and self.membership.needs_turn) or self._is_commit_due()

    async def turn(self) -> None:
        """Take part in a rebalance, and begin an automatic commit if it is due."""
        if self.is_subscribed and self.membership.needs_turn:
            await self.membership.turn()
        if self._is_commit_due():
            now = trio.current_time()
            self.next_commit = now + self.settings.auto_commit_interval_ms / 1000
            if now >= self.next_renewal:
                self.next_renewal = now + RENEWAL_S
                self.commit_soon(self.consumed())
            else:
                self.commit_soon(self.uncommitted())

    def subscribed(self) -> None:
        """Note a subscription, from which the watchdog counts."""
        self.is_subscribed = True
        self.came_back()

    def came_in(self) -> None:
        """Note that the user's loop reads, or waits for records."""
        self.reading_since = None

    def came_back(self) -> None:
        """Note that the user's loop has got what it wanted, and processes it."""
        self.reading_since = trio.current_time()
        if self.is_subscribed:
            self._watch.set()

    def note_busy(self, since: float | None) -> None:
        """Note since when the slowest of several tasks has processed its records; None: none."""
        self.reading_since = since
        if since is not None and self.is_subscribed:
            self._watch.set()

    def assigned(self) -> None:
        """Note new partitions: ask for their committed offsets."""
        self._assigned.set()
        if self.next_commit == _NEVER and self.commits_by_itself:
            self.next_commit = trio.current_time() + self.settings.auto_commit_interval_ms / 1000

    @property
    def commits_by_itself(self) -> bool:
        return self.settings.enable_auto_commit

    def _is_commit_due(self) -> bool:
        return self.next_commit < _NEVER and trio.current_time() >= self.next_commit

    # --- commits

    def metadata(self) -> GroupMetadata:
        """Return the group and the member, for a producer. Raises CommitFailedError."""
        member = self.commits.identity()
        if member is None:
            raise CommitFailedError("the consumer is no member of its group at the moment")
        return GroupMetadata(
            group_id=self.commits.coordinator.group,
            generation=member.epoch,
            member_id=member.member_id,
            instance_id=member.instance_id,
        )

    def consumed(self, partitions: Collection[TopicPartition] | None = None) -> Offsets:
        """Return the offsets that were processed. partitions: None: of all.

        Those that have not changed are among them: the broker drops the offset of a group without
        members when it was not committed for `offsets.retention.minutes`.
        """
        return {
            at: OffsetAndMetadata(position.offset, position.epoch)
            for at, position in self.processed().items()
            if partitions is None or at in partitions
        }

    def uncommitted(self) -> Offsets:
        """Return the offsets that were processed and not committed."""
        committed = self._committed
        offsets = self.consumed()
        return {at: offset for at, offset in offsets.items() if committed.get(at) != offset.offset}

    async def commit(self, offsets: Offsets, *, timeout_s: float) -> None:
        """Commit offsets, after those of earlier calls. Raises as `Commits.commit`."""
        deadline = trio.current_time() + timeout_s
        for at in offsets:
            self._queued.pop(at, None)
        try:
            with trio.fail_at(deadline):
                await self._lock.acquire()
        except trio.TooSlowError:
            reason = f"earlier commits have not ended within {timeout_s:g} s"
            raise TimedOutError(reason) from None
        try:
            await self._commit(offsets, deadline - trio.current_time())
        finally:
            self._lock.release()

    async def _commit(self, offsets: Offsets, timeout_s: float) -> None:
        """Commit offsets while no other commit runs."""
        await self.commits.commit(offsets, timeout_s=timeout_s)
        self._committed.update({at: offset.offset for at, offset in offsets.items()})

    def commit_soon(self, offsets: Offsets) -> None:
        """Commit offsets in the background; a later call replaces an earlier one."""
        if offsets:
            self._queued.update(offsets)
            self._work.set()

    async def commit_revoked(
        self, partitions: Collection[TopicPartition], timeout_s: float
    ) -> None:
        """Commit what was processed of partitions that are given away; raises no ClientError."""
        try:
            await self.commit(self.consumed(partitions), timeout_s=timeout_s)
        except ClientError:
            return  # counted; another member reads the records again
        finally:
            for at in partitions:
                self._committed.pop(at, None)

    # --- tasks

    async def run(self) -> None:
        """Run the tasks of the group until cancelled."""
        async with trio.open_nursery() as nursery:
            nursery.start_soon(self.membership.run, name="membership")
            nursery.start_soon(self._read_committed, name="committed-offsets")
            nursery.start_soon(self._commit_queued, name="commits")
            nursery.start_soon(self._watch_reader, name="watchdog")

    async def _read_committed(self) -> None:
        """Give new partitions their committed offsets."""
        attempt = 0
        while True:
            self._assigned = trio.Event()
            states = self.positions.states
            pending = [at for at, state in states.items() if state.phase is Phase.COMMITTED]
            if not pending:
                await self._assigned.wait()
                continue
            timeout_s = self.settings.request_timeout_s
            try:
                offsets = await self.commits.committed(pending, timeout_s=timeout_s)
            except ClientError as error:
                if not isinstance(error, RetriableError):
                    for at in pending:
                        if at in states:
                            self.positions.failed(states[at], error.again())
                    self.wake()
                attempt += 1
                with trio.move_on_after(self.settings.retry_backoff.pause_s(attempt, 0.5)):
                    await self._assigned.wait()
                continue
            attempt = 0
            for at, offset in offsets.items():
                position = None if offset is None else Position(offset.offset, offset.leader_epoch)
                self.positions.committed(at, position)
                if offset is not None:
                    self._committed[at] = offset.offset
            self.rebalance.changed()

    async def _commit_queued(self) -> None:
        while True:
            await self._work.wait()
            self._work = trio.Event()
            offsets, self._queued = self._queued, {}
            try:
                async with self._lock:
                    await self._commit(offsets, self.settings.call_timeout_s)
            except ClientError:
                continue  # counted; the next commit has later offsets

    async def _watch_reader(self) -> None:
        limit_s = self.settings.max_poll_interval_ms / 1000
        while True:
            self._watch = trio.Event()
            since = self.reading_since
            if since is None or not self.is_subscribed:
                await self._watch.wait()
            elif trio.current_time() < since + limit_s:
                await trio.sleep_until(since + limit_s)
            else:
                self.expirations += 1
                await self.membership.expire()
                self.wake()
                if self.reading_since == since:
                    await self._watch.wait()

    def figures(self) -> Figures:
        """Return the figures of the group for the tree."""
        return {
            **self.membership.figures(),
            "partitions": len(self.rebalance.owned),
            "rebalances": self.rebalance.rebalances,
            "commits": self.commits.done,
            "failed_commits": self.commits.failed,
            "late_revocations": self.rebalance.late,
            "expirations": self.expirations,
        }
