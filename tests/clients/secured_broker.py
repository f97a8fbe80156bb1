"""A broker with one listener of SASL_SSL for clients of all kinds, by every mechanism."""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Final

from tests.broker.sasl import PASSWORDS, creation
from tests.certificates import authority, server
from tests.security.tokens.kit import ISSUER, key_set, public_row, token
from trio_kafka.config.jaas import login_module
from trio_kafka.controls.ask import ask
from trio_kafka.security.sasl.scram import BY_NAME
from trio_kafka.testing.kafka.threaded import Kafka, running_broker

LISTENER: Final = "SASL_SSL"
PASSWORD_MECHANISMS: Final = ("PLAIN", *BY_NAME)
_USERS: Final = {f"user_{name}": password for name, password in PASSWORDS.items()}


def signed_token(**more: object) -> str:
    """A token of ann for ten minutes."""
    now_s = int(time.time())
    return token("RS256", **{"iat": now_s, "exp": now_s + 600, **more})


@contextmanager
def secured_broker(directory: Path) -> Iterator[Kafka]:
    """Run it, with the topic `orders`. directory: for the keys of the tokens' issuer."""
    keys = directory / "keys.json"
    keys.write_bytes(key_set(public_row("RS256", "k")))
    settings = {
        "listeners": f"PLAINTEXT://127.0.0.1:0,{LISTENER}://127.0.0.1:0",
        "sasl.enabled.mechanisms": ",".join([*PASSWORD_MECHANISMS, "OAUTHBEARER"]),
        "listener.name.sasl_ssl.plain.sasl.jaas.config": login_module("PLAIN", _USERS),
        "sasl.oauthbearer.jwks.endpoint.url": keys.as_uri(),
        "sasl.oauthbearer.expected.audience": "kafka",
        "sasl.oauthbearer.expected.issuer": ISSUER,
        "ssl.keystore.type": "PEM",
        "ssl.keystore.key": server().key_pem(),
        "ssl.keystore.certificate.chain": server().pem,
    }
    with running_broker(settings, topics=["orders"]) as kafka:
        for mechanism in BY_NAME:
            answer = kafka.thread.call(partial(ask, kafka.broker, creation(mechanism)))
            assert not any(row.error_code for row in answer.results)
        yield kafka


def address_of(kafka: Kafka) -> str:
    return str(kafka.broker.endpoints[LISTENER])


def ca_file(directory: Path) -> Path:
    """A file with the certificate of the authority."""
    path = directory / "ca.pem"
    path.write_text(authority().pem)
    return path
