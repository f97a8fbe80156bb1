"""What the HTTP plane is told: where it listens, who may ask, and how much at once."""

from typing import Final

from attrs import frozen

from trio_kafka.config.endpoints import parse_endpoint
from trio_kafka.config.setting import (
    ConfigError,
    Outside,
    int32,
    int64,
    password,
    string,
    texts,
)
from trio_kafka.model import Endpoint
from trio_kafka.security.principal import ANONYMOUS, parse_principal
from trio_kafka_http.authority import is_loopback

DEFAULT_LISTENERS: Final = ("http://127.0.0.1:0",)
_MEBIBYTE: Final = 1 << 20


def endpoints_of(listeners: tuple[str, ...]) -> list[Endpoint]:
    """The endpoints of `http://host:port`. Raises ValueError.

    An empty host is every address of the machine, port 0 a free one.
    """
    found = []
    for text in listeners:
        try:
            scheme, endpoint = parse_endpoint(text, "listeners")
        except ConfigError as error:
            raise ValueError(error.reason) from None
        if scheme != "HTTP":
            raise ValueError(f"{text!r}: only http is served: let a proxy speak TLS")
        found.append(endpoint)
    return found


def _check_token(token: str | None) -> None:
    # What a header can carry (RFC 6750: b64token), so that no client is refused for its encoding.
    if token and not (token.isascii() and token.isprintable() and " " not in token):
        raise ValueError("want printable ASCII without spaces")


@frozen(kw_only=True)
class HttpSettings:
    """Of the plugin `http`; `deadline.ms`, which every plugin has, is that of a request."""

    listeners: tuple[str, ...] = texts(
        DEFAULT_LISTENERS,
        "Where it listens, as http://host:port. Port 0: a free one; empty: the plane is off.",
        check=endpoints_of,
        names=Outside.ADDRESS,
    )
    token: str | None = password(
        None,
        "What clients send as Bearer, browsers as a password. Without it only loopback is served.",
        check=_check_token,
    )
    principal: str = string(
        ANONYMOUS,
        "The principal of requests that carry the token, as type:name.",
        check=parse_principal,
    )
    hosts: tuple[str, ...] = texts(
        (), "Names by which clients may call this machine, beside those of `listeners`."
    )
    max_body_bytes: int = int64(16 * _MEBIBYTE, "The largest body of a request.", low=0)
    max_header_bytes: int = int32(
        16 * 1024, "The largest head of a request, all its headers together.", low=1024
    )
    max_connections: int = int32(
        512, "Connections at once; those above it are answered with 503 and closed.", low=1
    )
    idle_timeout_ms: int = int32(
        10_000, "How long a connection may take to send the head of its next request.", low=1
    )
    send_timeout_ms: int = int32(
        5_000, "How long a client may take nothing of its answer before it is cut off.", low=1
    )


def check_exposure(settings: HttpSettings) -> None:
    """Raises ConfigError where others than this machine could ask without a token."""
    for endpoint in endpoints_of(settings.listeners):
        if not settings.token and not is_loopback(endpoint.host):
            shown = endpoint.host or "every address"
            reason = f"must be set: {shown} is reached from other machines"
            raise ConfigError("plugin.http.token", reason)
