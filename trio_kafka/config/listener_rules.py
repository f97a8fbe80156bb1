"""Rules of the listeners across settings, and settings of listeners that have no effect.

Source: KafkaConfig.validateValues of Apache Kafka 4.4.0; KIP-684 for client certificates beside
SASL.
"""

import re
from collections.abc import Iterator
from typing import Final

from trio_kafka.config.broker import BrokerConfig
from trio_kafka.config.catalogue import why_without_effect
from trio_kafka.config.endpoints import SecurityProtocol
from trio_kafka.config.listener_overrides import has_override, override_name
from trio_kafka.config.listeners import check_early_start
from trio_kafka.config.sasl_listener import check_sasl
from trio_kafka.config.setting import ConfigError
from trio_kafka.config.values import Kind, parse

_EARLY: Final = "early.start.listeners"
_CLIENT_AUTH: Final = "ssl.client.auth"
_PREFIX: Final = re.compile(r"listener\.name\.(?P<name>[^.]+)\.")


def check_listeners(config: BrokerConfig) -> None:
    """Raise ConfigError for listeners that contradict each other or cannot be secured."""
    texts = config.texts
    if "inter.broker.listener.name" in texts and "security.inter.broker.protocol" in texts:
        reason = "inter.broker.listener.name is set too: remove one of them"
        raise ConfigError("security.inter.broker.protocol", reason)
    endpoints = config.endpoints  # raises for names, addresses and protocols
    if _EARLY in texts:
        names = parse(Kind.LIST, texts[_EARLY].text)
        check_early_start(names if isinstance(names, tuple) else (), endpoints)
    check_sasl(config)


def listener_warnings(config: BrokerConfig) -> Iterator[tuple[str, str]]:
    """Yield each setting of a listener that has no effect, as its place and the warning."""
    endpoints = config.endpoints
    served = [listener.name for listener in endpoints.broker]
    controllers = [listener.name for listener in endpoints.controller]
    for name, text in config.texts.items():
        match = _PREFIX.match(name)
        if match is None or why_without_effect(name) is not None:
            continue
        written, listener = match["name"], match["name"].upper()
        if written != written.lower():
            reason = (
                f"names of listeners are in lower case there: want"
                f" {override_name(listener, name[match.end() :])}"
            )
        elif listener in controllers:
            reason = "the controller's listener is checked, and not opened yet"
        elif listener not in served:
            reason = f"there is no listener {listener}: want one of {', '.join(served)}"
        else:
            continue
        yield text.where, f"{name} has no effect: {reason}"
    yield from _ignored_client_auth(config)


def _ignored_client_auth(config: BrokerConfig) -> Iterator[tuple[str, str]]:
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
