"""How clients reach the broker under test: its protocol, its users, its certificates, and theirs.

Certificates are made once a process, on first use, and trusted by nothing else. They need the extra
`tls`.
"""

import re
import ssl
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from functools import cache
from typing import TYPE_CHECKING, Any, Final, TypeAlias, TypedDict

from attrs import field

from trio_kafka.attributes import frozen
from trio_kafka.config.authorizer import STANDARD
from trio_kafka.config.jaas import HIDDEN, login_line, login_module
from trio_kafka.install_hint import install_command
from trio_kafka.security.acls.entries import Acl
from trio_kafka.security.acls.words import parse_acls
from trio_kafka.security.sasl.scram import BY_NAME, SHA_256
from trio_kafka.world.operator_files import secret_file

if TYPE_CHECKING:
    from trio_kafka.security.tls.development import Identity

__tracebackhide__ = True  # pytest ends the traceback of a failed test where it calls the kit

_NAME: Final = re.compile(r"[A-Za-z0-9._-]+")
_PLAIN: Final = "PLAIN"
_MECHANISMS: Final = (*BY_NAME, _PLAIN)
_RULES: Final = "RULE:^CN=([^,]+)$/$1/,DEFAULT"  # CN=ann is User:ann
ClientConfig: TypeAlias = dict[str, Any]
"""Settings of a client library by its own names, also to be passed as keyword arguments."""
CLIENTS: Final = ("confluent_kafka", "aiokafka", "kafka_python", "trio_kafka")


class AccessOptions(TypedDict, total=False):
    """Arguments of `running_broker` and of the mark `kafka` about access; see `Access`."""

    tls: bool
    users: Mapping[str, str]
    mechanism: str
    acls: Sequence[str] | None


@frozen(kw_only=True)
class Access:
    """Access to a broker of the kit.

    tls: its listener has TLS, and asks for a certificate.
    users: passwords by name: clients log in by SASL; empty: they do not.
    mechanism: of SASL: SCRAM-SHA-256, SCRAM-SHA-512 or PLAIN.
    acls: what users may do, as `allow ann to READ,WRITE topic orders*`; all else is denied, but to
        the kit itself. None: everybody may do everything.
    """

    tls: bool = False
    users: Mapping[str, str] = field(factory=dict, repr=lambda _: HIDDEN)
    mechanism: str = SHA_256.name
    acls: Sequence[str] | None = None
    entries: Sequence[Acl] = field(init=False, repr=False)

    def __attrs_post_init__(self) -> None:
        """Raise ValueError for a user that no client can be, and for what else cannot be."""
        if self.mechanism not in _MECHANISMS:
            names = ", ".join(_MECHANISMS)
            raise ValueError(f"mechanism {self.mechanism!r}: expected one of {names}")
        for name, password in self.users.items():
            if not _NAME.fullmatch(name) or not password:
                raise ValueError(f"user {name!r}: expected letters, digits, . _ - and a password")

    @entries.default
    def _parse(self) -> Sequence[Acl]:
        if isinstance(self.acls, str):
            raise ValueError(f"acls {self.acls!r}: expected a list of texts")  # noqa: TRY004 - as for each ACL
        return [acl for sentence in self.acls or () for acl in parse_acls(sentence)]

    @property
    def is_scram(self) -> bool:
        """True where users are kept in the metadata log."""
        return bool(self.users) and self.mechanism != _PLAIN

    @property
    def protocol(self) -> str:
        """Security protocol of the listener, and its name."""
        transport = "SSL" if self.tls else "PLAINTEXT"
        return f"SASL_{transport}" if self.users else transport

    def broker_settings(self) -> dict[str, str]:
        """Return the settings of the broker, by Kafka's names."""
        settings = {} if self.acls is None else {"authorizer.class.name": STANDARD}
        if self.protocol != "PLAINTEXT":
            settings["security.inter.broker.protocol"] = self.protocol
        if self.users:
            settings["sasl.enabled.mechanisms"] = self.mechanism
        if self.users and not self.is_scram:
            listener = f"listener.name.{self.protocol.lower()}"
            settings[f"{listener}.plain.sasl.jaas.config"] = login_module(
                _PLAIN, {f"user_{name}": text for name, text in self.users.items()}
            )
        if not self.tls:
            return settings
        authority, server = _server()
        return {
            **settings,
            "ssl.keystore.type": "PEM",
            "ssl.keystore.key": server.key_pem(),
            "ssl.keystore.certificate.chain": server.pem,
            "ssl.truststore.type": "PEM",
            "ssl.truststore.certificates": authority.pem,
            "ssl.client.auth": "requested",
            "ssl.principal.mapping.rules": _RULES,
        }

    def client_config(
        self, bootstrap: str, user: str | None = None, *, client: str = "confluent_kafka"
    ) -> ClientConfig:
        """Return the settings with which a client reaches the broker.

        user: one of the users; without such, the name in the client's certificate; None: it has
            none.
        client: one of `CLIENTS`. Raises ValueError for another one, and for a user that cannot be.
        """
        if client not in CLIENTS:
            raise ValueError(f"client {client!r}: expected one of {', '.join(CLIENTS)}")
        if user is not None and not (self.tls or self.users):
            raise ValueError(
                f"user {user!r}: the broker knows no users; start it with tls=True or users"
            )
        if self.users and user not in self.users:
            raise ValueError(f"user {user!r}: expected one of {', '.join(sorted(self.users))}")
        config: ClientConfig = {"bootstrap.servers": bootstrap}
        if self.tls:
            authority, _ = _server()
            identity = None if user is None or self.users else _client(user)
            config |= _BY_CLIENT[client](authority, identity)
        if user is not None and self.users:
            config |= _login(client, self.mechanism, user, self.users[user])
        if self.protocol != "PLAINTEXT":
            config["security.protocol"] = self.protocol
        if client in ("aiokafka", "kafka_python"):
            return {name.replace(".", "_"): value for name, value in config.items()}
        return config


