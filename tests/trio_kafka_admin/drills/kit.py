"""Drills: a live broker with the admin UI and a light load, in which a trouble is planted.

A viewer looks at the landing page all the time, so what it shows is what an operator sees.
"""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any, Final

import trio
from attrs import Factory, define

from tests.apis.kit import batch, fetch_request, produce_request
from tests.trio_kafka_admin.kit import Element, Ui, admin_ui
from trio_kafka.peers.session import Request
from trio_kafka.plugin_host.declaration import Plugin
from trio_kafka.testing.broker import ServedBroker
from trio_kafka.testing.scripted_client import ScriptedClient, newest
from trio_kafka.testing.simulation import fault_on

WITHIN_S: Final = 5.0  # time in which the landing page names the cause
LOOK_S: Final = 1.0
LOAD = "load"  # topic of the background load
Row = dict[str, Any]


@define(eq=False, kw_only=True)
class Drill:
    """A broker, its admin UI, and clients that wait. seen: landing pages since the last call."""

    ui: Ui
    nursery: trio.Nursery
    seen: list[Row] = Factory(list)

    @property
    def served(self) -> ServedBroker:
        return self.ui.served

    async def look(self) -> Row:
        page: Row = await self.ui.json("/admin/api/overview")
        self.seen.append(page)
        return page

    async def find(self, kind: str, within_s: float = WITHIN_S) -> Row:
        """The finding of a kind among those that need no click; fails if it does not come."""
        end = trio.current_time() + within_s
        while True:
            page = await self.look()
            findings: list[Row] = page["findings"]
            for row in findings:
                if row["kind"] == kind:
                    return row
            words = [row["words"] for row in findings]
            assert trio.current_time() < end, f"no {kind} in {within_s} s: {words}"
            await trio.sleep(LOOK_S)

    async def findings(self) -> list[str]:
        """Kinds of the findings that need no click."""
        return [row["kind"] for row in (await self.look())["findings"]]

    async def page(self) -> Element:
        """The landing page as a browser has it."""
        return await self.ui.page("/admin/overview")

    def hang(self, request: Request[Any], client_id: str, version: int | None = None) -> None:
        """Have a client of its own ask, whose answer may never come."""
        chosen = newest(type(request)) if version is None else version

        async def ask() -> None:
            async with self.served.connect() as client:
                client.client_id = client_id
                await client.ask(request, chosen)

        self.nursery.start_soon(ask)


async def _write(client: ScriptedClient, topic: bytes) -> None:
    while True:
        await client.ask(produce_request(topic, (0, batch(b"record"))), newest_produce())
        await trio.sleep(0.05)


async def _read(client: ScriptedClient, topic: bytes) -> None:
    offset = 0
    while True:
        request = fetch_request(topic, offset, max_wait_ms=500)
        answer = await client.ask(request, newest(type(request)))
        offset = max(offset, answer.responses[0].partitions[0].high_watermark)


def newest_produce() -> int:
    return newest(type(produce_request(bytes(16))))


@asynccontextmanager
async def drill(*plugins: Plugin, settings: dict[str, str] | None = None) -> AsyncIterator[Drill]:
    """A broker with a producer, a consumer and a page that is open; it finds nothing so far."""
    async with admin_ui(*plugins, more=settings) as ui, trio.open_nursery() as nursery:
        topic = await ui.served.create_topic(LOAD)
        exercise = Drill(ui=ui, nursery=nursery)
        async with ui.served.connect() as writer, ui.served.connect() as reader:
            writer.client_id, reader.client_id = "shop", "dashboard"
            nursery.start_soon(_write, writer, topic)
            nursery.start_soon(_read, reader, topic)
            await trio.sleep(2)
            assert await exercise.findings() == []
            try:
                yield exercise
            finally:
                ui.served.broker.world.universe.fault = fault_on("none", None)
                nursery.cancel_scope.cancel()
