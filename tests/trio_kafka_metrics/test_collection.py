import logging
from itertools import pairwise

import pytest
import trio
from trio.testing import MockClock

from tests.trio_kafka_metrics.kit import harness, shown
from trio_kafka.introspect.log import get_logger
from trio_kafka_metrics.collection import SLICE_S, Collection, catalogue


def collection(plugin_harness, most: int = 10_000) -> Collection:
    return Collection(
        plugin_harness.parts,
        None,
        most=most,
        elapsed=trio.current_time,
        logger=get_logger("metrics"),
    )


def test_catalogue_lists_each_metric_once() -> None:
    result = [(metric.name, metric.labels) for metric in catalogue()]

    assert len(set(result)) == len(result)
    assert len(result) > 100


async def test_every_collected_metric_is_in_the_catalogue(autojump_clock: MockClock) -> None:
    async with harness() as plugin_harness:
        await plugin_harness.served.create_topic("t")
        families = await collection(plugin_harness).look()

    declared = {metric.name for metric in catalogue()}
    counters = {f"trio_kafka_{counter.name}_total" for counter in plugin_harness.counters}
    undeclared = {family.name for family in families} - declared - counters
    assert {name for name in undeclared if not name.startswith("trio_kafka_plugin_")} == set()
    assert len({family.name for family in families}) == len(families)
    assert all(len(family.labels) == len(family.values) for family in families)


async def test_omitted_series_are_counted_in_every_collection_and_logged_once(
    autojump_clock: MockClock, caplog: pytest.LogCaptureFixture
) -> None:
    async with harness() as plugin_harness:
        await plugin_harness.served.create_topic("t", 8)
        with caplog.at_level(logging.WARNING):
            metric_collection = collection(plugin_harness, most=40)
            result = [
                shown(await metric_collection.look())["trio_kafka_metrics_series_dropped"]
                for _ in range(2)
            ]

    assert result[0] == result[1] > 40
    records = [record for record in caplog.records if "metric series omitted" in record.message]
    assert len(records) == 1


async def test_other_tasks_run_between_the_slices_of_a_collection(
    autojump_clock: MockClock,
) -> None:
    now, turns = [0.0], []

    def steps():
        for _ in range(10):
            now[0] += SLICE_S / 2
            yield
        return "done"

    async def others() -> None:
        while True:
            turns.append(now[0])
            await trio.lowlevel.checkpoint()

    async with harness() as plugin_harness:
        metric_collection = Collection(
            plugin_harness.parts, None, most=1, elapsed=lambda: now[0], logger=get_logger("m")
        )
        async with trio.open_nursery() as nursery:
            nursery.start_soon(others)
            assert await metric_collection.in_slices(steps()) == "done"
            nursery.cancel_scope.cancel()

    pauses = [later - sooner for sooner, later in pairwise([0.0, *turns])]
    assert max(pauses) <= SLICE_S * 2.01  # tasks of a pass run in any order
    assert metric_collection.longest_s <= SLICE_S * 1.01
