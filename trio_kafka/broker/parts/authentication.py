"""Authentication of clients, as a part of the node: by listener, from settings and metadata.

PLAIN knows the users of its settings, SCRAM those of the metadata log. A listener that is open
keeps its mechanisms; credentials of SCRAM are read anew for each login.
"""

import base64
from collections.abc import Callable
from functools import partial
from typing import Final

from trio_kafka.broker.node import Node, Part, at_once
from trio_kafka.config.endpoints import SecurityProtocol
from trio_kafka.config.sasl import PLAIN, SaslMechanism
from trio_kafka.config.sasl_listener import OVER_SASL, sasl_of
from trio_kafka.metadata.effective import DynamicSettings
from trio_kafka.metadata.publisher import MetadataCache
from trio_kafka.network.authentication.phase import Authentication
from trio_kafka.network.authentication.sasl_authenticator import SaslAuthenticator
from trio_kafka.network.settings import ListenerSettings
from trio_kafka.security.sasl.exchange import ServerExchange, ServerMechanism
from trio_kafka.security.sasl.plain import PlainServer
from trio_kafka.security.sasl.scram import BY_NAME, ScramCredential, ScramMechanism
from trio_kafka.security.sasl.scram_server import ScramServer
from trio_kafka.world.world import World

_NONCE: Final = 18  # bytes
_SECRET: Final = 32


class ClientAuthentication:
    """Authentication of the listeners of a broker."""

    def __init__(self, world: World, settings: DynamicSettings, cache: MetadataCache) -> None:
        self._world = world
        self._settings = settings
        self._cache = cache
        self._secret = world.random_bytes(_SECRET)

    def of(self, listener: ListenerSettings) -> Authentication | None:
        """Return how the clients of a listener are authenticated; None: they are not."""
        if SecurityProtocol[listener.security_protocol] not in OVER_SASL:
            return None
        config = self._settings.config
        sasl = sasl_of(config, listener.name)
        mechanisms = {m.name: self._mechanism(m) for m in sasl.mechanisms}
        clock = self._world.clock
        return Authentication(
            begin=lambda: SaslAuthenticator(mechanisms, lambda: clock.wall() * 1000),
            largest=sasl.largest,
            delay_s=config.connection_failed_authentication_delay_ms / 1000,
        )

    def _mechanism(self, mechanism: SaslMechanism) -> ServerMechanism:
        begin: Callable[[], ServerExchange]
        if mechanism.name == PLAIN:
            begin = partial(PlainServer, mechanism.passwords)
        else:
            begin = partial(self._scram, BY_NAME[mechanism.name])
        return ServerMechanism(
            name=mechanism.name, begin=begin, longest_session_ms=mechanism.longest_session_ms
        )

    def _scram(self, mechanism: ScramMechanism) -> ScramServer:
        nonce = base64.urlsafe_b64encode(self._world.random_bytes(_NONCE)).decode()
        return ScramServer(
            mechanism=mechanism,
            credential=partial(self._credential, mechanism),
            nonce=nonce,
            secret=self._secret,
        )

    def _credential(self, mechanism: ScramMechanism, user: str) -> ScramCredential | None:
        record = self._cache.image.scram.get((user, mechanism.number))
        if record is None:
            return None
        return ScramCredential(
            salt=bytes(record.salt),
            stored_key=bytes(record.stored_key),
            server_key=bytes(record.server_key),
            iterations=record.iterations,
        )


def _make(node: Node) -> ClientAuthentication:
    return ClientAuthentication(node.world, node[DynamicSettings], node[MetadataCache])


AUTHENTICATION: Final = Part(kind=ClientAuthentication, open=at_once(_make))
