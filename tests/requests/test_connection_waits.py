"""Waits of connections: each mute reason says what is waited for, and until when."""

from collections.abc import Awaitable, Callable
from typing import Final

import pytest
import trio
from attrs import define
from trio.testing import MockClock

from tests.apis.kit import batch, fetch_request, produce, produce_request
from tests.apis.test_k49_alter_client_quotas import alter, entry
from tests.broker.sasl import LISTENER, SASL
from tests.introspect.waiting import Waits, waiting
from tests.requests.test_handler_waits import FEW, metadata, slow
from trio_kafka.introspect.waits import Wait
from trio_kafka.network.reasons import MuteReason
from trio_kafka.protocol.messages.k17_sasl_handshake import SaslHandshakeRequest
from trio_kafka.protocol.messages.k36_sasl_authenticate import SaslAuthenticateRequest
from trio_kafka.testing.scripted_client import connect, request_frame

SMALL: Final = {"socket.request.max.bytes": "100000", "queued.max.request.bytes": "100000"}


async def in_flight(waits: Waits) -> Wait:
    await waits.served.create_topic("t")
    await waits.ask(fetch_request("t", 0, max_wait_ms=30_000), 12)
    return await only_wait(waits, "request")


async def channel_full(waits: Waits) -> Wait:
    await metadata(waits, 4)
    return await only_wait(waits, "channel")


async def throttled(waits: Waits) -> Wait:
    await waits.served.create_topic("t")
    await alter(waits.served, entry({"client-id": None}, producer_byte_rate=1000))
    await waits.ask(produce_request("t", (0, batch(bytes(15_000)))), 12)
    await waits.served.client.send(request_frame(produce_request("t", (0, batch(b"a"))), 12))
    await trio.sleep(0.2)
    return await only_wait(waits, "quota")


async def memory(waits: Waits) -> Wait:
    await waits.served.create_topic("t")
    frame = request_frame(produce_request("t", (0, batch(bytes(90_000)))), 12)
    for _ in range(3):
        await hold_open(waits, frame[:-1])
    return await only_wait(waits, "limiter")


async def draining(waits: Waits) -> Wait:
    await waits.served.create_topic("t")
    await waits.ask(fetch_request("t", 0, max_wait_ms=30_000), 12)
    (plane,) = waits.served.broker.parts.planes
    waits.nursery.start_soon(plane.drain, trio.current_time() + 20)
    await trio.sleep(1)
    return await only_wait(waits, "listener")


async def sending(waits: Waits) -> Wait:
    await waits.served.create_topic("t")
    for _ in range(4):
        await produce(waits.served, "t", batch(bytes(900_000)))
    request = fetch_request("t", 0, max_bytes=4 << 20, partition_max_bytes=4 << 20)
    await hold_open(waits, request_frame(request, 12))
    return await only_wait(waits, "connection")


async def unauthenticated(waits: Waits) -> Wait:
    shaken = request_frame(SaslHandshakeRequest("PLAIN"), 1)
    wrong = request_frame(SaslAuthenticateRequest(b"\0ann\0wrong"), 2)
    await hold_open(waits, shaken + wrong, LISTENER)
    return await only_wait(waits, "listener")


async def hold_open(waits: Waits, data: bytes, listener: str = "PLAINTEXT") -> None:
    """Have a client of its own send bytes, and read nothing."""
    broker = waits.served.broker

    async def client() -> None:
        connection = await connect(broker.world.network, broker.endpoints[listener])
        try:
            await connection.send(data)
            await trio.sleep_forever()
        finally:
            connection.socket.abort()

    waits.nursery.start_soon(client)
    await trio.sleep(1)


async def only_wait(waits: Waits, kind: str) -> Wait:
    """The wait of any connection for a thing of this kind."""
    rows = await waits.all_connections()
    return next(wait for row in rows for wait in row.waits if wait.on.kind == kind)


@define
class Scenario:
    make: Callable[[Waits], Awaitable[Wait]]
    cause: str
    words: str
    has_figures: bool = True
    has_end: bool = True
    settings: dict[str, str] | None = None


SCENARIOS: Final = {
    MuteReason.IN_FLIGHT: Scenario(
        in_flight,
        "bytes",
        "the answer to its request, which waits for 0 of 1 bytes from t-0",
        has_figures=False,
    ),
    MuteReason.CHANNEL_FULL: Scenario(
        channel_full,
        "channel",
        "room in the request channel: 1 of 1 are queued",
        has_end=False,
        settings=FEW,
    ),
    MuteReason.THROTTLED: Scenario(throttled, "quota", "the quota Produce of client scripted: 1,4"),
    MuteReason.MEMORY: Scenario(memory, "memory", "90,1", has_end=False, settings=SMALL),
    MuteReason.DRAINING: Scenario(
        draining, "change", "nothing: it is closed", has_figures=False, has_end=False
    ),
    MuteReason.UNAUTHENTICATED: Scenario(
        unauthenticated,
        "time",
        "the delay after a failed login",
        has_figures=False,
        has_end=False,
        settings={**SASL, "connection.failed.authentication.delay.ms": "60000"},
    ),
    MuteReason.SENDING: Scenario(sending, "client", "the client to read "),
}


@pytest.mark.parametrize("reason", MuteReason)
async def test_muted_connection_says_what_it_waits_for(
    autojump_clock: MockClock, reason: MuteReason
) -> None:
    scenario = SCENARIOS[reason]
    async with waiting(
        scenario.settings, plugins=(slow,) if scenario.settings is FEW else ()
    ) as waits:
        wait = await scenario.make(waits)

    assert wait.cause == scenario.cause
    assert wait.words.startswith(scenario.words)
    assert (wait.needs is not None) == scenario.has_figures
    assert (wait.left_s is not None) == scenario.has_end
