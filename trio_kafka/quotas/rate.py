"""Rate over sliding windows, as Kafka measures it.

Values are summed in windows that begin with a record, not at fixed times. At most `windows` + 1 of
them are kept, since the oldest may overlap the measured time. The rate is their sum over the time
since the oldest began, and over at least `windows` - 1 whole windows, so that one early value is
not a burst. Times are whole milliseconds of any clock. Source: Rate, SampledStat and QuotaUtils of
Apache Kafka 4.4.0; KIP-13.
"""

from math import floor, inf
from typing import Final

MOST_MS: Final = (1 << 31) - 1  # what a throttle time can say


class Rate:
    """Use a second. windows, window_ms: number and length of the windows."""

    __slots__ = ("_current", "_lasts", "_samples", "_starts", "_sums", "_window_ms")

    def __init__(self, windows: int, window_ms: int) -> None:
        self._samples = windows
        self._window_ms = window_ms
        self._current = 0
        self._starts: list[int] = []
        self._lasts: list[int] = []  # when the last value of each window came
        self._sums: list[float] = []

    def record(self, value: float, now_ms: int) -> None:
        """Add an amount used now; negative: give back what was not used."""
        if not self._starts:
            self._open(now_ms)
        elif now_ms - self._starts[self._current] >= self._window_ms:
            self._advance(now_ms)
        self._sums[self._current] += value
        self._lasts[self._current] = now_ms

    def measure(self, now_ms: int) -> float:
        """Return the rate a second."""
        over_ms = self.over_ms(now_ms)
        return sum(self._sums) / (over_ms / 1000)

    def over_ms(self, now_ms: int) -> int:
        """Return the measured time, at least 1 ms."""
        self._purge(now_ms)
        elapsed_ms = now_ms - min(self._starts, default=now_ms)
        missing = self._samples - 1 - elapsed_ms // self._window_ms
        if missing > 0:
            elapsed_ms += missing * self._window_ms
        return max(elapsed_ms, 1)

    def throttle_ms(self, bound: float, now_ms: int) -> int:
        """Return the time without use after which the rate is `bound`; 0 if it is not above.

        With O measured over W that is (O - bound) / bound * W.
        """
        rate = self.measure(now_ms)
        if rate <= bound:
            return 0
        over = (rate - bound) / bound * self.over_ms(now_ms) if bound > 0 else inf
        return floor(over + 0.5) if over < MOST_MS else MOST_MS

    def _open(self, now_ms: int) -> None:
        self._starts.append(now_ms)
        self._lasts.append(now_ms)
        self._sums.append(0.0)

    def _advance(self, now_ms: int) -> None:
        self._current = (self._current + 1) % (self._samples + 1)
        if self._current == len(self._starts):
            self._open(now_ms)
        else:
            self._reset(self._current, now_ms)

    def _purge(self, now_ms: int) -> None:
        """Clear windows without a value in the measured time."""
        expired_ms = now_ms - self._samples * self._window_ms
        for number, last_ms in enumerate(self._lasts):
            if last_ms <= expired_ms:
                self._reset(number, now_ms)

    def _reset(self, number: int, now_ms: int) -> None:
        self._starts[number] = self._lasts[number] = now_ms
        self._sums[number] = 0.0
