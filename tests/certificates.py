"""Certificates of tests, made once a run: the first use costs 50 ms."""

import datetime as dt
from functools import cache
from pathlib import Path

from trio_kafka.security.tls.development import LOCAL_HOSTS, Identity
from trio_kafka.security.tls.settings import TlsSettings

CLIENT_NAME = "CN=ann,OU=tests,O=trio-kafka,C=US"


def now() -> dt.datetime:
    return dt.datetime.now(dt.UTC)


@cache
def authority(name: str = "authority") -> Identity:
    return Identity.authority(now(), name)


@cache
def server(name: str = "broker", hosts: tuple[str, ...] = LOCAL_HOSTS) -> Identity:
    return authority().issue(now(), name, hosts=hosts)


@cache
def client(name: str = CLIENT_NAME) -> Identity:
    return authority().issue(now(), name)


def serving(identity: Identity | None = None, **more: object) -> TlsSettings:
    """Settings of a listener that trusts the tests' authority."""
    own = identity or server()
    values: dict[str, object] = {
        "keystore_type": "PEM",
        "keystore_key": own.key_pem(),
        "keystore_certificate_chain": own.pem,
        "truststore_type": "PEM",
        "truststore_certificates": authority().pem,
    }
    return TlsSettings(**values | more)


def trusting(identity: Identity | None = None, **more: object) -> TlsSettings:
    """Settings of a client, with its certificate if one is given."""
    values: dict[str, object] = {
        "truststore_type": "PEM",
        "truststore_certificates": authority().pem,
    }
    if identity is not None:
        values |= {
            "keystore_type": "PEM",
            "keystore_key": identity.key_pem(),
            "keystore_certificate_chain": identity.pem,
        }
    return TlsSettings(**values | more)


def write_pem(identity: Identity, path: Path, password: str | None = None) -> Path:
    """A PEM file of key and certificate."""
    path.write_text(identity.key_pem(password) + identity.pem)
    return path
