"""Ledgers: objects that count what others hold of them and must give back.

Descriptors and leases, handler tokens, room in channels, memory, timers and parked operations are
plain counts of their ledgers, which the tree shows. A test observes the ledgers that are made while
it runs, and looks afterwards whether all of them are empty. Making a ledger costs one comparison
more without an observer, taking and giving back nothing.
"""

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Protocol


class Ledger(Protocol):
    """Object that counts what is held of it."""

    def still_held(self) -> Mapping[str, int]:
        """Return what is held now, by kind. Empty when the ledger itself has ended."""


_observer: Callable[[Ledger], None] | None = None


def opened(ledger: Ledger) -> None:
    """Report a new ledger to the observer, if there is one."""
    if _observer is not None:
        _observer(ledger)


@contextmanager
def observed(observe: Callable[[Ledger], None] | None) -> Iterator[None]:
    """Have `observe` called with each ledger made in the block, in any thread; None: nothing is."""
    global _observer  # noqa: PLW0603 - ledgers are made in too many places to hand it down
    outer, _observer = _observer, observe
    try:
        yield
    finally:
        _observer = outer
