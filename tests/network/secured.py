"""Scripted clients over TLS."""

from tests.certificates import trusting
from trio_kafka.model import Endpoint
from trio_kafka.security.tls.contexts import client_context
from trio_kafka.security.tls.handshake import shake_hands
from trio_kafka.security.tls.settings import TlsSettings
from trio_kafka.security.tls.socket import TlsSocket, new_arrival_buffer
from trio_kafka.testing.scripted_client import ScriptedClient
from trio_kafka.world.world import World


async def secured(
    world: World, address: Endpoint, settings: TlsSettings | None = None
) -> ScriptedClient:
    """A client that has shaken hands. It checks no name, as simulated machines have no address."""
    plain = await world.network.connect(address.host, address.port)
    options = settings or trusting(endpoint_identification_algorithm="")
    socket = TlsSocket(
        plain, client_context(options), arrived=new_arrival_buffer(), host=address.host
    )
    try:
        await shake_hands(socket)
    except BaseException:
        socket.close()
        raise
    return ScriptedClient(socket)
