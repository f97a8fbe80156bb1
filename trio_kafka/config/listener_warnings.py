"""Settings of listeners that have no effect, so that nobody relies on protection that is not there.

Kafka ignores them in silence. Source: KIP-103 for prefixes, KIP-684 for certificates of clients
beside SASL.
"""

import re
from collections.abc import Collection, Iterator
from typing import Final

from trio_kafka.config.broker import BrokerConfig
from trio_kafka.config.catalogue import base_of, why_without_effect
from trio_kafka.config.endpoints import NamedEndpoint, SecurityProtocol
from trio_kafka.config.listener_overrides import has_override, override_name
from trio_kafka.config.sasl_listener import OVER_SASL, sasl_of

_WITH_TLS: Final = tuple(protocol for protocol in SecurityProtocol if protocol.has_tls)
_CLIENT_AUTH: Final = "ssl.client.auth"
_REAUTHENTICATION: Final = "connections.max.reauth.ms"
_PREFIX: Final = re.compile(r"listener\.name\.(?P<listener>[^.]+)\.(?P<rest>.+)")


def listener_warnings(config: BrokerConfig) -> Iterator[tuple[str, str]]:
    """Yield the place and the text of each warning. config: without contradictions."""
    for name, text in config.texts.items():
        match = _PREFIX.fullmatch(name)
        if match is not None and why_without_effect(name) is None:
            reason = _why_ignored(config, name, match["listener"], match["rest"])
            if reason is not None:
                yield text.where, f"{name} has no effect: {reason}"
    yield from _unused(config, "TLS", "ssl.", _WITH_TLS)
    yield from _unused(config, "SASL", "sasl.", OVER_SASL)
    yield from _ignored_client_auth(config)


def _why_ignored(config: BrokerConfig, name: str, written: str, rest: str) -> str | None:
    """Return why a setting with a listener's prefix has no effect; None if it has one.

    written: the listener's name in the prefix. rest: what follows the prefix.
    """
    endpoints = config.endpoints
    by_name = {listener.name: listener for listener in endpoints.broker}
    if written != written.lower():
        own = override_name(written, rest)
        return f"names of listeners are in lower case there: want {own}"
    if written.upper() in [listener.name for listener in endpoints.controller]:
        return "the controller's listener is checked, and not opened yet"
    if written.upper() not in by_name:
        return f"there is no listener {written.upper()}: want one of {', '.join(by_name)}"
    return _why_unused(config, by_name[written.upper()], base_of(name), rest)


def _why_unused(config: BrokerConfig, listener: NamedEndpoint, base: str, rest: str) -> str | None:
    """Return why a listener that is open does not use a setting of its own; None if it does."""
    protocol = listener.protocol
    of_sasl = base.startswith("sasl.") or base == _REAUTHENTICATION
    if (base.startswith("ssl.") and not protocol.has_tls) or (
        of_sasl and protocol not in OVER_SASL
    ):
        return f"the protocol of {listener.name} is {protocol.name}"
    mechanism = rest.removesuffix(base).removesuffix(".")
    if mechanism:
        enabled = [each.name.lower() for each in sasl_of(config, listener.name).mechanisms]
        if mechanism not in enabled:
            return f"{listener.name} has no mechanism {mechanism}: want one of {', '.join(enabled)}"
    return None


def _unused(
    config: BrokerConfig, security: str, start: str, protocols: Collection[SecurityProtocol]
) -> Iterator[tuple[str, str]]:
    """Yield one warning about all settings that begin with `start`, if no listener uses them."""
    endpoints = config.endpoints
    if any(listener.protocol in protocols for listener in endpoints.broker):
        return
    reason = f"no listener has {security}"
    if any(listener.protocol in protocols for listener in endpoints.controller):
        reason = f"only the controller's listener has {security}, and it is not opened yet"
    names = [
        name for name in config.texts if name.startswith(start) and why_without_effect(name) is None
    ]
    if names:
        has = "has" if len(names) == 1 else "have"
        yield config.texts[names[0]].where, f"{', '.join(names)} {has} no effect: {reason}"


def _ignored_client_auth(config: BrokerConfig) -> Iterator[tuple[str, str]]:
    """Yield a warning for each listener that asks for no certificates though all should."""
    text = config.texts.get(_CLIENT_AUTH)
    if text is None or config.ssl_client_auth == "none":
        return
    for listener in config.endpoints.broker:
        if listener.protocol is SecurityProtocol.SASL_SSL and not has_override(
            config, listener.name, _CLIENT_AUTH
        ):
            own = override_name(listener.name, _CLIENT_AUTH)
            reason = f"its protocol is SASL_SSL: {own} asks for certificates there"
            yield text.where, f"{_CLIENT_AUTH} has no effect on {listener.name}: {reason}"
