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

    The mechanism between brokers, if it is set, must be one of their listener. Kafka refuses its
    default, GSSAPI, in the same way; here no broker connects to another one yet.
    """
    endpoints = config.endpoints
    text = config.texts.get(BETWEEN_BROKERS)
    between = None if text is None else text.text.strip()
    for listener in endpoints.broker:
        if listener.protocol not in OVER_SASL:
            continue
        names = [each.name for each in sasl_of(config, listener.name).mechanisms]
        is_theirs = listener.name == endpoints.inter_broker
        if is_theirs and between is not None and between not in names:
            shown = ", ".join(names)
            reason = f"{between} is not enabled at {listener.name}, which brokers use: {shown}"
            raise ConfigError(BETWEEN_BROKERS, reason)


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
