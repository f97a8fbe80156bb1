"""Ledgers: objects that count what others hold of them and must give back.

Descriptors and leases, handler tokens, room in channels, memory, timers and parked operations are
plain counts of their ledgers, which the tree shows. A test observes the ledgers that are made while
it runs, and checks afterwards that all of them are empty.
"""

from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Protocol


class Ledger(Protocol):
    """Object that counts what is held of it."""

    def still_held(self) -> Mapping[str, int]:
        """Return what must be given back before the end of a test, by kind."""


class Observer(Protocol):
    """Receiver of reports about ledgers: the census of a test."""

    def opened(self, ledger: Ledger) -> None:
        """Note a new ledger; called in any thread."""

    def leaked(self, owner: str, counts: Mapping[str, int]) -> None:
        """Note what an owner has not given back at its end."""


class Counts(Protocol):
    """Counts of what an owner gives back at its end."""

    def owned(self) -> Mapping[str, int]: ...


_observer: Observer | None = None


def opened(ledger: Ledger) -> None:
    """Report a new ledger to the observer, if there is one."""
    if _observer is not None:
        _observer.opened(ledger)


@contextmanager
def given_back(owner: str, counts: Counts) -> Iterator[None]:
    """Report to the observer what the block has taken and not given back.

    counts: of a ledger that others use as well, so that only the difference belongs to the owner.
    """
    before = Counter(counts.owned()) if _observer is not None else None
    try:
        yield
    finally:
        more = Counter() if before is None else Counter(counts.owned()) - before
        if more and _observer is not None:
            _observer.leaked(owner, more)


@contextmanager
def observed(observer: Observer | None) -> Iterator[None]:
    """Report each ledger that the block makes to an observer; None: report nothing."""
    global _observer  # noqa: PLW0603 - ledgers are made in too many places to hand it down
    outer, _observer = _observer, observer
    try:
        yield
    finally:
        _observer = outer
