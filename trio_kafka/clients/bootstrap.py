"""Addresses of `bootstrap.servers`. Sans-IO; a name is looked up when it is connected to."""

from collections.abc import Sequence
from typing import Final

from trio_kafka.config.setting import ConfigError
from trio_kafka.model import Endpoint

_NAME: Final = "bootstrap.servers"
_HIGHEST_PORT: Final = 65535


def parse_bootstrap(texts: Sequence[str]) -> tuple[Endpoint, ...]:
    """Return the addresses of texts such as `host:9092` and `[::1]:9092`, each once.

    A protocol before the address, such as `PLAINTEXT://`, is ignored, as in Kafka.
    Raises ConfigError, which says what is wrong with which address.
    """
    endpoints = tuple(dict.fromkeys(map(_endpoint, texts)))
    if not endpoints:
        raise ConfigError(_NAME, "is empty: want host:port")
    return endpoints


def _endpoint(text: str) -> Endpoint:
    address = text.strip().rpartition("://")[2]
    host, colon, port = address.rpartition(":")
    if not colon or not host:
        raise ConfigError(_NAME, f"{text!r}: want host:port")
    if host[0] == "[" and host[-1] == "]":
        host = host[1:-1]
    elif ":" in host:
        raise ConfigError(_NAME, f"{text!r}: want an IPv6 address in brackets, [address]:port")
    if not (port.isascii() and port.isdecimal() and 0 < int(port) <= _HIGHEST_PORT):
        raise ConfigError(_NAME, f"{text!r}: want a port from 1 to {_HIGHEST_PORT}")
    if not host:
        raise ConfigError(_NAME, f"{text!r}: want host:port")
    return Endpoint(host, int(port))
