"""Ledger of the syncs of one log directory that are under way, for inspection.

A sync is rare beside appends: with `flush.messages` it costs a write to the disk each time.
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from itertools import islice
from typing import Final

import trio
from attrs import field

from trio_kafka.attributes import define
from trio_kafka.introspect.facts.storage import SyncFacts
from trio_kafka.introspect.waits import Subject, Wait, seconds

MOST_FILES: Final = 8  # that the facts name


@define(eq=False)
class _Sync:
    """A sync under way. files: what it syncs. since: `trio.current_time()`."""

    files: Sequence[object]
    since: float


@define(eq=False)
class SyncLedger:
    """Syncs of one directory that are under way. path: of the directory; empty: unknown.

    followers: called with each sync that ends, whose `age_s` is then how long it took.
    """

    path: str = ""
    followers: tuple[Callable[[SyncFacts], None], ...] = field(default=(), init=False)
    _syncs: dict[_Sync, None] = field(factory=dict, init=False)

    @contextmanager
    def noting(self, *files: object) -> Iterator[None]:
        """Note a sync for the block. files: what it syncs; their texts are read when shown."""
        sync = _Sync(files, trio.current_time())
        self._syncs[sync] = None
        try:
            yield
        finally:
            del self._syncs[sync]
            for follower in self.followers:
                follower(self._facts(sync, trio.current_time()))

    @contextmanager
    def followed(self, follower: Callable[[SyncFacts], None]) -> Iterator[None]:
        """Call `follower`, which must not raise, with each sync that ends during the block."""
        self.followers = (*self.followers, follower)
        try:
            yield
        finally:
            self.followers = tuple(other for other in self.followers if other != follower)

    def facts(self, now: float) -> tuple[SyncFacts, ...]:
        """Return the syncs under way, the oldest first. now: `trio.current_time()`."""
        return tuple(self._facts(sync, now) for sync in self._syncs)

    def _facts(self, sync: _Sync, now: float) -> SyncFacts:
        files = tuple(map(str, islice(sync.files, MOST_FILES)))
        return SyncFacts(directory=self.path, files=files, age_s=now - sync.since)

    def waits(self, now: float, directory: str, file: object = None) -> tuple[Wait, ...]:
        """Return the wait for this directory. file: its own sync is told of if it is under way,
        else the oldest one.

        directory: its path, for a ledger without one.
        """
        on = Subject("directory", self.path or directory)
        own = next((sync for sync in self._syncs if file in sync.files), None)
        sync = own or next(iter(self._syncs), None)
        if sync is None:
            words = f"{on.name} has not begun this sync yet"
            return (Wait(cause="sync", words=words, on=on),)
        age_s = now - sync.since
        more = len(self._syncs) - 1
        beside = f", beside {more} more" if more else ""
        words = f"a sync of {on.name} has been under way for {seconds(age_s)}{beside}"
        return (Wait(cause="sync", words=words, on=on, age_s=age_s),)
