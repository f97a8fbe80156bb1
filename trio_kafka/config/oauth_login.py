"""Settings of OAUTHBEARER at a client: where its token comes from, and when it is renewed.

Source: KIP-255, KIP-768, KIP-1139; names and defaults are those of Apache Kafka 4.4.0. Its client
waits for an endpoint without a limit by default; ours does not.
"""

from collections.abc import Callable
from typing import Final
from urllib.parse import urlsplit

from trio_kafka.attributes import frozen
from trio_kafka.config.setting import (
    boolean,
    double,
    int16,
    int32,
    int64,
    password,
    setting,
    string,
)
from trio_kafka.config.tls import TlsCommonSettings
from trio_kafka.config.values import Kind

_PACKAGE: Final = "org.apache.kafka.common.security.oauthbearer"
UNSECURED: Final = f"{_PACKAGE}.internals.unsecured.OAuthBearerUnsecuredLoginCallbackHandler"
HANDLERS: Final = (
    f"{_PACKAGE}.OAuthBearerLoginCallbackHandler",
    f"{_PACKAGE}.secured.OAuthBearerLoginCallbackHandler",
)
"""Kafka's classes that fetch tokens: the name of today, and that of before 4.0."""
HANDLER: Final = "sasl.login.callback.handler.class"
URL: Final = "sasl.oauthbearer.token.endpoint.url"
CLIENT_ID: Final = "sasl.oauthbearer.client.credentials.client.id"
CLIENT_SECRET: Final = "sasl.oauthbearer.client.credentials.client.secret"  # noqa: S105 - a name
SCOPE: Final = "sasl.oauthbearer.scope"
URLENCODE: Final = "sasl.oauthbearer.header.urlencode"
CONNECT: Final = "sasl.login.connect.timeout.ms"
READ: Final = "sasl.login.read.timeout.ms"
BACKOFF: Final = "sasl.login.retry.backoff.ms"
LONGEST_BACKOFF: Final = "sasl.login.retry.backoff.max.ms"
SCOPE_CLAIM: Final = "sasl.oauthbearer.scope.claim.name"
SUBJECT_CLAIM: Final = "sasl.oauthbearer.sub.claim.name"
SCHEMES: Final = ("https", "http", "file")
_RETRIEVERS: Final = tuple(
    f"{_PACKAGE}.{name}"
    for name in ("DefaultJwtRetriever", "ClientCredentialsJwtRetriever", "FileJwtRetriever")
)
_VALIDATORS: Final = tuple(
    f"{_PACKAGE}.{name}" for name in ("DefaultJwtValidator", "ClientJwtValidator")
)


def check_url(url: str | None) -> None:
    """Raise ValueError for a URL that no token can be read from."""
    if not url:
        return
    if any(character <= " " for character in url):
        raise ValueError("a URL has no blanks and no control characters")
    parts = urlsplit(url)
    parts.port  # noqa: B018 - raises for a port that is none
    if parts.scheme.lower() not in SCHEMES:
        raise ValueError("want a URL of https, http or file")
    if parts.username is not None or parts.password is not None:
        raise ValueError(f"a URL has no user and password: set {CLIENT_ID}")
    if parts.scheme.lower() != "file" and not parts.hostname:
        raise ValueError("the URL names no host")
    if parts.scheme.lower() == "file" and (parts.hostname not in (None, "localhost")):
        raise ValueError("a file is of this machine: want file:///PATH")
    if parts.scheme.lower() == "file" and not parts.path:
        raise ValueError("the URL names no file")


def check_handler(name: str | None) -> None:
    """Raise ValueError for a login class that is not one of Kafka's own."""
    _check_class(name, (*HANDLERS, UNSECURED), f"options of the login line, and {URL}")


def _check_class(name: str | None, classes: tuple[str, ...], instead: str) -> None:
    if name and name not in classes:
        reason = f"{name!r} is a Java class, which cannot run here: use {instead}, or one of"
        raise ValueError(f"{reason} {', '.join(classes)}")


def _class_of(classes: tuple[str, ...], instead: str) -> Callable[[str | None], None]:
    return lambda name: _check_class(name, classes, instead)


@frozen(kw_only=True, init=False, eq=False, repr=False)  # is never made alone
class OauthLoginSettings(TlsCommonSettings):
    """OAUTHBEARER settings of clients."""

    sasl_login_callback_handler_class: str | None = setting(
        Kind.CLASS, None, "The class that gets a client's token.", check=check_handler
    )
    sasl_login_connect_timeout_ms: int | None = int32(
        None, "Longest wait for a connection to the token endpoint."
    )
    sasl_login_read_timeout_ms: int | None = int32(
        None, "Longest wait for the answer of the token endpoint."
    )
    sasl_login_refresh_buffer_seconds: int = int16(
        300, "Time before its end at which a token is renewed at the latest.", low=0, high=3600
    )
    sasl_login_refresh_min_period_seconds: int = int16(
        60, "Least time between two renewals of a token.", low=0, high=900
    )
    sasl_login_refresh_window_factor: float = double(
        0.8, "Share of its life after which a token is renewed.", low=0.5, high=1.0
    )
    sasl_login_refresh_window_jitter: float = double(
        0.05, "Largest random share that is added to it.", low=0.0, high=0.25
    )
    sasl_login_retry_backoff_ms: int = int64(100, "First pause before a token is asked for again.")
    sasl_login_retry_backoff_max_ms: int = int64(
        10000, "Time after which a failed token request is not repeated."
    )
    sasl_oauthbearer_client_credentials_client_id: str | None = string(
        None, "Name of the client at the token endpoint."
    )
    sasl_oauthbearer_client_credentials_client_secret: str | None = password(
        None, "Password of the client at the token endpoint."
    )
    sasl_oauthbearer_header_urlencode: bool = boolean(
        False, "Name and password are URL-encoded before they are sent, as RFC 6749 demands."
    )
    sasl_oauthbearer_jwt_retriever_class: str = setting(
        Kind.CLASS,
        _RETRIEVERS[0],
        "The class that reads a token; the URL decides here.",
        check=_class_of(_RETRIEVERS, URL),
    )
    sasl_oauthbearer_jwt_validator_class: str = setting(
        Kind.CLASS,
        _VALIDATORS[0],
        "The class that looks at a token before it is sent.",
        check=_class_of(_VALIDATORS, "the broker's check of tokens"),
    )
    sasl_oauthbearer_scope: str | None = string(None, "Scope that is asked for.")
    sasl_oauthbearer_scope_claim_name: str = string(
        "scope", "The claim that has the scopes.", not_empty=True
    )
    sasl_oauthbearer_sub_claim_name: str = string(
        "sub", "The claim that has the subject.", not_empty=True
    )
    sasl_oauthbearer_token_endpoint_url: str | None = string(
        None, "Where tokens come from: an endpoint, or a file.", check=check_url
    )
