"""A broker watches its loop: a plugin that blocks it is named, and failed by its policy after."""

import logging
import sys
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
import trio
from trio.testing import MockClock

from trio_kafka.plugin import plugin
from trio_kafka.plugin_host.lifecycle import State
from trio_kafka.protocol.messages.k18_api_versions import ApiVersionsRequest
from trio_kafka.testing.broker import served_broker
from trio_kafka.testing.simulation import simulated_world
from trio_kafka.world.clock import SkippingClock
from trio_kafka.world.real import RealWorld

PATIENCE_S = 20.0
LIMIT_MS = 100
SOURCE = """
import time

def hold(is_over):
    while not is_over():
        time.sleep(0.001)  # as a plugin does that knows no better
"""


@pytest.fixture
def other(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """A module of the plugin's own."""
    module = ModuleType("a_blocking_plugin")
    exec(SOURCE, vars(module))
    monkeypatch.setitem(sys.modules, module.__name__, module)
    return module


def patience() -> Any:
    end = time.monotonic() + PATIENCE_S
    return lambda: time.monotonic() > end


async def test_blocking_plugin_is_logged_while_blocking_and_fails_afterwards(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, other: ModuleType
) -> None:
    @plugin("sleepy")
    @asynccontextmanager
    async def sleepy(context: Any) -> AsyncIterator[None]:
        context.nursery.start_soon(block, name="sleepy-task")
        yield

    async def block() -> None:
        await start_event.wait()
        late = patience()
        other.hold(lambda: blocked() or late())
        seen.extend(blocked())

    def blocked() -> list[logging.LogRecord]:
        return [record for record in caplog.records if record.message == "loop blocked"]

    start_event, seen = trio.Event(), list[logging.LogRecord]()
    settings = {"log.dirs": str(tmp_path), "trio.watchdog.ms": str(LIMIT_MS)}
    world = RealWorld(SkippingClock())
    async with served_broker(world, settings, plugins=[sleepy]) as served:
        start_event.set()
        hosted = served.broker.plugins.find("sleepy")
        with trio.fail_after(PATIENCE_S):
            while hosted.state is not State.FAILED:
                await trio.sleep(0.01)
        await served.ask(ApiVersionsRequest())
        counters = served.broker.counters
        assert counters.value("loop_blocks", plugin="sleepy") == 1

    (record,) = seen
    fields = record.fields  # type: ignore[attr-defined]
    assert fields["plugin"] == "sleepy"
    assert "a_blocking_plugin" in fields["stack"]
    assert hosted.error is not None
    assert hosted.error.startswith("it blocked the loop for ")


@pytest.mark.parametrize(("limit_ms", "watched"), [("500", True), ("0", False)])
async def test_tree_has_the_watchdog_unless_disabled(
    autojump_clock: MockClock, limit_ms: str, watched: bool
) -> None:
    settings = {"trio.watchdog.ms": limit_ms}
    async with served_broker(simulated_world(), settings) as served:
        names = [node.name for node in served.broker.node.children]
        await trio.sleep(1)

    assert ("watchdog" in names) is watched
