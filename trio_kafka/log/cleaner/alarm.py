"""Alarm of the cleaners: they look at the logs when one has changed, or when a time has come.

Without either they sleep, so an idle broker stays idle. Two looks of a cleaner that finds nothing
are at least `log.cleaner.backoff.ms` apart, as in Kafka.
"""

from math import inf

import trio
from attrs import field

from trio_kafka.attributes import define

_ROUNDING_S = 0.001  # the wall clock is read in whole milliseconds


@define(eq=False)
class Alarm:
    """Alarm of all cleaners of a broker. sleepers: cleaners that have nothing to do."""

    sleepers: int = field(default=0, init=False)
    _change: trio.Event = field(factory=trio.Event, init=False)

    def ring(self) -> None:
        """Wake the cleaners, as a log has changed."""
        self._change.set()

    def next_change(self) -> trio.Event:
        """Return the event of the next change. Call it before the logs are looked at."""
        if self._change.is_set():
            self._change = trio.Event()
        return self._change

    async def wait(self, change: trio.Event, *, earliest: float, in_s: float | None) -> None:
        """Wait for a change or for `in_s` seconds, and then until `earliest`, monotonic seconds.

        change: of `next_change`. in_s: None: only a change ends the wait.
        """
        due = inf if in_s is None else trio.current_time() + in_s + _ROUNDING_S
        self.sleepers += 1
        try:
            with trio.move_on_at(due):
                await change.wait()
        finally:
            self.sleepers -= 1
        await trio.sleep_until(earliest)
