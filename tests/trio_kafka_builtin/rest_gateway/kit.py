"""A broker with the gateway, asked as an ASGI app."""

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from attrs import define

from trio_kafka.plugin_host.declaration import Plugin
from trio_kafka.security.principal import NOBODY, Principal
from trio_kafka.testing.asgi import Answer, ask
from trio_kafka.testing.broker import ServedBroker, served_broker
from trio_kafka.testing.simulation import simulated_world
from trio_kafka_builtin.rest_gateway.plugin import rest_gateway


@define(eq=False)
class Rest:
    served: ServedBroker
    principal: Principal = NOBODY

    async def ask(self, method: str, target: str, body: Any = None) -> Answer:
        mount = self.served.broker.plugins.dependencies.mounts.find(target.partition("?")[0])
        assert mount is not None
        data = (
            body if isinstance(body, bytes) else b"" if body is None else json.dumps(body).encode()
        )
        extensions = {"trio_kafka": {"principal": self.principal}}
        return await ask(mount.app, method, target, body=data, extensions=extensions)

    async def json(self, method: str, target: str, body: Any = None, status: int = 200) -> Any:
        answer = await self.ask(method, target, body)
        assert answer.status == status, answer.body
        return answer.json()

    async def produce(self, topic: str, *records: Any, **more: Any) -> Any:
        body = {"records": list(records), **more}
        return (await self.json("POST", f"/v1/topics/{topic}/records", body))["offsets"]

    async def consume(self, topic: str, query: str = "", partition: int = 0) -> Any:
        return await self.json("GET", f"/v1/topics/{topic}/partitions/{partition}/records?{query}")


@asynccontextmanager
async def gateway(
    *others: Plugin, more: dict[str, str] | None = None, **settings: str
) -> AsyncIterator[Rest]:
    enabled = {"enabled": "true", **settings}
    full = {f"plugin.rest_gateway.{name.replace('_', '.')}": text for name, text in enabled.items()}
    async with served_broker(
        simulated_world(), {**full, **(more or {})}, plugins=(rest_gateway, *others)
    ) as served:
        yield Rest(served)
