"""Addresses of listeners and their protocols, from `NAME://HOST:PORT` and `NAME:PROTOCOL`.

Source: Apache Kafka 4.4.0.
"""

import re
from enum import Enum
from typing import Final

from trio_kafka.attributes import frozen
from trio_kafka.config.setting import ConfigError
from trio_kafka.model import Endpoint


class SecurityProtocol(Enum):
    """Security protocol of a listener, with Kafka's number."""

    PLAINTEXT = 0
    SSL = 1
    SASL_PLAINTEXT = 2
    SASL_SSL = 3

    @property
    def has_tls(self) -> bool:
        return self in (SecurityProtocol.SSL, SecurityProtocol.SASL_SSL)


@frozen(kw_only=True)
class NamedEndpoint:
    """Listener. An empty host: bind every address; advertise this machine's name."""

    name: str
    protocol: SecurityProtocol
    endpoint: Endpoint

    def __str__(self) -> str:
        return f"{self.name}://{self.endpoint}"


@frozen(kw_only=True)
class Listeners:
    """Listeners of a node. advertised: those of the broker, in the order of `broker`.

    An advertised port 0 stands for the port that the listener of this name was given. An advertised
    host that is empty stands for this machine's name. controller, advertised_controller: in the
    order of `controller.listener.names`. control: the listener with a plane of its own.
    """

    broker: tuple[NamedEndpoint, ...]
    controller: tuple[NamedEndpoint, ...]
    advertised: tuple[NamedEndpoint, ...]
    advertised_controller: tuple[NamedEndpoint, ...]
    inter_broker: str
    control: str | None = None


_ENDPOINT: Final = re.compile(
    r"(?P<name>[^:/]+)://(?:\[(?P<six>[0-9A-Fa-f:.%\w-]+)\]|(?P<host>[\w.%-]*)):(?P<port>[0-9]{1,5})",
    re.ASCII,
)
_SIX: Final = re.compile(r"[^/]+://[0-9A-Fa-f]*:[0-9A-Fa-f:.]*:[0-9]+")


def parse_endpoint(text: str, setting: str) -> tuple[str, Endpoint]:
    """Return name (upper case) and endpoint of `NAME://HOST:PORT`. Raises ConfigError."""
    match = _ENDPOINT.fullmatch(text)
    if match is None:
        hint = ": put the IPv6 address in brackets" if _SIX.fullmatch(text) else ""
        raise ConfigError(setting, f"{text!r} is not NAME://HOST:PORT{hint}")
    port = int(match["port"])
    if port > 65535:
        raise ConfigError(setting, f"{text!r}: port {port} is too large: want 0 to 65535")
    return match["name"].upper(), Endpoint(match["six"] or match["host"] or "", port)


def parse_protocol_map(text: str) -> dict[str, SecurityProtocol]:
    """Return the protocols of `NAME:PROTOCOL,...` by name in upper case. Raises ConfigError."""
    setting = "listener.security.protocol.map"
    protocols: dict[str, SecurityProtocol] = {}
    items = [item.strip() for item in text.split(",")]
    while items and not items[-1]:  # Kafka takes empty items at the end, and nowhere else
        items.pop()
    for item in items:
        name, colon, protocol = (part.strip().upper() for part in item.rpartition(":"))
        if not colon or not name:
            raise ConfigError(setting, f"{item!r} is not NAME:PROTOCOL")
        if protocol not in SecurityProtocol.__members__:
            names = ", ".join(SecurityProtocol.__members__)
            raise ConfigError(setting, f"{item!r}: the protocol is not one of {names}")
        if name in protocols:
            raise ConfigError(setting, f"{name} is named twice: remove one")
        protocols[name] = SecurityProtocol[protocol]
    return protocols
