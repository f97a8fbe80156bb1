"""Listeners on which the cases are played, for this broker and for Apache Kafka.

LOGIN: PLAIN and SCRAM. SESSION: as LOGIN, and sessions of a minute. SHORT: PLAIN, and sessions of
1.5 s. UNSIGNED: OAUTHBEARER without signatures. SIGNED: with them, and sessions of a minute.
TLS: no SASL; only its counters are compared.
"""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from tests.benchmarks.brokers import apache_kafka_command
from tests.broker.sasl import PACKAGE, USERS, upsertion
from tests.broker.sasl_exchanges.player import DELAY_S
from tests.certificates import server, write_pem
from tests.security.tokens.kit import ISSUER, key_set, public_row
from trio_kafka.config.oauth import UNSIGNED as UNSIGNED_CLASS
from trio_kafka.model import Endpoint
from trio_kafka.protocol.messages.k51_alter_user_scram_credentials import (
    AlterUserScramCredentialsRequest,
)
from trio_kafka.security.sasl.scram import BY_NAME
from trio_kafka.testing.broker import ServedBroker
from trio_kafka.testing.ports import unused_port
from trio_kafka.testing.processes import broker_process
from trio_kafka.testing.scripted_client import ScriptedClient

LOGIN: Final = "LOGIN"
SESSION: Final = "SESSION"
SHORT: Final = "SHORT"
UNSIGNED: Final = "UNSIGNED"
SIGNED: Final = "SIGNED"
LISTENERS: Final = (LOGIN, SESSION, SHORT, UNSIGNED, SIGNED)
TLS: Final = "TLS"
JMX: Final = "JMX"
LARGEST: Final = 4096
"""Bytes of a frame before the login."""
ODD_NAME: Final = "a,b=c"
_WITHOUT_TOKENS: Final = "PLAIN,SCRAM-SHA-256,SCRAM-SHA-512"
_OAUTH_MODULE: Final = f"{PACKAGE}.oauthbearer.OAuthBearerLoginModule required"
_KEYS: Final = "keys.json"
_START_S: Final = 120


def settings(directory: Path, ports: Mapping[str, int]) -> dict[str, str]:
    """Settings of the listeners. ports: 0: any. Writes files into the directory: the keys of the
    issuer, and the certificate of the broker.
    """
    certificate = write_pem(server(), directory / "broker.pem")
    keys = directory / _KEYS
    keys.write_bytes(key_set(public_row("RS256", "k")))
    whole = {
        "listener.name.tls.ssl.keystore.type": "PEM",
        "listener.name.tls.ssl.keystore.location": str(certificate),
        "sasl.server.max.receive.size": str(LARGEST),
        "connection.failed.authentication.delay.ms": str(int(DELAY_S * 1000)),
        "listener.security.protocol.map": ",".join(
            [
                "PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT",
                *(f"{name}:SASL_PLAINTEXT" for name in LISTENERS),
                f"{TLS}:SSL",
            ]
        ),
        **_without_tokens(LOGIN),
        **_without_tokens(SESSION),
        **_without_tokens(SHORT),
        "listener.name.session.connections.max.reauth.ms": "60000",
        "listener.name.short.connections.max.reauth.ms": "1500",
        "listener.name.signed.connections.max.reauth.ms": "60000",
    }
    for name in (UNSIGNED, SIGNED):
        own = f"listener.name.{name.lower()}"
        login = f'{_OAUTH_MODULE} unsecuredLoginStringClaim_sub="broker";'
        whole[f"{own}.sasl.enabled.mechanisms"] = "OAUTHBEARER"
        whole[f"{own}.oauthbearer.sasl.jaas.config"] = login
    handler = "oauthbearer.sasl.server.callback.handler.class"
    return {
        **whole,
        f"listener.name.unsigned.{handler}": UNSIGNED_CLASS,
        f"listener.name.signed.{handler}": (
            f"{PACKAGE}.oauthbearer.OAuthBearerValidatorCallbackHandler"
        ),
        "listener.name.signed.sasl.oauthbearer.jwks.endpoint.url": keys.as_uri(),
        "listener.name.signed.sasl.oauthbearer.expected.audience": "kafka",
        "listener.name.signed.sasl.oauthbearer.expected.issuer": ISSUER,
        "listeners": ",".join(f"{name}://127.0.0.1:{port}" for name, port in ports.items()),
    }


def _without_tokens(listener: str) -> dict[str, str]:
    own = f"listener.name.{listener.lower()}"
    scram = f"{PACKAGE}.scram.ScramLoginModule required;"
    return {
        f"{own}.sasl.enabled.mechanisms": _WITHOUT_TOKENS,
        f"{own}.plain.sasl.jaas.config": f"{PACKAGE}.plain.PlainLoginModule required {USERS};",
        f"{own}.scram-sha-256.sasl.jaas.config": scram,
        f"{own}.scram-sha-512.sasl.jaas.config": scram,
    }


async def create_users(client: ScriptedClient | ServedBroker) -> None:
    """Create the users of SCRAM. Kafka takes each user only once in a request."""
    for mechanism in BY_NAME:
        upsertions = [upsertion(user, "secret", mechanism) for user in ("ann", "bob", ODD_NAME)]
        answer = await client.ask(AlterUserScramCredentialsRequest(upsertions=upsertions), 0)
        assert not any(row.error_code for row in answer.results), answer


def _jmx(port: int) -> list[str]:
    """Options of a JVM that serves its beans on loopback."""
    properties = {
        "host": "127.0.0.1",
        "port": port,
        "rmi.port": port,
        "authenticate": "false",
        "ssl": "false",
    }
    return [
        "-Djava.rmi.server.hostname=127.0.0.1",
        *(f"-Dcom.sun.management.jmxremote.{name}={value}" for name, value in properties.items()),
    ]


@contextmanager
def apache_kafka(directory: Path) -> Iterator[dict[str, Endpoint]]:
    """Apache Kafka in a JVM, until the block ends: its addresses by listener, and that of JMX."""
    ports = {name: unused_port() for name in ("PLAINTEXT", "CONTROLLER", *LISTENERS, TLS)}
    jmx = unused_port()
    texts = settings(directory, ports)
    # A file is a place of keys only where the system property allows it.
    allowed = f"-Dorg.apache.kafka.sasl.oauthbearer.allowed.files={directory / _KEYS}"
    urls = f"-Dorg.apache.kafka.sasl.oauthbearer.allowed.urls={(directory / _KEYS).as_uri()}"

    def command(port: int, data: Path, extra_settings: object) -> list[str]:
        del extra_settings
        ports_of_node = [f"controller.quorum.voters=1@127.0.0.1:{ports['CONTROLLER']}"]
        listed = [f"{name}={text}" for name, text in texts.items()]
        whole = apache_kafka_command(port, data, [*ports_of_node, *listed])
        options = " ".join(["-XX:+UseSerialGC", allowed, urls, *_jmx(jmx)])
        return ["env", f"APACHE_JVM_OPTS={options}", *whole]

    with broker_process(
        directory, command=command, port=ports["PLAINTEXT"], start_timeout_s=_START_S
    ):
        addresses = {**ports, JMX: jmx}
        yield {name: Endpoint("127.0.0.1", port) for name, port in addresses.items()}
