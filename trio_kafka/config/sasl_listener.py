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
    """Raise ConfigError if a listener cannot authenticate its clients as the settings say."""
    for listener in config.endpoints.broker:
        if listener.protocol in OVER_SASL:
            sasl_of(config, listener.name)


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