def _login(client: str, mechanism: str, user: str, password: str) -> Mapping[str, object]:
    """Return the settings of a login."""
    config = {"sasl.mechanism": mechanism}
    if client == "trio_kafka":
        return config | {"sasl.jaas.config": login_line(mechanism, user, password)}
    prefix = "sasl" if client == "confluent_kafka" else "sasl.plain"
    return config | {f"{prefix}.username": user, f"{prefix}.password": password}


def _librdkafka(authority: "Identity", identity: "Identity | None") -> Mapping[str, object]:
    config = {"ssl.ca.pem": authority.pem}
    if identity is not None:
        config |= {"ssl.certificate.pem": identity.pem, "ssl.key.pem": identity.key_pem()}
    return config


def _python(authority: "Identity", identity: "Identity | None") -> Mapping[str, object]:
    context = ssl.create_default_context(cadata=authority.pem)
    if identity is not None:
        with secret_file(identity.key_pem() + identity.pem) as path:
            context.load_cert_chain(path)
    return {"ssl.context": context}


def _java(authority: "Identity", identity: "Identity | None") -> Mapping[str, object]:
    config = {"ssl.truststore.type": "PEM", "ssl.truststore.certificates": authority.pem}
    if identity is not None:
        config |= {
            "ssl.keystore.type": "PEM",
            "ssl.keystore.certificate.chain": identity.pem,
            "ssl.keystore.key": identity.key_pem(),
        }
    return config


_BY_CLIENT: Final[Mapping[str, Callable[["Identity", "Identity | None"], Mapping[str, object]]]] = {
    "confluent_kafka": _librdkafka,
    "aiokafka": _python,
    "kafka_python": _python,
    "trio_kafka": _java,
}


@cache
def _server() -> "tuple[Identity, Identity]":
    """Return the authority of this process, and the broker's certificate."""
    try:
        from trio_kafka.security.tls.development import (  # noqa: PLC0415 - of an extra
            LOCAL_HOSTS,
            Identity,
        )
    except ImportError:
        raise RuntimeError(
            f"tls=True makes certificates: {install_command('trio-kafka[tls]')}"
        ) from None
    now = datetime.now(UTC)
    authority = Identity.authority(now, "trio-kafka test kit")
    return authority, authority.issue(now, "broker", hosts=LOCAL_HOSTS)


@cache
def _client(user: str) -> "Identity":
    authority, _ = _server()
    return authority.issue(datetime.now(UTC), user)
