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
        """Set and cancel timers, in this order. Also a timer that has fired and is not claimed is
        cancelled. Each request of a member puts off one.
        """
        by_key, fired = self._by_key, self._fired
        for change in timers:
            key = change.key
            earlier = by_key.get(key)
            if isinstance(change, CancelTimer):
                fired.pop(key, None)
                if earlier is not None:
                    del by_key[key]
                    self._timers.cancel(earlier.timer)
                continue
            if change.keep and (earlier is not None or key in fired):
                continue
            fired.pop(key, None)
            deadline = self._now() + change.delay_ms / 1000
            if earlier is not None:
                if deadline >= earlier.deadline:
                    earlier.deadline = deadline
                    continue
                self._timers.cancel(earlier.timer)
            timer = self._timers.at(deadline, partial(self._due, key))
            by_key[key] = _KeyedTimer(deadline, timer)

    def timers(self, chosen: Callable[[TimerKey], bool]) -> Iterator[Timer]:
        """Yield the timers of chosen keys."""
        return (keyed.timer for key, keyed in self._by_key.items() if chosen(key))

    def postpone(self, seconds: float, chosen: Callable[[TimerKey], bool]) -> None:
        """Put off the deadlines of chosen keys; their `timers` may be put off by as much."""
        for key, keyed in self._by_key.items():
            if chosen(key):
                keyed.deadline += seconds

    def left_s(self, key: TimerKey) -> float | None:
        """Return the seconds until a timer is due, 0 if it is; None if it is not set."""
        keyed = self._by_key.get(key)
        if keyed is None:
            return 0.0 if key in self._fired else None
        return max(0.0, keyed.deadline - self._now())

    def deadline(self, key: TimerKey) -> float | None:
        """Return when a timer is due, in `trio.current_time()`; None: it is not set."""
        keyed = self._by_key.get(key)
        return None if keyed is None else keyed.deadline

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
        keyed = self._by_key[key]
        if keyed.deadline > trio.current_time():
            keyed.timer = self._timers.at(keyed.deadline, partial(self._due, key))
            return
        del self._by_key[key]
        self._fired[key] = None
        self._fire(key)

    def figures(self) -> Figures:
        """Figures for the tree: seconds until each timer is due, for the first hundred."""
        now = trio.current_time()
        shown = islice(self._by_key.items(), _SHOWN)
        return {" ".join(map(str, key)): round(keyed.deadline - now, 3) for key, keyed in shown}


def _ignore(_key: TimerKey) -> None:
    """Receive the keys that are due after `clear`."""
