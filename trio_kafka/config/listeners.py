"""Listeners of a node, from the settings that name them, or an error that names the culprit.

Names of `listeners`, `advertised.listeners`, `inter.broker.listener.name` and
`listener.security.protocol.map` are read in any case; those of `controller.listener.names` and
`early.start.listeners` must be in upper case. Source: KafkaConfig and AbstractKafkaConfig of Apache
Kafka 4.4.0; one port with an IPv4 and an IPv6 address is KIP-797.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Final

from attrs import evolve

from trio_kafka.config.endpoints import (
    Listeners,
    NamedEndpoint,
    SecurityProtocol,
    parse_endpoint,
    parse_protocol_map,
)
from trio_kafka.config.setting import ConfigError
from trio_kafka.model import Endpoint

_ADVERTISED: Final = "advertised.listeners"
_ANY_ADDRESS: Final = "0.0.0.0"  # noqa: S104 - is compared, not bound
_OCTET: Final = r"(?:25[0-5]|2[0-4][0-9]|1?[0-9]?[0-9])"
_FOUR: Final = re.compile(rf"{_OCTET}(?:\.{_OCTET}){{3}}")


def resolve_listeners(
    *,
    listeners: Sequence[str],
    advertised: Sequence[str] | None,
    protocol_map: str,
    map_is_given: bool,
    controller_names: Sequence[str],
    inter_broker_name: str | None,
    inter_broker_protocol: str,
    voter: Endpoint | None = None,
) -> Listeners:
    """Return the listeners of a node that is broker and controller. Raises ConfigError.

    map_is_given: whether `listener.security.protocol.map` is set. If not, a controller listener
    without a protocol is PLAINTEXT, unless a listener is called SSL, SASL_SSL or SASL_PLAINTEXT.
    controller_names: may be empty: the controller is then reached in process only.
    voter: the address of this node in `controller.quorum.voters`.
    """
    bound = [parse_endpoint(text, "listeners") for text in listeners]
    for name in controller_names:
        _check_name("controller.listener.names", name, [name for name, _ in bound])
    protocols = parse_protocol_map(protocol_map)
    if not map_is_given and not any(_is_secured(name) for name, _ in bound):
        protocols = dict.fromkeys(controller_names, SecurityProtocol.PLAINTEXT) | protocols
    named = _named(bound, protocols, "listeners")
    _reject_shared_ports(named, "listeners")
    broker = tuple(listener for listener in named if listener.name not in controller_names)
    if not broker:
        reason = "all belong to the controller: add one for clients"
        raise ConfigError("listeners", reason)
    written = _written(advertised, protocols)
    of_broker = _advertised(written, broker, controllers=controller_names)
    by_name = {listener.name: listener for listener in named}
    controller = [by_name[name] for name in controller_names]
    return Listeners(
        broker=broker,
        controller=tuple(controller),
        advertised=of_broker,
        advertised_controller=_advertised_controllers(written or (), controller, voter),
        inter_broker=_inter_broker(
            of_broker, inter_broker_name, inter_broker_protocol, controllers=controller_names
        ),
    )


def check_early_start(names: Sequence[str], listeners: Listeners) -> None:
    """Raise ConfigError for a name in `early.start.listeners` that no listener has."""
    setting, served = "early.start.listeners", (*listeners.broker, *listeners.controller)
    for name in filter(None, names):
        _check_name(setting, name, [listener.name for listener in served])


def with_control_plane(listeners: Listeners, name: str) -> Listeners:
    """Return the listeners, one of which has a plane of its own, by Kafka's rules until 3.9.

    Source: KIP-291. Raises ConfigError.
    """
    setting, control = "control.plane.listener.name", name.upper()
    if control not in [listener.name for listener in listeners.advertised]:
        reason = f"{name} is not one of the advertised listeners: {_names(listeners.advertised)}"
        raise ConfigError(setting, reason)
    if control == listeners.inter_broker:
        reason = f"{name} is the listener that brokers use: choose another one"
        raise ConfigError(setting, reason)
    return evolve(listeners, control=control)


def _check_name(setting: str, name: str, names: Sequence[str]) -> None:
    """Check a name that Kafka compares as it is written, while those of listeners are raised."""
    if name not in names:
        hint = f": write {name.upper()}" if name.upper() in names else ""
        raise ConfigError(setting, f"{name} is not one of listeners: {', '.join(names)}{hint}")


def _named(
    bound: Iterable[tuple[str, Endpoint]], protocols: Mapping[str, SecurityProtocol], setting: str
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


def _written(
    texts: Sequence[str] | None, protocols: Mapping[str, SecurityProtocol]
) -> list[NamedEndpoint] | None:
    """Return what `advertised.listeners` has; None if it is not set."""
    if texts is None:
        return None
    parsed = [parse_endpoint(text, _ADVERTISED) for text in texts]
    if len({name for name, _ in parsed}) < len(parsed):
        raise ConfigError(_ADVERTISED, "a listener is named twice: remove one")
    return _named(parsed, protocols, _ADVERTISED)


def _advertised(
    written: Sequence[NamedEndpoint] | None,
    broker: Sequence[NamedEndpoint],
    *,
    controllers: Sequence[str],
) -> tuple[NamedEndpoint, ...]:
    """Return the advertised listeners of the broker, in the order of `broker`."""
    setting = "listeners" if written is None else _ADVERTISED
    named = {
        listener.name: listener
        for listener in (broker if written is None else written)
        if listener.name not in controllers
    }
    if not named:
        raise ConfigError(setting, "all belong to the controller: add one for clients")
    unknown = named.keys() - {listener.name for listener in broker}
    if unknown:
        reason = f"{min(unknown)} is not one of listeners: {_names(broker)}"
        raise ConfigError(setting, reason)
    _reject_any_address(named.values(), setting)
    return tuple(named[listener.name] for listener in broker if listener.name in named)


def _advertised_controllers(
    written: Sequence[NamedEndpoint], bound: Sequence[NamedEndpoint], voter: Endpoint | None
) -> tuple[NamedEndpoint, ...]:
    """Return the addresses at which other nodes find the controller.

    The first one that is bound to every address and not advertised is that of the voter.
    """
    by_name = {listener.name: listener for listener in written}
    advertised = []
    for listener in bound:
        endpoint = listener.endpoint
        if listener.name in by_name:
            endpoint = by_name[listener.name].endpoint
        elif endpoint.host in ("", _ANY_ADDRESS):
            is_first = listener is bound[0]
            endpoint = voter if is_first and voter is not None else Endpoint("", endpoint.port)
        advertised.append(
            NamedEndpoint(name=listener.name, protocol=listener.protocol, endpoint=endpoint)
        )
    _reject_any_address(advertised, _ADVERTISED)
    return tuple(advertised)


def _reject_any_address(advertised: Iterable[NamedEndpoint], setting: str) -> None:
    for listener in advertised:
        if listener.endpoint.host == _ANY_ADDRESS:
            reason = f"{listener}: clients cannot connect to this address: set advertised.listeners"
            raise ConfigError(setting, reason)


def _inter_broker(
    advertised: Sequence[NamedEndpoint],
    name: str | None,
    protocol: str,
    *,
    controllers: Sequence[str],
) -> str:
    names = [listener.name for listener in advertised]
    if name is not None:
        setting = "inter.broker.listener.name"
        if name.upper() in controllers:
            reason = f"{name} belongs to the controller: want one of {', '.join(names)}"
            raise ConfigError(setting, reason)
        if name.upper() not in names:
            reason = f"{name} is not one of the advertised listeners: {', '.join(names)}"
            raise ConfigError(setting, reason)
        return name.upper()
    setting = "security.inter.broker.protocol"
    for listener in advertised:
        if listener.name == protocol:
            if listener.protocol.name == protocol:
                return listener.name
            reason = (
                f"the listener {protocol} has the protocol {listener.protocol.name}: set"
                " inter.broker.listener.name instead"
            )
            raise ConfigError(setting, reason)
    reason = f"no advertised listener is called {protocol}: set inter.broker.listener.name"
    raise ConfigError(setting, reason)


def _names(listeners: Iterable[NamedEndpoint]) -> str:
    return ", ".join(listener.name for listener in listeners)


def _two_families(first: str, second: str) -> bool:
    """Return whether one address is IPv4 and the other IPv6; names and empty hosts are neither."""
    four = [_FOUR.fullmatch(host) is not None for host in (first, second)]
    six = [":" in host for host in (first, second)]
    return (four[0] and six[1]) or (six[0] and four[1])


def _is_secured(name: str) -> bool:
    return name in ("SSL", "SASL_SSL", "SASL_PLAINTEXT")
