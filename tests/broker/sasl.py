"""Brokers whose clients authenticate, and the bytes that clients send to them."""

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import Final

from trio_kafka.protocol.messages.k17_sasl_handshake import SaslHandshakeRequest
from trio_kafka.protocol.messages.k36_sasl_authenticate import (
    SaslAuthenticateRequest,
    SaslAuthenticateResponse,
)
from trio_kafka.protocol.messages.k51_alter_user_scram_credentials import (
    AlterUserScramCredentialsRequest,
    ScramCredentialUpsertion,
)
from trio_kafka.security.sasl.scram import BY_NAME, salted_password
from trio_kafka.testing.broker import ServedBroker, served_broker
from trio_kafka.testing.scripted_client import ScriptedClient
from trio_kafka.testing.simulation import simulated_world
from trio_kafka.world.world import World

LISTENER: Final = "SASL_PLAINTEXT"
PACKAGE: Final = "org.apache.kafka.common.security"
PASSWORDS: Final = {"ann": "secret", "bob": "pw"}
USERS: Final = " ".join(f'user_{name}="{password}"' for name, password in PASSWORDS.items())
SASL: Final[Mapping[str, str]] = {
    "listeners": "PLAINTEXT://127.0.0.1:0,SASL_PLAINTEXT://127.0.0.1:0",
    "sasl.enabled.mechanisms": "PLAIN,SCRAM-SHA-256,SCRAM-SHA-512",
    "listener.name.sasl_plaintext.plain.sasl.jaas.config": (
        f"{PACKAGE}.plain.PlainLoginModule required {USERS};"
    ),
}


@asynccontextmanager
async def sasl_broker(
    settings: Mapping[str, str] | None = None, world: World | None = None
) -> AsyncIterator[ServedBroker]:
    """A broker with an open listener and one of SASL, and users of PLAIN."""
    async with served_broker(world or simulated_world(), {**SASL, **(settings or {})}) as served:
        yield served


def upsertion(
    user: str, password: str, mechanism: str = "SCRAM-SHA-256"
) -> ScramCredentialUpsertion:
    """A credential with 4,096 iterations."""
    scram, salt = BY_NAME[mechanism], b"1yz4hpmsjbavqnpg8fmt5ey2c"
    salted = salted_password(scram, password, salt=salt, iterations=4096)
    return ScramCredentialUpsertion(user, scram.number, 4096, salt, salted)


def creation(mechanism: str) -> AlterUserScramCredentialsRequest:
    """A request for the users in one mechanism: brokers reject one that changes a user twice."""
    return AlterUserScramCredentialsRequest(
        upsertions=[upsertion(user, password, mechanism) for user, password in PASSWORDS.items()]
    )


async def create_scram_users(served: ServedBroker, *mechanisms: str) -> None:
    """Create the users with their passwords for some mechanisms, or both."""
    for mechanism in mechanisms or BY_NAME:
        answer = await served.ask(creation(mechanism))
        assert [row.error_code for row in answer.results] == [0] * len(PASSWORDS)


async def log_in(
    client: ScriptedClient, user: str = "ann", password: str = "secret"
) -> SaslAuthenticateResponse:
    """Log in by PLAIN, and return the last answer."""
    shaken = await client.ask(SaslHandshakeRequest("PLAIN"), 1)
    assert shaken.error_code == 0
    return await client.ask(SaslAuthenticateRequest(f"\0{user}\0{password}".encode()), 2)
