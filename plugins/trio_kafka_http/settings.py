"""Settings of the HTTP plane: listeners, token, limits."""

from typing import Final

from attrs import frozen

from trio_kafka.config.endpoints import parse_endpoint
from trio_kafka.config.setting import (
    ConfigError,
    Outside,
    boolean,
    int32,
    int64,
    password,
    string,
    string_list,
)
from trio_kafka.model import Endpoint
from trio_kafka.security.principal import ANONYMOUS, parse_principal
from trio_kafka_http.host_check import is_loopback

DEFAULT_LISTENERS: Final = ("http://127.0.0.1:0",)
_MEBIBYTE: Final = 1 << 20


@frozen
class HttpListener:
    """A listener. is_secured: its scheme is https."""

    endpoint: Endpoint
    is_secured: bool

    def url(self, address: Endpoint) -> str:
        """Return the address with the scheme."""
        return f"{'https' if self.is_secured else 'http'}://{address}"


def endpoints_of(listeners: tuple[str, ...]) -> list[Endpoint]:
    """Return the addresses of `listeners_of`."""
    return [listener.endpoint for listener in listeners_of(listeners)]


def listeners_of(listeners: tuple[str, ...]) -> list[HttpListener]:
    """Parse `http://host:port` and `https://host:port` listeners. Raises ValueError.

    An empty host means all addresses of the machine, port 0 a free port.
    """
    parsed = []
    for text in listeners:
        try:
            scheme, endpoint = parse_endpoint(text, "listeners")
        except ConfigError as error:
            raise ValueError(error.reason) from None
        if scheme not in ("HTTP", "HTTPS"):
            raise ValueError(f"{text!r}: want http:// or https://")
        parsed.append(HttpListener(endpoint, scheme == "HTTPS"))
    return parsed


def _check_token(token: str | None) -> None:
    # Characters that a header can carry (RFC 6750: b64token), so that encoding never matters.
    if token and not (token.isascii() and token.isprintable() and " " not in token):
        raise ValueError("want printable ASCII without spaces")


@frozen(kw_only=True)
class HttpSettings:
    """Settings of the plugin `http`. Its `deadline.ms` limits a request."""

    listeners: tuple[str, ...] = string_list(
        DEFAULT_LISTENERS,
        "Listeners as http://host:port or https://host:port. Port 0: a free port; empty: off.",
        check=endpoints_of,
        names=Outside.ADDRESS,
    )
    ssl_keystore_type: str = string("JKS", "Format of the key store: PEM or PKCS12.")
    ssl_keystore_location: str | None = string(
        None, "File of the private key and certificates of https listeners.", names=Outside.FILE
    )
    ssl_keystore_password: str | None = password(None, "Password of that file.")
    ssl_keystore_key: str | None = password(None, "The private key itself, in PEM.")
    ssl_keystore_certificate_chain: str | None = password(
        None, "The certificates themselves, in PEM."
    )
    ssl_key_password: str | None = password(None, "Password of the private key.")
    ssl_enabled_protocols: tuple[str, ...] = string_list(
        ("TLSv1.2", "TLSv1.3"), "Versions of TLS that are offered."
    )
    ssl_cipher_suites: tuple[str, ...] = string_list(
        (), "Cipher suites that are offered; empty: all that are safe."
    )
    token: str | None = password(
        None,
        "Token: clients send it as Bearer, browsers as a password. None: loopback listeners only.",
        check=_check_token,
    )
    principal: str = string(
        ANONYMOUS,
        "Principal of requests that carry the token, as type:name.",
        check=parse_principal,
    )
    anonymous_changes: bool = boolean(
        False, "Let requests of this machine change something without credentials."
    )
    session_idle_ms: int = int32(
        1_800_000, "Time after which an unused session of a login ends.", low=1000
    )
    session_max_ms: int = int32(43_200_000, "Time after which every session ends.", low=1000)
    max_sessions: int = int32(
        1000, "Most sessions; a session of the user with the most ends for another.", low=1
    )
    hosts: tuple[str, ...] = string_list((), "Host names accepted besides those of `listeners`.")
    max_body_bytes: int = int64(16 * _MEBIBYTE, "Largest body of a request.", low=0)
    max_header_bytes: int = int32(
        16 * 1024, "Largest head of a request, all headers together.", low=1024
    )
    max_connections: int = int32(
        512, "Most connections; further ones are answered 503 and closed.", low=1
    )
    idle_timeout_ms: int = int32(
        10_000, "Time in which a connection must send the head of its next request.", low=1
    )
    send_timeout_ms: int = int32(
        5_000, "Time after which a client that does not read its response is disconnected.", low=1
    )


def check_exposure(settings: HttpSettings) -> None:
    """Raise ConfigError if other machines could connect without a token, and without TLS."""
    for listener in listeners_of(settings.listeners):
        host = listener.endpoint.host
        if not settings.token and not listener.is_secured and not is_loopback(host):
            reason = f"must be set: {host or 'every address'} is reached from other machines"
            raise ConfigError("plugin.http.token", f"{reason} without TLS; or use https://")
