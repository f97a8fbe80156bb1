"""Drill: a blocked loop, in real time and with the watchdog's thread."""

import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import trio

from tests.trio_kafka_admin.drills.troubles import tell
from tests.trio_kafka_admin.kit import Ui
from trio_kafka.plugin import PluginContext, plugin
from trio_kafka.protocol.messages.k03_metadata import MetadataRequest
from trio_kafka.testing.broker import served_broker
from trio_kafka.world.real import RealWorld
from trio_kafka_admin.plugin import admin


@plugin("enricher", order=900)
@asynccontextmanager
async def enricher(context: PluginContext[None]) -> AsyncIterator[None]:
    """Compute something for each Metadata, for half a second."""

    async def compute(request: Any, context: Any, forward: Any) -> Any:
        time.sleep(0.5)
        return await forward(request)

    context.around(MetadataRequest, compute)
    yield


async def test_blocked_loop_names_the_plugin_and_the_line_within_5_seconds(tmp_path: Path) -> None:
    settings = {"log.dirs": str(tmp_path / "data"), "trio.watchdog.ms": "100"}
    async with served_broker(RealWorld(), settings, plugins=(admin, enricher)) as served:
        ui = Ui(served)
        await ui.json("/admin/api/overview")
        await served.ask(MetadataRequest())
        with trio.fail_after(5):
            while not (findings := await blocks(ui)):
                await trio.sleep(0.1)
        await tell(ui, "blocked-loop", findings[0])

    [finding] = findings
    assert finding["title"].startswith("enricher blocked the loop for ")
    assert f", at {__name__}:" in finding["more"]
    assert finding["more"].endswith(" s ago")
    assert (finding["severity"], finding["subject"]["name"]) == ("wrong", "enricher")
    # The plugin is disabled for it; that is no trouble of its own.
    assert {row["kind"] for row in finding["consequences"]} <= {"failed-plugin"}


async def blocks(ui: Ui) -> list[dict[str, Any]]:
    findings = (await ui.json("/admin/api/overview"))["findings"]
    return [row for row in findings if row["kind"] == "blocked-loop"]
