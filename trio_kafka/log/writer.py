"""Writer of a log: the only place that says which change of the log may begin.

Theory of operation. Changes of a log exclude one another in two ways.
1. A change that waits has a *turn*: a thread's append or roll, a sync, a cut, a removal or swap of
   segments, a close. Turns are taken in order, one at a time.
2. A change that moves the end of the log *blocks appends*: every append, roll and cut does. Another
   one that begins meanwhile is a bug, so callers look at `blocked_by` first, and take a turn or
   queue. Appends in the loop need no turn: they go on beside a sync.
Segments that vanish or change begin a new *generation*. A reader that has waited compares it, and
discards its result.
Long work (compaction, retention) *claims* the log for many turns. Closing the log or another policy
revokes the claim, which cancels the work of its holder. The claim ends when the holder has stopped.
"""

from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from typing import Final

import trio
from attrs import field

from trio_kafka.attributes import define
from trio_kafka.errors import InvariantError

_open_claims: Final[set["Claim"]] = set()


def open_claims() -> tuple[str, ...]:
    """Return the names of all claims that have not ended, with their partitions. For tests."""
    return tuple(sorted(f"{claim.name} {claim.owner}" for claim in _open_claims))


@define(eq=False)
class Claim:
    """Claim of a task to do long work on one log; ends with the block of `LogWriter.claimed`.

    name: "cleaning" or "retention". owner: the log, for messages.
    revoked: why the work must stop; None: it may go on. Revocation cancels the block.
    ended: set when the holder has left the block, so that nothing of its work is in progress.
    """

    name: str
    owner: str
    revoked: str | None = field(default=None, init=False)
    ended: trio.Event = field(factory=trio.Event, init=False)
    _scope: trio.CancelScope = field(factory=trio.CancelScope, init=False, repr=False)

    def revoke(self, reason: str) -> None:
        """Cancel the work of the holder. Shielded parts are completed. Idempotent."""
        if self.revoked is None:
            self.revoked = reason
            self._scope.cancel()

    @contextmanager
    def _held(self) -> Iterator[None]:
        _open_claims.add(self)
        try:
            with self._scope:
                yield
        finally:
            _open_claims.discard(self)
            self.ended.set()


@define(eq=False)
class LogWriter:
    """Changes of one log that are in progress. owner: the log, for messages.

    change: name of the change that has the turn; None: no change has it.
    blocked_by: name of the change that moves the end of the log; None: an append may begin.
    generation: grows when segments are cut, removed or replaced, and when the log is closed.
    claim: the claim of long work that has not ended, if any.
    """

    owner: str
    change: str | None = field(default=None, init=False)
    blocked_by: str | None = field(default=None, init=False)
    generation: int = field(default=0, init=False)
    claim: Claim | None = field(default=None, init=False)
    _turns: trio.Lock = field(factory=trio.Lock, init=False, repr=False)
    _unblocked: trio.Event | None = field(default=None, init=False, repr=False)

    # Turns

    @asynccontextmanager
    async def turn(self, change: str) -> AsyncIterator[None]:
        """Have a turn for the block, after those that wait already. Not reentrant."""
        await self._turns.acquire()
        try:
            self.change = change
            yield
        finally:
            self.end_turn()

    def turn_nowait(self, change: str) -> None:
        """Take a turn, which this task ends with `end_turn`. Raises trio.WouldBlock."""
        self._turns.acquire_nowait()
        self.change = change

    def end_turn(self) -> None:
        """End the turn of this task."""
        self.change = None
        self._turns.release()

    # Appends

    @contextmanager
    def blocking_appends(self, change: str) -> Iterator[None]:
        """Let no append, roll or cut begin during the block. InvariantError: one is in progress."""
        self.check_unblocked()
        self.blocked_by = change
        try:
            yield
        finally:
            self.blocked_by = None
            if self._unblocked is not None:
                self._unblocked.set()
                self._unblocked = None

    def check_unblocked(self) -> None:
        """Raise InvariantError while appends are blocked."""
        if self.blocked_by is not None:
            raise InvariantError(
                f"{self.owner}: the log is busy with this change: {self.blocked_by}"
            )

    async def wait_unblocked(self) -> None:
        """Wait until an append may begin. Has no checkpoint if it may begin now."""
        while self.blocked_by is not None:
            if self._unblocked is None:
                self._unblocked = trio.Event()
            await self._unblocked.wait()

    # Readers

    def begin_generation(self) -> None:
        """Let readers discard what they have found so far.

        A change with waits calls this before and after.
        """
        self.generation += 1

    # Long work

    @contextmanager
    def claimed(self, name: str) -> Iterator[Claim]:
        """Claim the log for the block, which is cancelled if the claim is revoked.

        Look at `claim` first: InvariantError if the log is claimed.
        """
        if self.claim is not None:
            raise InvariantError(f"{self.owner}: {name} claims the log amid {self.claim.name}")
        claim = self.claim = Claim(name, self.owner)
        try:
            with claim._held():  # noqa: SLF001 - a part of this class
                yield claim
        finally:
            self.claim = None

    def revoke(self, reason: str) -> None:
        """Revoke the claim of long work, if there is one."""
        if self.claim is not None:
            self.claim.revoke(reason)

    def close(self) -> None:
        """End what relies on the log: readers' results and long work."""
        self.begin_generation()
        self.revoke("the log was closed")
