"""Authentication of clients, as a part of the node: by listener, from settings and metadata.

PLAIN knows the users of its settings, SCRAM those of the metadata log and delegation tokens. A
listener that is open keeps its mechanisms; credentials of SCRAM are read anew for each login.
"""

import base64
from collections.abc import Callable
from functools import partial
from typing import Final

from trio_kafka.broker.errors import StartError
from trio_kafka.broker.node import Node, Part, Stage, tasks_end
from trio_kafka.broker.token_keys import TokenKeys
from trio_kafka.config.broker import BrokerConfig
from trio_kafka.config.endpoints import SecurityProtocol
from trio_kafka.config.oauth import URL, TokenRules
from trio_kafka.config.sasl import SaslMechanism
from trio_kafka.config.sasl_listener import OVER_SASL, sasl_of
from trio_kafka.config.sasl_names import PLAIN
from trio_kafka.install_hint import install_command
from trio_kafka.metadata.effective import DynamicSettings
from trio_kafka.metadata.publisher import MetadataCache
from trio_kafka.metadata.scram_users import scram_credential
from trio_kafka.network.authentication.phase import Authentication
from trio_kafka.network.settings import ListenerSettings
from trio_kafka.security.delegation_tokens import DelegationTokens
from trio_kafka.security.sasl.exchange import ServerExchange, ServerMechanism
from trio_kafka.security.sasl.oauth_server import OauthServer
from trio_kafka.security.sasl.plain import PlainServer
from trio_kafka.security.sasl.scram import BY_NAME, ScramMechanism
from trio_kafka.security.sasl.scram_server import ScramServer, TokenLogin, decoy
from trio_kafka.security.tokens.verification import Verify, signed_verifier, unsigned_verifier
from trio_kafka.world.world import World

_TASK: Final = "token-keys"
_NONCE: Final = 18  # bytes
_SECRET: Final = 32


class ClientAuthentication:
    """Authentication of the listeners of a broker."""

    def __init__(
        self,
        world: World,
        settings: DynamicSettings,
        cache: MetadataCache,
        *,
        keys: TokenKeys,
        tokens: DelegationTokens,
    ) -> None:
        self._world = world
        self._keys = keys
        self._tokens = tokens
        self._settings = settings
        self._cache = cache
        self._secret = world.random_bytes(_SECRET)

    def of(self, listener: ListenerSettings) -> Authentication | None:
        """Return how the clients of a listener are authenticated; None: they are not."""
        if SecurityProtocol[listener.security_protocol] not in OVER_SASL:
            return None
        # Imported here: most brokers start without SASL, and its messages.
        from trio_kafka.network.authentication.sasl_authenticator import (  # noqa: PLC0415 - see above
            SaslAuthenticator,
        )

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
        elif mechanism.tokens is not None:
            begin = partial(OauthServer, self._verifier(mechanism.tokens))
        else:
            begin = partial(self._scram, BY_NAME[mechanism.name])
        return ServerMechanism(
            name=mechanism.name, begin=begin, longest_session_ms=mechanism.longest_session_ms
        )

    def _verifier(self, rules: TokenRules) -> Verify:
        wall_s = self._world.clock.wall
        if rules.url is None:
            return unsigned_verifier(rules, wall_s)
        return signed_verifier(rules, self._keys.of(rules), wall_s)

    def _scram(self, mechanism: ScramMechanism) -> ScramServer:
        nonce = base64.urlsafe_b64encode(self._world.random_bytes(_NONCE)).decode()
        return ScramServer(
            mechanism=mechanism,
            credential=lambda user: scram_credential(self._cache.image, mechanism, user),
            token=partial(self._token, mechanism),
            nonce=nonce,
            secret=self._secret,
        )

    def _token(self, mechanism: ScramMechanism, token_id: str) -> TokenLogin | None:
        # The salt tells an unknown token from a known one no more than that of an unknown user.
        salt = decoy(mechanism, self._secret, token_id).salt
        return self._tokens.login(mechanism, token_id, salt)


async def _open(node: Node) -> ClientAuthentication:
    """Read the keys of issuers, and keep them up to date. Raises StartError."""
    keys, settings = TokenKeys(node.world, node.tree), node[DynamicSettings]
    for listener in settings.config.endpoints.broker:
        if listener.protocol in OVER_SASL:
            await _read_keys(settings.config, listener.name, keys)
    await node.tasks.start(_TASK, keys.run)
    return ClientAuthentication(
        node.world, settings, node[MetadataCache], keys=keys, tokens=node[DelegationTokens]
    )


async def _read_keys(config: BrokerConfig, listener: str, keys: TokenKeys) -> None:
    for mechanism in sasl_of(config, listener).mechanisms:
        rules = mechanism.tokens
        if rules is None or rules.url is None:
            continue
        try:
            await keys.read(rules)
        except ImportError:
            command = install_command("trio-kafka[oauth]")
            raise StartError(f"OAUTHBEARER of {listener} needs PyJWT: {command}") from None
        except (OSError, ValueError) as error:
            raise StartError(f"{URL}: {rules.url}: {error}") from error


AUTHENTICATION: Final = Part(
    kind=ClientAuthentication, open=_open, stops={Stage.HANDLERS: tasks_end(_TASK)}
)
