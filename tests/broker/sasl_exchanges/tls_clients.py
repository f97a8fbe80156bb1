"""Clients of a listener with TLS: good ones, and ones whose handshake ends in different ways."""

from contextlib import suppress
from typing import Final

import trio

from tests.certificates import authority, trusting
from tests.network.secured import secured
from trio_kafka.model import Endpoint
from trio_kafka.protocol.messages.k18_api_versions import ApiVersionsRequest
from trio_kafka.security.tls.errors import TlsError
from trio_kafka.security.tls.settings import TlsSettings
from trio_kafka.testing.scripted_client import connected
from trio_kafka.world.world import World

GARBAGE: Final = b"x" * 100
HALF: Final = b"\x16\x03\x01"
_WAIT_S: Final = 0.5  # until a broker has noticed the end of a connection


async def shake_hands_in_all_ways(world: World, address: Endpoint) -> None:
    """Two clients are served, three fail, and two leave."""
    for version in ("TLSv1.3", "TLSv1.2"):
        client = await secured(world, address, _settings(enabled_protocols=(version,)))
        assert (await client.ask(ApiVersionsRequest("raw", "1"), 3)).error_code == 0
        client.close()
    distrusting = _settings(truststore_certificates=authority("another authority").pem)
    # The certificate of the broker has another kind of key.
    without_suite = _settings(
        enabled_protocols=("TLSv1.2",),
        cipher_suites=("TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384",),
    )
    for settings in (distrusting, without_suite):
        with suppress(TlsError):
            await secured(world, address, settings)
            raise AssertionError("the handshake has succeeded")
    for data in (GARBAGE, b"", HALF):
        async with connected(world, address) as peer:
            await peer.send(data)
            if data == GARBAGE:
                await peer.wait_closed()
    await trio.sleep(_WAIT_S)


def _settings(**more: object) -> TlsSettings:
    return trusting(None, endpoint_identification_algorithm="", **more)
