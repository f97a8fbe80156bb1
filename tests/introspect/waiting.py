"""A broker in virtual time with requests that wait in it, and what their waits say."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any, get_args

import trio
from attrs import define

from trio_kafka.introspect.facts.connections import ConnectionFacts
from trio_kafka.introspect.facts.requests import RequestFacts
from trio_kafka.introspect.waits import SubjectKind, Wait, WaitCause
from trio_kafka.peers.session import Request
from trio_kafka.plugin import Plugin
from trio_kafka.plugin_host.state_access import read_connections_as, read_request_facts_as
from trio_kafka.security.principal import NOBODY
from trio_kafka.testing.broker import ServedBroker, served_broker
from trio_kafka.testing.scripted_client import newest
from trio_kafka.testing.simulation import fault_on, simulated_world


def check(wait: Wait) -> None:
    """A wait says its cause, in words, and on what; figures have a unit, deadlines an end."""
    assert wait.cause in get_args(WaitCause)
    assert wait.on.kind in get_args(SubjectKind)
    assert wait.on.name
    assert wait.words
    assert wait.words == " ".join(wait.words.split())
    assert (wait.needs is None) == (wait.unit == "")
    assert wait.has is None or wait.needs is not None
    assert wait.age_s is None or wait.age_s >= 0
    if wait.left_s is not None:
        assert wait.left_s >= 0
        assert wait.then


@define(eq=False, kw_only=True)
class Waits:
    """A broker, and requests that wait in it."""

    served: ServedBroker
    nursery: trio.Nursery

    async def ask(
        self,
        request: Request[Any],
        version: int | None = None,
        *,
        after_s: float = 1.0,
        client_id: str = "scripted",
    ) -> None:
        """Have a client of its own ask, and return after some time."""
        version = newest(type(request)) if version is None else version

        async def client() -> None:
            async with self.served.connect() as connection:
                connection.client_id = client_id
                await connection.ask(request, version)

        self.nursery.start_soon(client)
        await trio.sleep(after_s)

    async def facts(self, api: str) -> list[RequestFacts]:
        """Facts of the requests of an API in flight, all of them well-formed."""
        parts = self.served.broker.parts
        facts = [row for row in await read_request_facts_as(NOBODY, parts) if row.api == api]
        for row in facts:
            for wait in row.why:
                check(wait)
        return facts

    async def connections(self, client_id: str) -> list[ConnectionFacts]:
        """Facts of the connections of a client, all of them well-formed."""
        return [row for row in await self.all_connections() if row.client_id == client_id]

    async def all_connections(self) -> list[ConnectionFacts]:
        facts = await read_connections_as(NOBODY, self.served.broker.parts)
        for row in facts:
            for wait in row.waits:
                check(wait)
        return facts

    async def why(self, api: str) -> tuple[Wait, ...]:
        (facts,) = await self.facts(api)
        return facts.why


@asynccontextmanager
async def waiting(
    settings: dict[str, str] | None = None, plugins: tuple[Plugin, ...] = ()
) -> AsyncIterator[Waits]:
    async with (
        served_broker(simulated_world(), settings, plugins=plugins) as served,
        trio.open_nursery() as nursery,
    ):
        yield Waits(served=served, nursery=nursery)
        served.broker.world.universe.fault = fault_on("none", None)
        nursery.cancel_scope.cancel()


def slow_disk(waits: Waits, place: str, seconds: float = 20.0, call: str = "sync") -> None:
    waits.served.broker.world.universe.fault = fault_on(call, seconds, place)


def chain(why: tuple[Wait, ...]) -> list[tuple[str, str, str]]:
    return [(wait.cause, wait.on.kind, wait.on.name) for wait in why]
