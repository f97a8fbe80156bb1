"""Settings of OAUTHBEARER: which tokens a listener accepts, and where the keys of their issuer are.

Tokens must be signed. A broker takes unsigned ones only with Kafka's class of that name, which is
Kafka's own default. Source: KIP-255, KIP-768, KIP-1258.
"""

from collections.abc import Callable
from typing import Final
from urllib.parse import urlsplit

from trio_kafka.attributes import frozen
from trio_kafka.config.setting import (
    ConfigError,
    boolean,
    int32,
    int64,
    setting,
    string,
    string_list,
)
from trio_kafka.config.trio_settings import TrioSettings
from trio_kafka.config.values import Kind, Value

_PACKAGE: Final = "org.apache.kafka.common.security.oauthbearer"
SIGNED: Final = f"{_PACKAGE}.OAuthBearerValidatorCallbackHandler"
UNSIGNED: Final = f"{_PACKAGE}.internals.unsecured.OAuthBearerUnsecuredValidatorCallbackHandler"
HANDLER: Final = "sasl.server.callback.handler.class"
AUDIENCE: Final = "sasl.oauthbearer.expected.audience"
ISSUER: Final = "sasl.oauthbearer.expected.issuer"
ANY_AUDIENCE: Final = "sasl.oauthbearer.allow.unverified.audience"
ANY_ISSUER: Final = "sasl.oauthbearer.allow.unverified.issuer"
SKEW: Final = "sasl.oauthbearer.clock.skew.seconds"
URL: Final = "sasl.oauthbearer.jwks.endpoint.url"
REFRESH: Final = "sasl.oauthbearer.jwks.endpoint.refresh.ms"
BACKOFF: Final = "sasl.oauthbearer.jwks.endpoint.retry.backoff.ms"
LONGEST_BACKOFF: Final = "sasl.oauthbearer.jwks.endpoint.retry.backoff.max.ms"
SUBJECT: Final = "sasl.oauthbearer.sub.claim.name"
OF_LISTENERS: Final = (
    HANDLER,
    AUDIENCE,
    ISSUER,
    ANY_AUDIENCE,
    ANY_ISSUER,
    SKEW,
    URL,
    REFRESH,
    BACKOFF,
    LONGEST_BACKOFF,
    SUBJECT,
)
"""Settings that a listener may have of its own."""
_SCHEMES: Final = ("file", "http", "https")


def _check_handler(name: str | None) -> None:
    if name not in (None, "", SIGNED, UNSIGNED):
        raise ValueError(
            f"{name!r} is a Java class, which this broker cannot run: want {SIGNED}, or {UNSIGNED}"
            " for tokens without a signature"
        )


def _check_url(url: str | None) -> None:
    if not url:
        return
    parts = urlsplit(url)
    if "@" in parts.netloc:  # the address is logged and shown, and keys need no login
        raise ValueError("the address holds a user or a password: want one without")
    if parts.scheme not in _SCHEMES:
        raise ValueError(f"{url!r} is no URL of https, http or file")


@frozen(kw_only=True, init=False, eq=False, repr=False)  # is never made alone
class OauthSettings(TrioSettings):
    """OAUTHBEARER settings of `BrokerConfig`."""

    sasl_server_callback_handler_class: str | None = setting(
        Kind.CLASS,
        None,
        "The class that answers SASL's questions for the broker.",
        check=_check_handler,
    )
    sasl_oauthbearer_expected_audience: tuple[str, ...] = string_list(
        (), "Audiences that are accepted."
    )
    sasl_oauthbearer_expected_issuer: str | None = string(None, "The issuer that is accepted.")
    sasl_oauthbearer_allow_unverified_audience: bool = boolean(
        False, "Tokens are taken without a check of their audience."
    )
    sasl_oauthbearer_allow_unverified_issuer: bool = boolean(
        False, "Tokens are taken without a check of their issuer."
    )
    sasl_oauthbearer_clock_skew_seconds: int = int32(30, "Tolerated difference of clocks.")
    sasl_oauthbearer_jwks_endpoint_url: str | None = string(
        None, "Address of the issuer's keys.", check=_check_url
    )
    sasl_oauthbearer_jwks_endpoint_refresh_ms: int = int64(
        3600000, "Interval between fetches of keys."
    )
    sasl_oauthbearer_jwks_endpoint_retry_backoff_ms: int = int64(
        100, "First pause before keys are asked for again."
    )
    sasl_oauthbearer_jwks_endpoint_retry_backoff_max_ms: int = int64(
        10000, "Longest pause before keys are asked for again."
    )
    sasl_oauthbearer_sub_claim_name: str = string("sub", "The claim that has the subject.")


@frozen(kw_only=True)
class TokenRules:
    """Which tokens a listener accepts.

    audiences: one of them; empty: any. issuer: None: any. skew_s: 0 for tokens without a signature,
        for which Kafka has an option of its own.
    url: of the keys; None: tokens are not signed. refresh_s, backoff_s, longest_backoff_s: of them.
    """

    audiences: tuple[str, ...]
    issuer: str | None
    skew_s: int
    subject: str
    url: str | None
    refresh_s: float
    backoff_s: float
    longest_backoff_s: float


def token_rules(value: Callable[[str], Value]) -> TokenRules:
    """Return the rules. value: returns that of a setting. Raises ConfigError."""
    is_signed = value(HANDLER) != UNSIGNED
    url, issuer, audiences = value(URL), value(ISSUER), value(AUDIENCE)
    if is_signed and not url:
        raise ConfigError(URL, f"is not set: OAUTHBEARER needs it, or {HANDLER}={UNSIGNED}")
    if is_signed and not audiences and not value(ANY_AUDIENCE):
        raise ConfigError(AUDIENCE, f"is not set: name your brokers, or set {ANY_AUDIENCE}=true")
    if is_signed and not issuer and not value(ANY_ISSUER):
        raise ConfigError(ISSUER, f"is not set: name the issuer, or set {ANY_ISSUER}=true")
    return TokenRules(
        audiences=audiences if isinstance(audiences, tuple) else (),
        issuer=str(issuer) if issuer else None,
        skew_s=int(str(value(SKEW))) if is_signed else 0,
        subject=str(value(SUBJECT)),
        url=str(url) if is_signed else None,
        refresh_s=int(str(value(REFRESH))) / 1000,
        backoff_s=int(str(value(BACKOFF))) / 1000,
        longest_backoff_s=int(str(value(LONGEST_BACKOFF))) / 1000,
    )
