"""Lag over 15 minutes: points, trends, time to catch up, bounds."""

from collections.abc import Container

import pytest
import trio
from attrs import define, field
from trio.testing import MockClock

from trio_kafka.coordinators.groups.facts.lag_samples import LagKey, LagSample, LagSamples
from trio_kafka_admin.lag_history import (
    COARSE_S,
    KEPT_S,
    MOST_PARTITIONS,
    SAMPLE_S,
    LagHistory,
    LagSeries,
    LagTrend,
)

KEY = ("g", "t", 0)


@define(eq=False)
class Partitions:
    """Offsets and ends that are sampled. readings: how often."""

    at: dict[LagKey, tuple[int, int]] = field(factory=dict)
    readings: int = 0
    tracked: set[LagKey] = field(factory=set)

    async def read(self, tracked: Container[LagKey], most: int) -> LagSamples:
        await trio.lowlevel.checkpoint()
        self.readings += 1
        self.tracked = {key for key in self.at if key in tracked}
        assert most == MOST_PARTITIONS
        return LagSamples([LagSample(key, *values) for key, values in self.at.items()], 7)


async def test_trend_is_growth_from_the_produced_and_the_consumed_rate(
    autojump_clock: MockClock,
) -> None:
    partitions = Partitions({KEY: (0, 100)})
    history = LagHistory(partitions.read)
    await history.sample()
    await trio.sleep(20)
    partitions.at[KEY] = (40, 300)
    await history.sample()

    trend = history.trend(*KEY)

    assert trend is not None
    assert (trend.produced_per_s, trend.consumed_per_s, trend.lag) == (10.0, 2.0, 260)
    assert trend.growth_per_s == 8.0
    assert trend.catch_up_s is None


@pytest.mark.parametrize(
    ("produced_per_s", "consumed_per_s", "lag", "catch_up_s"),
    [
        (10.0, 12.0, 100, 50.0),
        (10.0, 12.0, 0, 0.0),
        (12.0, 10.0, 0, 0.0),
        (12.0, 10.0, 5, None),
        (10.0, 10.0, 5, None),
        (0.0, 0.0, 5, None),
    ],
)
def test_time_to_catch_up_follows_from_lag_and_rates(
    produced_per_s: float, consumed_per_s: float, lag: int, catch_up_s: float | None
) -> None:
    trend = LagTrend(produced_per_s=produced_per_s, consumed_per_s=consumed_per_s, lag=lag)

    assert trend.catch_up_s == catch_up_s


async def test_trend_of_a_lag_covers_the_last_minute(autojump_clock: MockClock) -> None:
    partitions = Partitions({KEY: (0, 1000)})
    history = LagHistory(partitions.read)
    for _ in range(30):  # five minutes without a change, then one with 1 record a second
        await history.sample()
        await trio.sleep(COARSE_S)
    for _ in range(7):
        await history.sample()
        await trio.sleep(COARSE_S)
        offset, end = partitions.at[KEY]
        partitions.at[KEY] = (offset + 10, end)

    trend = history.trend(*KEY)

    assert trend is not None
    assert (trend.produced_per_s, trend.consumed_per_s) == (0.0, 1.0)


async def test_samples_are_taken_at_most_every_two_seconds(autojump_clock: MockClock) -> None:
    partitions = Partitions({KEY: (0, 1)})
    history = LagHistory(partitions.read)

    async with trio.open_nursery() as nursery:
        for _ in range(5):
            nursery.start_soon(history.sample)
    await history.sample()
    assert partitions.readings == 1

    await trio.sleep(SAMPLE_S)
    await history.sample()
    assert partitions.readings == 2
    assert partitions.tracked == {KEY}


async def test_nothing_is_sampled_without_a_viewer(autojump_clock: MockClock) -> None:
    partitions = Partitions({KEY: (0, 1)})
    LagHistory(partitions.read)

    await trio.sleep(100)

    assert partitions.readings == 0


async def test_points_are_bounded_in_number_and_age(autojump_clock: MockClock) -> None:
    partitions = Partitions({KEY: (0, 1)})
    history = LagHistory(partitions.read)
    for number in range(1000):
        partitions.at[KEY] = (0, number)
        await history.sample()
        await trio.sleep(SAMPLE_S)

    points = history.points(*KEY)

    assert 80 <= len(points) <= KEPT_S / COARSE_S + 2
    assert points[0][0] <= KEPT_S + SAMPLE_S
    assert points[-1] == (SAMPLE_S, 999)
    assert points == sorted(points, reverse=True)


def test_newest_point_replaces_the_one_before_until_that_is_old_enough() -> None:
    series = LagSeries()
    for now in (0.0, 2.0, 4.0, 12.0, 14.0):
        series.add(now, 0, int(now))

    assert series.points(14.0) == [(14.0, 0), (2.0, 12), (0.0, 14)]


def test_log_that_begins_anew_begins_a_new_series() -> None:
    series = LagSeries()
    series.add(0.0, 50, 100)
    series.add(20.0, 0, 3)

    assert series.points(20.0) == [(0.0, 3)]
    assert series.trend() is None


async def test_lag_of_a_group_is_the_sum_of_its_partitions(autojump_clock: MockClock) -> None:
    partitions = Partitions({KEY: (0, 10), ("g", "t", 1): (5, 10), ("h", "t", 0): (0, 1)})
    history = LagHistory(partitions.read)
    await history.sample()
    await trio.sleep(10)
    partitions.at[KEY] = (0, 30)
    partitions.at["g", "t", 1] = (15, 20)
    await history.sample()

    trend = history.trend_of("g", [("t", 0), ("t", 1), ("t", 2)])

    assert history.points_of("g") == [(10.0, 15), (0.0, 35)]
    assert history.points_of("h") == [(10.0, 1), (0.0, 1)]
    assert trend == LagTrend(produced_per_s=3.0, consumed_per_s=1.0, lag=35)
    assert history.trend_of("h", [("t", 7)]) is None
    assert history.left_out == 7


async def test_unknown_partition_has_no_points_and_no_trend(autojump_clock: MockClock) -> None:
    history = LagHistory(Partitions().read)
    await history.sample()

    assert history.points(*KEY) == history.points_of("g") == []
    assert history.trend(*KEY) is None


async def test_series_of_a_partition_that_is_gone_is_dropped(autojump_clock: MockClock) -> None:
    partitions = Partitions({KEY: (0, 10)})
    history = LagHistory(partitions.read)
    await history.sample()
    partitions.at.clear()
    await trio.sleep(SAMPLE_S)
    await history.sample()

    assert history.points(*KEY) == history.points_of("g") == []
