"""The timers of one machine, by their keys.

One that is put off only has a later deadline, and is set again when it is due: members that say
that they live put theirs off all the time.
"""

from collections.abc import Callable, Iterable
from functools import partial
from itertools import islice
from typing import Final

import trio

from trio_kafka.attributes import define
from trio_kafka.coordinators.effects import CancelTimer, SetTimer, TimerKey
from trio_kafka.introspect.tree import Figures
from trio_kafka.purgatory import Timer, Timers
from trio_kafka.scheduling.chunked_work import Steps

_SHOWN: Final = 100
_A_STEP: Final = 100  # alarms


@define(eq=False)
class _KeyedTimer:
    """deadline: may be later than that of the timer."""

    deadline: float
    timer: Timer


class KeyedTimers:
    """`ring` is called with the key of what is due; who works on it asks `take` first."""

    def __init__(self, timers: Timers, ring: Callable[[TimerKey], None]) -> None:
        self._timers = timers
        self._ring = ring
        self._now = trio.lowlevel.current_clock().current_time  # heartbeats ask all the time
        self._alarms: dict[TimerKey, _KeyedTimer] = {}
        self._rung: dict[TimerKey, None] = {}  # those that are due and wait for their turn

    def __len__(self) -> int:
        return len(self._alarms)

    def obey(self, timers: Iterable[SetTimer | CancelTimer]) -> None:
        """Set and cancel, in this order."""
        for timer in timers:
            if isinstance(timer, SetTimer):
                self.set(timer.key, timer.delay_ms / 1000, keep=timer.keep)
            else:
                self.cancel(timer.key)

    def set(self, key: TimerKey, delay_s: float, *, keep: bool = False) -> None:
        """Ring in `delay_s`, in place of what was set for this key; keep: unless something is."""
        if keep and (key in self._alarms or key in self._rung):
            return
        self._rung.pop(key, None)
        deadline = self._now() + delay_s
        alarm = self._alarms.get(key)
        if alarm is not None:
            if deadline >= alarm.deadline:
                alarm.deadline = deadline
                return
            self._timers.cancel(alarm.timer)
        self._alarms[key] = _KeyedTimer(
            deadline, self._timers.at(deadline, partial(self._due, key))
        )

    def cancel(self, key: TimerKey) -> None:
        """Do not ring, also where it was due and waits for its turn. Idempotent."""
        self._rung.pop(key, None)
        alarm = self._alarms.pop(key, None)
        if alarm is not None:
            self._timers.cancel(alarm.timer)

    def take(self, key: TimerKey) -> bool:
        """Its turn has come: whether nobody has set or cancelled it since it rang."""
        if key not in self._rung:
            return False
        del self._rung[key]
        return True

    def clear(self) -> Steps[None]:
        """Cancel all, for good. Whoever was to be told is forgotten: it knows these alarms, and
        both would wait for the collector.
        """
        self._ring = _nobody
        self._rung.clear()
        while self._alarms:  # some may become due meanwhile
            self._timers.cancel(self._alarms.popitem()[1].timer)
            if not len(self._alarms) % _A_STEP:
                yield

    def _due(self, key: TimerKey) -> None:
        alarm = self._alarms[key]
        if alarm.deadline > trio.current_time():
            alarm.timer = self._timers.at(alarm.deadline, partial(self._due, key))
            return
        del self._alarms[key]
        self._rung[key] = None
        self._ring(key)

    def figures(self) -> Figures:
        """For the tree: seconds until each is due, as many as can be shown."""
        now = trio.current_time()
        shown = islice(self._alarms.items(), _SHOWN)
        return {" ".join(map(str, key)): round(alarm.deadline - now, 3) for key, alarm in shown}


def _nobody(_key: TimerKey) -> None:
    """Is told when all is cancelled."""
