"""A broker with the plugin in virtual time, whose children are functions of the test."""

import json
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import Any

import trio
from attrs import define

from trio_kafka.testing.asgi import Answer, ask
from trio_kafka.testing.broker import ServedBroker, served_broker
from trio_kafka.testing.simulation import simulated_world
from trio_kafka.world.simulated.child import Program, SimulatedProcess
from trio_kafka.world.simulated.world import SimulatedWorld
from trio_kafka_admin.plugin import admin
from trio_kafka_builtin.pipelines.plugin import pipelines
from trio_kafka_http.plugin import http

DIRECTORY = "/etc/pipelines"
PROGRESS = {
    "id": "q-1",
    "runId": "r-1",
    "name": "counts",
    "timestamp": "2026-01-01T00:00:00.000Z",
    "batchId": 3,
    "batchDuration": 120,
    "numInputRows": 50,
    "inputRowsPerSecond": 10.5,
    "processedRowsPerSecond": 400.25,
    "durationMs": {"addBatch": 80, "triggerExecution": 120},
    "sources": [
        {
            "description": "TrioKafka[orders]",
            "startOffset": {"orders": {"0": 10, "1": 5}},
            "endOffset": {"orders": {"0": 40, "1": 25}},
            "latestOffset": {"orders": {"0": 140, "1": 26}},
            "numInputRows": 50,
        }
    ],
    "sink": {"description": "Noop"},
}


def progress(**parts: Any) -> dict[str, Any]:
    return {"event": "progress", "query": {**PROGRESS, **parts}}


def write_files(world: SimulatedWorld, files: Mapping[str, str | bytes]) -> None:
    directory = world.directory(DIRECTORY, create=True)
    for name, text in files.items():
        file = directory.create(name)
        content = text.encode() if isinstance(text, str) else text
        if content:
            file.append([content])
        file.close()


@define(eq=False)
class Pipelines:
    """The plugin in a served broker."""

    served: ServedBroker
    world: SimulatedWorld

    @property
    def hosted(self) -> Any:
        return self.served.broker.plugins.find("pipelines")

    async def ask(self, method: str, target: str, body: Any = b"", **headers: str) -> Answer:
        mount = self.served.broker.plugins.dependencies.mounts.find(target.partition("?")[0])
        assert mount is not None
        sent = body if isinstance(body, bytes) else json.dumps(body).encode()
        return await ask(mount.app, method, target, body=sent, headers=headers)

    async def post(self, process: SimulatedProcess, body: Any) -> Answer:
        """Post as a child does: with what its environment says."""
        name = process.environment["TRIO_KAFKA_PIPELINE"]
        token = process.environment["TRIO_KAFKA_PIPELINE_TOKEN"]
        target = f"/pipelines/{name}/progress"
        return await self.ask("POST", target, body, authorization=f"Bearer {token}")

    async def page(self, query: str = "") -> Any:
        answer = await self.ask("GET", f"/admin/api/pipelines{query}")
        assert answer.status == 200, answer.body
        return answer.json()

    async def row(self, name: str) -> Any:
        [row] = (await self.page(f"?name={name}"))["pipelines"]
        return row

    async def until(self, name: str, state: str) -> Any:
        """The pipeline's row, in this state."""
        with trio.fail_after(100_000):
            while (row := await self.row(name))["state"] != state:
                await trio.sleep(0.01)
        return row

    def node(self, name: str) -> Any:
        [node] = [n for _, n in self.served.broker.node.walk() if n.name == name]
        return node


@asynccontextmanager
async def running_pipelines(
    programs: Mapping[str, Program],
    files: Mapping[str, str | bytes],
    world: SimulatedWorld | None = None,
    **settings: str,
) -> AsyncIterator[Pipelines]:
    """programs: by the first word of a command. files: in the directory of definitions."""
    world = world or simulated_world()
    world.programs = {**world.programs, **programs}
    write_files(world, files)
    named = {"enabled": "true", "directory": DIRECTORY, **settings}
    full = {f"plugin.pipelines.{key.replace('_', '.')}": text for key, text in named.items()}
    async with served_broker(world, full, plugins=(http, admin, pipelines)) as served:
        yield Pipelines(served, world)
