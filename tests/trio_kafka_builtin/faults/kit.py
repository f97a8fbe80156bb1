"""The plugin in a harness, asked as an ASGI app."""

import json
from typing import Any

from attrs import define

from trio_kafka.plugin import Context, api
from trio_kafka.testing.asgi import Answer, ask
from trio_kafka.testing.harness import PluginHarness
from trio_kafka.testing.sample_apis import EchoRequest, EchoResponse, WaitRequest, WaitResponse
from trio_kafka_builtin.faults.plugin import faults

AUTHORIZED = {"trio_kafka": {"authorized": True}}
MOVED = {"name": "t", "api": "Echo", "error": "NOT_LEADER_OR_FOLLOWER"}


@api(EchoRequest)
def echo(request: EchoRequest, _: Context) -> EchoResponse:
    return EchoResponse(text=request.text)


@api(WaitRequest)
def wait(request: WaitRequest, _: Context) -> WaitResponse:
    return WaitResponse()


def harness_with(**settings: str) -> PluginHarness:
    plugin_settings = {
        "enabled": "true",
        **{key.replace("_", "."): text for key, text in settings.items()},
    }
    return PluginHarness(faults, handlers=[echo, wait], settings=plugin_settings)


@define
class Http:
    """Client with the plane's token."""

    harness: PluginHarness
    path: str = "/testing/v1"
    extensions: dict[str, Any] = AUTHORIZED

    async def __call__(self, method: str, below: str = "/faults", body: Any = None) -> Answer:
        mount = self.harness.mounts.find(self.path)
        assert mount is not None
        sent = (
            body if isinstance(body, bytes) else b"" if body is None else json.dumps(body).encode()
        )
        target = self.path + below
        return await ask(mount.app, method, target, body=sent, extensions=self.extensions)

    async def add(self, **rule: Any) -> None:
        answer = await self("POST", body=rule)
        assert answer.status == 201, answer.body


async def code(harness: PluginHarness, client_id: str = "harness") -> int:
    return (await harness.ask(EchoRequest(), client_id=client_id)).error_code
