"""Rules of the listeners across settings.

Source: KafkaConfig.validateValues of Apache Kafka 4.4.0.
"""

from typing import Final

from trio_kafka.config.broker import BrokerConfig
from trio_kafka.config.listeners import check_early_start
from trio_kafka.config.sasl_listener import check_sasl
from trio_kafka.config.setting import ConfigError
from trio_kafka.config.values import Kind, parse

_EARLY: Final = "early.start.listeners"


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
