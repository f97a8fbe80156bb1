from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager

import pytest
import trio
from trio.testing import MockClock

from tests.trio_kafka_metrics.kit import harness
from trio_kafka.plugin import Family, PluginContext, PluginError, plugin


class Reporter:
    """Keeps what it is told."""

    def __init__(self, error: BaseException | None = None) -> None:
        self.error = error
        self.reports: list[dict[str, float]] = []

    def report(self, families: Sequence[Family]) -> None:
        self.reports.append(
            {name: value for family in families for name, _, value in family.samples()}
        )
        if self.error is not None:
            raise self.error


def telling(name: str, reporter: Reporter):
    @plugin(name)
    @asynccontextmanager
    async def run(context: PluginContext[object]) -> AsyncIterator[None]:
        """Wants to be told."""
        context.add_metrics_reporter(reporter)
        yield

    return run


async def test_reporters_receive_the_metrics_every_interval(autojump_clock: MockClock) -> None:
    reporter = Reporter()
    async with harness({"report.interval.ms": "5000"}, telling("one", reporter)) as plugin_harness:
        await plugin_harness.served.create_topic("t", 3)
        await trio.sleep(11)

    assert len(reporter.reports) == 2
    assert reporter.reports[0]["kafka_server_replicamanager_partitioncount"] == 3


async def test_failing_reporter_does_not_affect_other_reporters(autojump_clock: MockClock) -> None:
    broken, whole = Reporter(ValueError("no")), Reporter()
    plugins = telling("broken", broken), telling("whole", whole)
    async with harness({"report.interval.ms": "1000"}, *plugins) as plugin_harness:
        await trio.sleep(3.5)
        assert plugin_harness.host.find("metrics").state.value == "ready"

    assert len(broken.reports) == len(whole.reports) == 3


async def test_reporter_that_raises_system_exit_fails_only_its_own_plugin(
    autojump_clock: MockClock,
) -> None:
    broken, whole = Reporter(SystemExit(1)), Reporter()
    plugins = telling("broken", broken), telling("whole", whole)
    async with harness({"report.interval.ms": "1000"}, *plugins) as plugin_harness:
        await trio.sleep(3.5)
        assert plugin_harness.host.find("broken").state.value == "failed"
        assert plugin_harness.host.find("metrics").state.value == "ready"

    assert len(broken.reports) == 1
    assert len(whole.reports) == 3


async def test_metrics_path_is_mounted_until_the_plugin_stops(autojump_clock: MockClock) -> None:
    async with harness() as plugin_harness:
        assert plugin_harness.mounts.find("/metrics") is not None
        await plugin_harness.host.stop()
        assert plugin_harness.mounts.find("/metrics") is None


async def test_negative_series_limit_is_refused(autojump_clock: MockClock) -> None:
    with pytest.raises(PluginError, match=r"plugin\.metrics\.max\.series"):
        async with harness({"max.series": "-1"}):
            pass
