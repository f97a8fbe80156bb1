"""Claims of a token: its times, its audience, its issuer, its subject. Without a clock.

Source: RFC 7519 §4.1; BrokerJwtValidator of Apache Kafka 4.4.0.
"""

from collections.abc import Mapping
from math import isfinite

from trio_kafka.attributes import frozen
from trio_kafka.config.oauth import TokenRules


class InvalidTokenError(Exception):
    """A token that is not accepted. The text has no part of the token but names of claims."""


@frozen(kw_only=True)
class VerifiedToken:
    """User of a token, and the wall-clock time at which it ends, in ms."""

    principal: str
    expires_ms: int


def check_claims(claims: Mapping[str, object], rules: TokenRules, now_s: float) -> VerifiedToken:
    """Return whom a token is about. now_s: wall-clock time. Raises InvalidTokenError."""
    expires_s = claim_time(claims, "exp")
    if expires_s is None:
        raise InvalidTokenError("it has no claim exp")
    if now_s - rules.skew_s >= expires_s:
        raise InvalidTokenError("it has expired")
    if rules.url is None:
        _check_unsigned(claims, now_s)
    else:
        _check_signed(claims, rules, now_s)
    if rules.issuer is not None and claims.get("iss") != rules.issuer:
        raise InvalidTokenError("its claim iss is not the expected issuer")
    if rules.audiences and not _audiences(claims) & set(rules.audiences):
        raise InvalidTokenError("its claim aud has no expected audience")
    subject = claims.get(rules.subject)
    if not isinstance(subject, str) or not subject.strip():
        raise InvalidTokenError(f"it has no claim {rules.subject}")
    return VerifiedToken(principal=subject, expires_ms=int(expires_s * 1000))


def _check_signed(claims: Mapping[str, object], rules: TokenRules, now_s: float) -> None:
    """Check what Kafka checks of signed tokens only: `iat` must be there, and may lie ahead."""
    if claim_time(claims, "iat") is None:
        raise InvalidTokenError("it has no claim iat")
    begins_s = claim_time(claims, "nbf")
    if begins_s is not None and begins_s > now_s + rules.skew_s:
        raise InvalidTokenError("its claim nbf is in the future")


def _check_unsigned(claims: Mapping[str, object], now_s: float) -> None:
    """Check what Kafka checks of unsigned tokens only: `iat` if it is there, and never `nbf`."""
    issued_s = claim_time(claims, "iat")
    if issued_s is not None and issued_s > now_s:
        raise InvalidTokenError("its claim iat is in the future")
    if not isinstance(claims.get("scope"), str | list | None):
        raise InvalidTokenError("its claim scope is no text or list")


def claim_time(claims: Mapping[str, object], name: str) -> float | None:
    """Return a time in seconds, or None for a claim that is missing. Raises InvalidTokenError."""
    value = claims.get(name)
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise InvalidTokenError(f"its claim {name} is no number")
    if not 0 <= value < 1 << 40 or not isfinite(value):
        raise InvalidTokenError(f"its claim {name} is no time")
    return float(value)


def _audiences(claims: Mapping[str, object]) -> set[str]:
    value = claims.get("aud")
    texts = value if isinstance(value, list) else [value]
    return {text for text in texts if isinstance(text, str)}
