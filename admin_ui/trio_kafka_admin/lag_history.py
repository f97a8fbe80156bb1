"""Lag of groups over the last 15 minutes, by partition, for trends and sparklines.

Samples are taken only while a page that shows groups is looked at, and at most every SAMPLE_S. The
newest one replaces the one before until that is COARSE_S older than its predecessor, so a series
has at most some 90 points, of 24 bytes each. At most MOST_PARTITIONS have one.
"""

from array import array
from bisect import bisect_left
from collections.abc import Awaitable, Callable, Container, Iterable
from typing import Final, TypeAlias

import trio
from attrs import field

from trio_kafka.attributes import define, frozen
from trio_kafka.coordinators.groups.facts.lag_samples import LagKey, LagSample, LagSamples

SAMPLE_S: Final = 2.0
COARSE_S: Final = 10.0
KEPT_S: Final = 15 * 60.0
TREND_S: Final = 60.0  # rates are means of this time
MOST_PARTITIONS: Final = 2_000
_A_STEP: Final = 128  # series changed between two checkpoints
ReadSamples: TypeAlias = Callable[[Container[LagKey], int], Awaitable[LagSamples]]


@frozen(kw_only=True)
class LagTrend:
    """Rates of the last minute, in records a second.

    growth_per_s: of the lag, produced_per_s less consumed_per_s. catch_up_s: until the lag is 0 if
    both rates stay; None: it grows or stays as it is.
    """

    produced_per_s: float
    consumed_per_s: float
    lag: int

    @property
    def growth_per_s(self) -> float:
        return self.produced_per_s - self.consumed_per_s

    @property
    def catch_up_s(self) -> float | None:
        if not self.lag:
            return 0.0
        return self.lag / -self.growth_per_s if self.growth_per_s < 0 else None


@define(eq=False)
class LagSeries:
    """Points of one partition, or of a whole group. Times are of `trio.current_time()`."""

    times: "array[float]" = field(factory=lambda: array("d"), init=False)
    offsets: "array[int]" = field(factory=lambda: array("q"), init=False)
    ends: "array[int]" = field(factory=lambda: array("q"), init=False)

    def add(self, now: float, offset: int, end: int) -> None:
        """Add a point. A log that begins anew, as its topic was deleted, begins a new series."""
        times, columns = self.times, (self.times, self.offsets, self.ends)
        if times and end < self.ends[-1]:
            for column in columns:
                del column[:]
        elif len(times) > 1 and times[-1] - times[-2] < COARSE_S:
            for column in columns:
                del column[-1]
        times.append(now)
        self.offsets.append(offset)
        self.ends.append(end)
        while now - times[0] > KEPT_S:
            for column in columns:
                del column[0]

    def points(self, now: float) -> list[tuple[float, int]]:
        """Return seconds ago and lag of each point, the oldest first."""
        columns = zip(self.times, self.offsets, self.ends, strict=True)
        return [(now - time, end - offset) for time, offset, end in columns]

    def trend(self) -> LagTrend | None:
        """Return the rates of the last minute, or as far as points go; None before the second."""
        times = self.times
        first = bisect_left(times, times[-1] - TREND_S) if times else 0
        if first >= len(times) - 1:
            return None
        seconds = times[-1] - times[first]
        return LagTrend(
            produced_per_s=(self.ends[-1] - self.ends[first]) / seconds,
            consumed_per_s=(self.offsets[-1] - self.offsets[first]) / seconds,
            lag=self.ends[-1] - self.offsets[-1],
        )


@define(eq=False)
class LagHistory:
    """Series by group, topic and partition. left_out: partitions that have none, as there are too
    many.
    """

    _read: ReadSamples
    left_out: int = field(default=0, init=False)
    _series: dict[LagKey, LagSeries] = field(factory=dict, init=False)
    _of_group: dict[str, LagSeries] = field(factory=dict, init=False)
    _sampled: float = field(default=float("-inf"), init=False)

    async def sample(self) -> None:
        """Take a sample if it is time. Raises what the reading raises."""
        now = trio.current_time()
        if now - self._sampled < SAMPLE_S:
            await trio.lowlevel.checkpoint()
            return
        self._sampled = now  # before the reading, so that pages at the same time read once
        samples = await self._read(self._series, MOST_PARTITIONS)
        self.left_out = samples.left_out
        await self._take(samples.samples, now)

    async def _take(self, samples: Iterable[LagSample], now: float) -> None:
        series, lags = dict[LagKey, LagSeries](), dict[str, int]()
        for number, sample in enumerate(samples, 1):
            points = self._series.get(sample.key) or LagSeries()
            points.add(now, sample.offset, sample.end)
            series[sample.key] = points
            group_id = sample.key[0]
            lags[group_id] = lags.get(group_id, 0) + sample.end - sample.offset
            if not number % _A_STEP:
                await trio.lowlevel.checkpoint()
        self._series = series
        groups = dict[str, LagSeries]()
        for number, (group_id, lag) in enumerate(lags.items(), 1):
            if not number % _A_STEP:
                await trio.lowlevel.checkpoint()
            groups[group_id] = self._of_group.get(group_id) or LagSeries()
            # Its end is a constant, as a smaller one would begin a new series.
            groups[group_id].add(now, -lag, 0)
        self._of_group = groups

    # Questions

    def trend(self, group_id: str, topic: str, partition: int) -> LagTrend | None:
        """Return the trend of a partition; None if it has no two points yet."""
        series = self._series.get((group_id, topic, partition))
        return None if series is None else series.trend()

    def points(self, group_id: str, topic: str, partition: int) -> list[tuple[float, int]]:
        """Return seconds ago and lag, the oldest first."""
        series = self._series.get((group_id, topic, partition))
        return [] if series is None else series.points(trio.current_time())

    def trend_of(self, group_id: str, partitions: Iterable[tuple[str, int]]) -> LagTrend | None:
        """Return the trend of these partitions of a group together."""
        trends = [self.trend(group_id, *partition) for partition in partitions]
        sampled = [trend for trend in trends if trend is not None]
        if not sampled:
            return None
        return LagTrend(
            produced_per_s=sum(trend.produced_per_s for trend in sampled),
            consumed_per_s=sum(trend.consumed_per_s for trend in sampled),
            lag=sum(trend.lag for trend in sampled),
        )

    def points_of(self, group_id: str) -> list[tuple[float, int]]:
        """Return seconds ago and lag of a group in all its sampled partitions."""
        series = self._of_group.get(group_id)
        return [] if series is None else series.points(trio.current_time())
