"""SASL of one listener, from its settings, or an error that names the setting."""

from typing import Final

from trio_kafka.config.broker import BrokerConfig
from trio_kafka.config.endpoints import SecurityProtocol
from trio_kafka.config.jaas import JaasError, parse_jaas
from trio_kafka.config.listener_overrides import (
    has_override,
    mechanism_value_for,
    override_name,
    value_for,
)
from trio_kafka.config.oauth import token_rules
from trio_kafka.config.sasl import (
    ENABLED,
    JAAS,
    LARGEST,
    LONGEST_SESSION,
    SaslListener,
    SaslMechanism,
    unserved,
    users_of,
)
from trio_kafka.config.sasl_names import MODULES, OAUTHBEARER, PLAIN
from trio_kafka.config.setting import ConfigError

BETWEEN_BROKERS: Final = "sasl.mechanism.inter.broker.protocol"
TO_CONTROLLERS: Final = "sasl.mechanism.controller.protocol"
OVER_SASL: Final = frozenset((SecurityProtocol.SASL_PLAINTEXT, SecurityProtocol.SASL_SSL))


def sasl_of(config: BrokerConfig, listener: str) -> SaslListener:
    """Return SASL of a listener. Raises ConfigError, which shows no secret."""
    enabled = value_for(config, listener, ENABLED)
    names = enabled if isinstance(enabled, tuple) else ()
    reason = unserved(names) or (None if names else f"is empty: listener {listener} needs one")
    if reason is not None:
        own = has_override(config, listener, ENABLED)
        raise ConfigError(override_name(listener, ENABLED) if own else ENABLED, reason)
    return SaslListener(
        mechanisms=tuple(_mechanism(config, listener, name) for name in names),
        largest=int(str(value_for(config, listener, LARGEST))),
    )


def check_sasl(config: BrokerConfig) -> None:
    """Raise ConfigError if a listener cannot authenticate its clients as the settings say.

    A mechanism between brokers, or of brokers to controllers, must be one of their listener if it
    is set. Kafka refuses its default, GSSAPI, in the same way; here no broker connects to another
    one yet. Brokers use the first listener of the controller, which is checked and not opened.
    """
    endpoints = config.endpoints
    chosen = {endpoints.inter_broker: BETWEEN_BROKERS}
    chosen |= {listener.name: TO_CONTROLLERS for listener in endpoints.controller[:1]}
    for listener in (*endpoints.broker, *endpoints.controller):
        if listener.protocol not in OVER_SASL:
            continue
        enabled = [mechanism.name for mechanism in sasl_of(config, listener.name).mechanisms]
        text = config.texts.get(chosen.get(listener.name, ""))
        if text is not None and text.text.strip() not in enabled:
            reason = (
                f"{text.text.strip()} is not enabled at {listener.name}, which brokers use:"
                f" {', '.join(enabled)}"
            )
            raise ConfigError(chosen[listener.name], reason)


def _mechanism(config: BrokerConfig, listener: str, name: str) -> SaslMechanism:
    longest_ms = mechanism_value_for(config, listener, name, LONGEST_SESSION)[1]
    setting, line = mechanism_value_for(config, listener, name, JAAS)
    passwords: dict[str, str] = {}
    if name == PLAIN:
        missing = override_name(listener, f"plain.{JAAS}")
        module = MODULES[PLAIN]
        if line is None:
            raise ConfigError(
                missing, f'is not set: want {module} required user_NAME="PASSWORD" ...;'
            )
        try:
            login = parse_jaas(str(line))
        except JaasError as error:
            raise ConfigError(setting, str(error)) from None
        if login.module != module:
            raise ConfigError(setting, f"names {login.module}: PLAIN needs {module}")
        passwords = users_of(login)
    tokens = None
    if name == OAUTHBEARER:
        tokens = token_rules(lambda of: mechanism_value_for(config, listener, name, of)[1])
    return SaslMechanism(
        name=name, passwords=passwords, tokens=tokens, longest_session_ms=int(str(longest_ms))
    )
