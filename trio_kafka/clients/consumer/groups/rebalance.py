"""Change of the partitions that a member reads: commit, hooks, positions; in the reader's task."""

from collections.abc import Awaitable, Callable, Collection

import trio
from attrs import field

from trio_kafka.attributes import define
from trio_kafka.clients.consumer.groups.listener import NO_LISTENER, Hook, RebalanceListener
from trio_kafka.clients.consumer.positions import Positions
from trio_kafka.model import TopicPartition


@define(eq=False, kw_only=True)
class Rebalance:
    """Owned partitions, and how they change.

    timeout_s: for all that is awaited before partitions are given away.
    commit: commits what was read of partitions; None: no automatic commits. It raises nothing.
    streams: awaited before the listener, when partitions are read by tasks of their own.
    changed: called after each change. rebalances: count. late: revocations whose time was over.
    unannounced: assigned partitions of which the listener has not heard: the read was cancelled.
    unannounced_lost: lost ones, likewise.
    """

    positions: Positions
    timeout_s: float
    changed: Callable[[], None]
    commit: Callable[[Collection[TopicPartition], float], Awaitable[None]] | None = None
    streams: Hook | None = None
    listener: RebalanceListener = NO_LISTENER
    owned: frozenset[TopicPartition] = frozenset()
    rebalances: int = field(default=0, init=False)
    late: int = field(default=0, init=False)
    unannounced: frozenset[TopicPartition] = field(default=frozenset(), init=False)
    unannounced_lost: frozenset[TopicPartition] = field(default=frozenset(), init=False)

    async def change(self, target: frozenset[TopicPartition]) -> None:
        """Own exactly these partitions.

        Raises what a hook raises, after the change. A cancelled change is not over: the next one
        calls the hook again that was cancelled.
        """
        failure = await self.revoke(self.owned - target)
        for at in sorted(self.owned):
            self.positions.release(at)
        added = target - self.owned
        self.positions.add(sorted(added))
        self.owned = target
        self.unannounced = (self.unannounced & target) | added
        self.rebalances += 1
        self.changed()
        try:
            await self.listener.on_assigned(sorted(self.unannounced))
        except Exception:
            self.unannounced = frozenset()
            raise
        self.unannounced = frozenset()
        if failure is not None:
            raise failure

    async def revoke(self, partitions: Collection[TopicPartition]) -> Exception | None:
        """Give partitions away; return what a hook has raised."""
        await trio.lowlevel.checkpoint()
        if not partitions:
            return None
        revoked = sorted(partitions)
        for at in revoked:
            self.positions.hold(at)
        failure: Exception | None = None
        deadline = trio.current_time() + self.timeout_s
        with trio.move_on_at(deadline) as scope:
            try:
                if self.streams is not None:
                    await self.streams(revoked)
                if self.commit is not None:
                    await self.commit(revoked, deadline - trio.current_time())
                await self.listener.on_revoked(revoked)
            except Exception as error:  # noqa: BLE001 - the partitions go all the same
                failure = error
        self.late += scope.cancelled_caught
        self._remove(revoked)
        return failure

    async def lose(self) -> None:
        """Let all partitions go that the group has given to others already.

        Raises what a hook raises. If it is cancelled, the next call calls the hook again.
        """
        await trio.lowlevel.checkpoint()
        lost = sorted(self.owned)
        for at in lost:
            self.positions.hold(at)
        if self.streams is not None:
            await self.streams(lost)
        self.unannounced_lost |= self.owned
        self._remove(lost)
        if not self.unannounced_lost:
            return
        try:
            await self.listener.on_lost(sorted(self.unannounced_lost))
        except Exception:
            self.unannounced_lost = frozenset()
            raise
        self.unannounced_lost = frozenset()

    def _remove(self, partitions: Collection[TopicPartition]) -> None:
        self.owned -= frozenset(partitions)
        self.unannounced -= frozenset(partitions)
        self.positions.remove(partitions)
        self.changed()
