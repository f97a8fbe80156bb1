"""Brokers with delegation tokens, and clients that are users or present a token."""

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import Any, Final

from tests.broker.sasl import LISTENER, PASSWORDS, SASL, log_in
from trio_kafka.protocol.messages.k17_sasl_handshake import SaslHandshakeRequest
from trio_kafka.protocol.messages.k36_sasl_authenticate import (
    SaslAuthenticateRequest,
    SaslAuthenticateResponse,
)
from trio_kafka.protocol.messages.k38_create_delegation_token import (
    CreatableRenewers,
    CreateDelegationTokenRequest,
    CreateDelegationTokenResponse,
)
from trio_kafka.protocol.messages.k41_describe_delegation_token import (
    DescribedDelegationToken,
    DescribeDelegationTokenRequest,
)
from trio_kafka.security.delegation_tokens import password_of
from trio_kafka.security.sasl.scram import BY_NAME
from trio_kafka.security.sasl.scram_client import scram
from trio_kafka.testing.broker import ServedBroker, served_broker
from trio_kafka.testing.scripted_client import ScriptedClient, newest
from trio_kafka.testing.simulation import simulated_world
from trio_kafka.world.world import World

KEY: Final = "c4n4ry-of-tokens"
TOKENS: Final = {**SASL, "delegation.token.secret.key": KEY}
DAY_MS: Final = 86_400_000


@asynccontextmanager
async def token_broker(
    settings: Mapping[str, str] | None = None, world: World | None = None
) -> AsyncIterator[ServedBroker]:
    """A broker with tokens, an open listener and one of SASL, whose users are ann and bob."""
    async with served_broker(world or simulated_world(), {**TOKENS, **(settings or {})}) as served:
        yield served


@asynccontextmanager
async def user(served: ServedBroker, name: str = "ann") -> AsyncIterator[ScriptedClient]:
    """A client that has logged in by PLAIN."""
    async with served.connect(LISTENER) as client:
        assert (await log_in(client, name, PASSWORDS[name])).error_code == 0
        yield client


async def ask_as(served: ServedBroker, name: str, request: Any, version: int | None = None) -> Any:
    """Ask once, as a user."""
    async with user(served, name) as client:
        return await client.ask(request, newest(type(request)) if version is None else version)


async def create(
    served: ServedBroker, name: str = "ann", *renewers: str, owner: str = "", life_ms: int = -1
) -> CreateDelegationTokenResponse:
    """Make a token as a user."""
    request = CreateDelegationTokenRequest(
        owner_principal_type="User" if owner else None,
        owner_principal_name=owner or None,
        renewers=[CreatableRenewers("User", renewer) for renewer in renewers],
        max_lifetime_ms=life_ms,
    )
    answer: CreateDelegationTokenResponse = await ask_as(served, name, request)
    return answer


async def described(served: ServedBroker, name: str = "ann") -> list[DescribedDelegationToken]:
    """The tokens that a user sees."""
    answer = await ask_as(served, name, DescribeDelegationTokenRequest(None))
    assert answer.error_code == 0
    return list(answer.tokens)


async def present(
    client: ScriptedClient,
    token_id: str,
    password: str,
    *,
    mechanism: str = "SCRAM-SHA-256",
    extension: str = ",tokenauth=true",
) -> SaslAuthenticateResponse:
    """Present a token, and return the last answer."""
    shaken = await client.ask(SaslHandshakeRequest(mechanism), 1)
    assert shaken.error_code == 0
    exchange = scram(BY_NAME[mechanism], token_id, password, nonce="n", extension=extension)
    message = next(exchange)
    while True:
        assert isinstance(message, bytes)
        answer: SaslAuthenticateResponse = await client.ask(SaslAuthenticateRequest(message), 2)
        if answer.error_code:
            return answer
        try:
            message = exchange.send(answer.auth_bytes)
        except StopIteration:
            return answer


@asynccontextmanager
async def bearer(
    served: ServedBroker, token: CreateDelegationTokenResponse, mechanism: str = "SCRAM-SHA-256"
) -> AsyncIterator[ScriptedClient]:
    """A client that has logged in by a token."""
    async with served.connect(LISTENER) as client:
        password = password_of(bytes(token.hmac))
        answer = await present(client, token.token_id, password, mechanism=mechanism)
        assert answer.error_code == 0
        yield client
