"""Timers of one machine, by key.

A timer that is put off only notes its later deadline, and is set again when it is due: heartbeats
put off session timers all the time.
"""

from collections.abc import Callable, Iterable, Iterator
from functools import partial
from itertools import islice
from typing import Final

import trio

from trio_kafka.attributes import define
from trio_kafka.coordinators.shards.effects import CancelTimer, SetTimer, TimerKey
from trio_kafka.introspect.tree import Figures
from trio_kafka.purgatory import Timer, Timers
from trio_kafka.scheduling.chunked_work import Steps

_SHOWN: Final = 100
_A_STEP: Final = 100  # timers that are cancelled in one step


@define(eq=False)
class _KeyedTimer:
    """deadline: may be later than that of the timer."""

    deadline: float
    timer: Timer


class KeyedTimers:
    """Set, cancel and fire timers. A timer that has fired is pending until `claim` takes it."""

    def __init__(self, timers: Timers, fire: Callable[[TimerKey], None]) -> None:
        """fire: called with the key of a timer that is due."""
        self._timers = timers
        self._fire = fire
        self._now = trio.lowlevel.current_clock().current_time  # bound once: heartbeats ask for it
        self._by_key: dict[TimerKey, _KeyedTimer] = {}
        self._fired: dict[TimerKey, None] = {}  # due, and not claimed yet

    def __len__(self) -> int:
        return len(self._by_key)

    def apply(self, timers: Iterable[SetTimer | CancelTimer]) -> None:
        """Set and cancel timers, in this order."""
        for timer in timers:
            if isinstance(timer, SetTimer):
                self.set(timer.key, timer.delay_ms / 1000, keep=timer.keep)
            else:
                self.cancel(timer.key)

    def set(self, key: TimerKey, delay_s: float, *, keep: bool = False) -> None:
        """Set the timer of a key, and replace an earlier one unless `keep` is true."""
        if keep and (key in self._by_key or key in self._fired):
            return
        self._fired.pop(key, None)
        deadline = self._now() + delay_s
        known = self._by_key.get(key)
        if known is not None:
            if deadline >= known.deadline:
                known.deadline = deadline
                return
            self._timers.cancel(known.timer)
        timer = self._timers.at(deadline, partial(self._due, key))
        self._by_key[key] = _KeyedTimer(deadline, timer)

    def timers(self, chosen: Callable[[TimerKey], bool]) -> Iterator[Timer]:
        """Yield the timers of chosen keys."""
        return (known.timer for key, known in self._by_key.items() if chosen(key))

    def postpone(self, seconds: float, chosen: Callable[[TimerKey], bool]) -> None:
        """Put off the deadlines of chosen keys; their `timers` may be put off by as much."""
        for key, known in self._by_key.items():
            if chosen(key):
                known.deadline += seconds

    def cancel(self, key: TimerKey) -> None:
        """Cancel the timer of a key, also one that has fired and is not claimed. Idempotent."""
        self._fired.pop(key, None)
        known = self._by_key.pop(key, None)
        if known is not None:
            self._timers.cancel(known.timer)

    def claim(self, key: TimerKey) -> bool:
        """Take a timer that has fired; False if it was set or cancelled since."""
        if key not in self._fired:
            return False
        del self._fired[key]
        return True

    def clear(self) -> Steps[None]:
        """Cancel all timers for good, and break the cycle with the owner."""
        self._fire = _ignore
        self._fired.clear()
        while self._by_key:  # some may become due meanwhile
            self._timers.cancel(self._by_key.popitem()[1].timer)
            if not len(self._by_key) % _A_STEP:
                yield

    def _due(self, key: TimerKey) -> None:
        known = self._by_key[key]
        if known.deadline > trio.current_time():
            known.timer = self._timers.at(known.deadline, partial(self._due, key))
            return
        del self._by_key[key]
        self._fired[key] = None
        self._fire(key)

    def figures(self) -> Figures:
        """Figures for the tree: seconds until each timer is due, for the first hundred."""
        now = trio.current_time()
        shown = islice(self._by_key.items(), _SHOWN)
        return {" ".join(map(str, key)): round(known.deadline - now, 3) for key, known in shown}


def _ignore(_key: TimerKey) -> None:
    """Receive the keys that are due after `clear`."""
