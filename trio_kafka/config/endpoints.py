"""Listeners: from `NAME://HOST:PORT` to names, protocols and endpoints, or an error.

Source: Apache Kafka 4.4.0; one
port with an IPv4 and an IPv6 address is KIP-797.
"""

import re
from collections.abc import Iterable, Sequence
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

    An advertised port 0 stands for the port that the listener of this name was given. control: the
    listener with a plane of its own.
    """

    broker: tuple[NamedEndpoint, ...]
    controller: tuple[NamedEndpoint, ...]
    advertised: tuple[NamedEndpoint, ...]
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
    for item in filter(None, map(str.strip, text.split(","))):
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


def resolve_listeners(
    *,
    listeners: Sequence[str],
    advertised: Sequence[str] | None,
    protocol_map: str,
    map_is_given: bool,
    controller_names: Sequence[str],
    inter_broker_name: str | None,
    inter_broker_protocol: str,
    control_plane_name: str | None = None,
) -> Listeners:
    """Return the listeners of a node that is broker and controller. Raises ConfigError.

    map_is_given: whether `listener.security.protocol.map` is set. If not, a controller listener
    without a protocol is PLAINTEXT, unless a name asks for SSL or SASL.
    controller_names: may be empty: the controller is then reached in process only.
    """
    controllers = [name.upper() for name in controller_names]
    bound = [parse_endpoint(text, "listeners") for text in listeners]
    protocols = parse_protocol_map(protocol_map)
    if not map_is_given and not any(_is_secured(name) for name, _ in bound):
        protocols = dict.fromkeys(controllers, SecurityProtocol.PLAINTEXT) | protocols
    named = _named(bound, protocols, "listeners")
    _reject_shared_ports(named, "listeners")
    for name in controllers:
        if not any(listener.name == name for listener in named):
            reason = f"{name} is not one of listeners: {_names(named)}"
            raise ConfigError("controller.listener.names", reason)
    broker = tuple(listener for listener in named if listener.name not in controllers)
    if not broker:
        reason = "all belong to the controller: add one for clients"
        raise ConfigError("listeners", reason)
    advertised_endpoints = _advertised(
        advertised, broker, controllers=controllers, protocols=protocols
    )
    controller = tuple(listener for listener in named if listener.name in controllers)
    _check_controllers(advertised, controller, controllers=controllers, protocols=protocols)
    inter_broker = _inter_broker(advertised_endpoints, inter_broker_name, inter_broker_protocol)
    return Listeners(
        broker=broker,
        controller=controller,
        advertised=advertised_endpoints,
        inter_broker=inter_broker,
        control=_control(control_plane_name, advertised_endpoints, inter_broker),
    )


def _named(
    bound: Iterable[tuple[str, Endpoint]], protocols: dict[str, SecurityProtocol], setting: str
) -> list[NamedEndpoint]:
    named = []
    for name, endpoint in bound:
        if name not in protocols:
            reason = (
                f"{name} has no protocol: add {name}:PLAINTEXT to listener.security.protocol.map"
            )
            raise ConfigError(setting, reason)
        named.append(NamedEndpoint(name=name, protocol=protocols[name], endpoint=endpoint))
    return named


def _reject_shared_ports(named: Sequence[NamedEndpoint], setting: str) -> None:
    """Reject a repeated name, and a shared port except by one IPv4 and one IPv6 address."""
    if not named:
        raise ConfigError(setting, "must not be empty")
    for position, later in enumerate(named):
        for earlier in named[:position]:
            if earlier.name == later.name:
                raise ConfigError(setting, f"{later.name} is named twice: remove one")
            if earlier.endpoint.port == later.endpoint.port != 0 and not _two_families(
                earlier.endpoint.host, later.endpoint.host
            ):
                reason = f"{earlier} and {later} have the same port: change one"
                raise ConfigError(setting, reason)


def _advertised(
    texts: Sequence[str] | None,
    broker: Sequence[NamedEndpoint],
    *,
    controllers: Sequence[str],
    protocols: dict[str, SecurityProtocol],
) -> tuple[NamedEndpoint, ...]:
    setting = "advertised.listeners"
    if texts is None:
        named = {listener.name: listener for listener in broker}
        setting = "listeners"
    else:
        parsed = [parse_endpoint(text, setting) for text in texts]
        if len({name for name, _ in parsed}) < len(parsed):
            raise ConfigError(setting, "a listener is named twice: remove one")
        of_broker = [(name, endpoint) for name, endpoint in parsed if name not in controllers]
        named = {listener.name: listener for listener in _named(of_broker, protocols, setting)}
    unknown = named.keys() - {listener.name for listener in broker}
    if unknown:
        reason = f"{min(unknown)} is not one of listeners: {_names(broker)}"
        raise ConfigError(setting, reason)
    _reject_any_address(named.values(), setting)
    return tuple(named[listener.name] for listener in broker if listener.name in named)


def _check_controllers(
    texts: Sequence[str] | None,
    bound: Sequence[NamedEndpoint],
    *,
    controllers: Sequence[str],
    protocols: dict[str, SecurityProtocol],
) -> None:
    """Check that clients can connect to the advertised controller listeners."""
    setting = "advertised.listeners"
    parsed = [parse_endpoint(text, setting) for text in texts or ()]
    advertised = [(name, endpoint) for name, endpoint in parsed if name in controllers]
    _reject_any_address(_named(advertised, protocols, setting), setting)
    names = {name for name, _ in advertised}
    _reject_any_address([listener for listener in bound if listener.name not in names], "listeners")


def _reject_any_address(advertised: Iterable[NamedEndpoint], setting: str) -> None:
    for listener in advertised:
        if listener.endpoint.host == "0.0.0.0":  # noqa: S104 - rejected here, not bound
            reason = f"{listener}: clients cannot connect to this address: set advertised.listeners"
            raise ConfigError(setting, reason)


def _inter_broker(advertised: Sequence[NamedEndpoint], name: str | None, protocol: str) -> str:
    if name is not None:
        if not any(listener.name == name.upper() for listener in advertised):
            reason = f"{name} is not one of the advertised listeners: {_names(advertised)}"
            raise ConfigError("inter.broker.listener.name", reason)
        return name.upper()
    for listener in advertised:
        if listener.protocol.name == protocol == listener.name:
            return listener.name
    reason = f"no advertised listener is called {protocol}: set inter.broker.listener.name"
    raise ConfigError("security.inter.broker.protocol", reason)


def _control(
    name: str | None, advertised: Sequence[NamedEndpoint], inter_broker: str
) -> str | None:
    """Check the control plane listener by Kafka's rules until 3.9 (KIP-291)."""
    if not name:
        return None
    setting, control = "control.plane.listener.name", name.upper()
    names = [listener.name for listener in advertised]
    if control not in names:
        reason = f"{name} is not one of the advertised listeners: {_names(advertised)}"
        raise ConfigError(setting, reason)
    if control == inter_broker:
        reason = f"{name} is the listener that brokers use: choose another one"
        raise ConfigError(setting, reason)
    return control


def _names(listeners: Iterable[NamedEndpoint]) -> str:
    return ", ".join(listener.name for listener in listeners)


def _two_families(first: str, second: str) -> bool:
    """Return whether one address is IPv4 and the other IPv6; names and empty hosts are neither."""
    four = [re.fullmatch(r"[0-9.]+", host) is not None for host in (first, second)]
    six = [":" in host for host in (first, second)]
    return (four[0] and six[1]) or (six[0] and four[1])


def _is_secured(name: str) -> bool:
    return "SSL" in name or "SASL" in name
