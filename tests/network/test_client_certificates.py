"""Certificates of clients that a listener does not accept: the handshake fails, with a reason."""

import datetime as dt
from collections.abc import Callable
from functools import cache

import pytest
from trio.testing import MockClock

from tests.certificates import authority, client, now, serving, trusting
from tests.network.echoing import echoes, numbers
from tests.network.secured import secured
from tests.network.test_handshakes import failed, reasons, tls_plane
from trio_kafka.security.tls.development import Identity
from trio_kafka.security.tls.errors import TlsError
from trio_kafka.testing.sample_apis import EchoRequest
from trio_kafka.testing.simulation import simulated_world


@cache
def expired() -> Identity:
    return authority().issue(now() - dt.timedelta(days=60), "CN=ann", days=30)


@cache
def not_yet_valid() -> Identity:
    return authority().issue(now() + dt.timedelta(days=30), "CN=ann")


@cache
def foreign() -> Identity:
    """Of another authority with the same name."""
    return Identity.authority(now(), "authority").issue(now(), "CN=ann")


@cache
def of_a_server() -> Identity:
    """For servers only."""
    return authority().issue(now(), "CN=ann", hosts=("localhost",))


@pytest.mark.parametrize("asks", ["required", "requested"])
@pytest.mark.parametrize("version", ["TLSv1.2", "TLSv1.3"])
@pytest.mark.parametrize(
    ("identity", "reason"),
    [
        (expired, "certificate has expired"),
        (not_yet_valid, "certificate is not yet valid"),
        (foreign, "unable to get local issuer certificate"),
        (of_a_server, "unsuitable certificate purpose"),
    ],
    ids=["expired", "not yet valid", "foreign", "of a server"],
)
async def test_a_certificate_that_is_not_valid_is_refused_and_others_are_served(
    autojump_clock: MockClock,
    caplog: pytest.LogCaptureFixture,
    asks: str,
    version: str,
    identity: Callable[[], Identity],
    reason: str,
) -> None:
    """Also where a certificate is only requested, as in Java."""
    options = {"endpoint_identification_algorithm": "", "enabled_protocols": (version,)}
    world = simulated_world()
    async with tls_plane(world, settings=serving(client_auth=asks)) as (plane, _):
        neighbour = await secured(world, plane.endpoint, trusting(client(), **options))
        with pytest.raises((TlsError, EOFError, ConnectionError)):
            # With TLS 1.3 the client learns of it when it asks.
            refused = await secured(world, plane.endpoint, trusting(identity(), **options))
            await refused.ask(EchoRequest(text="", number=0), 0)

        await neighbour.send(echoes(1))
        assert await numbers(neighbour, 1) == [0]
        assert failed(plane) == 1
        (line,) = reasons(caplog)
        assert line.startswith("TLS: the peer's certificate is not accepted: ")
        assert reason in line
        neighbour.close()
