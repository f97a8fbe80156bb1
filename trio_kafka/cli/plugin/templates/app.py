"""Template of a plugin with an HTTP app."""

from typing import Final

ABOUT: Final = (
    """It answers `GET /@NAME@` on the HTTP plane with the names of the topics, as JSON."""
)
SETTINGS: Final = """\
| `plugin.@NAME@.most` | `1000` | Most names in one response. |"""
MODULE: Final = '''\
"""Names of the topics as JSON, on the HTTP plane."""

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from itertools import islice
from typing import Any

from trio_kafka.attributes import frozen
from trio_kafka.plugin import PluginContext, integer, plugin


@frozen(kw_only=True)
class @CLASS@Settings:
    """Settings `plugin.@NAME@.<name>`; a `_` in a field is a `.` in its setting."""

    most: int = integer(1000, "Most names in one response.", low=1)


@plugin("@NAME@", settings=@CLASS@Settings)
@asynccontextmanager
async def @MODULE@(context: PluginContext[@CLASS@Settings]) -> AsyncIterator[None]:
    """Serve the names of the topics over HTTP."""

    async def app(scope: Any, receive: Any, send: Any) -> None:  # ASGI 3
        status = 200 if scope["method"] == "GET" else 405
        names = list(islice(context.parts.metadata.image.topics, context.settings.most))
        body = json.dumps({"topics": names} if status == 200 else {"error": "want GET"}).encode()
        headers = [(b"content-type", b"application/json")]
        await send({"type": "http.response.start", "status": status, "headers": headers})
        await send({"type": "http.response.body", "body": body})

    context.mount("/@NAME@", app)
    yield  # ready; everything added is removed when the block ends
'''
TESTS: Final = '''\
"""The app of the plugin, asked without a server: no sockets, no files, virtual time."""

from @MODULE@ import @MODULE@
from trio_kafka.testing.asgi import Answer, ask
from trio_kafka.testing.harness import PluginHarness
from trio_kafka.testing.simulation import run_simulated
from trio_kafka.world.simulated import Universe


def response(method: str) -> Answer:
    async def main(universe: Universe) -> Answer:
        world = universe.machine("broker")
        async with PluginHarness(@MODULE@, broker=True, world=world) as harness:
            return await ask(harness.mounts.find("/@NAME@").app, method, "/")

    return run_simulated(main)


def test_it_lists_the_topics() -> None:
    answer = response("GET")

    assert (answer.status, answer.json()) == (200, {"topics": []})


def test_it_answers_nothing_but_get() -> None:
    assert response("POST").status == 405
'''
