"""Token that a client presents: its times and its subject, read without a check of its signature.

A client reads these to renew its token in time; only a broker can say whether it is valid.
Source: ClientJwtValidator of Apache Kafka 4.4.0; RFC 7515 §3, RFC 7519 §4.1.
"""

import base64
from collections.abc import Mapping
from typing import ClassVar, Final

from attrs import field

from trio_kafka.attributes import frozen
from trio_kafka.config.jaas import HIDDEN
from trio_kafka.config.sasl_names import OAUTHBEARER
from trio_kafka.security.tokens.claims import InvalidTokenError, claim_time
from trio_kafka.strict_json import parse_json

_PARTS: Final = 3
_NO_EXTENSIONS: Final[Mapping[str, str]] = {}


@frozen(kw_only=True)
class BearerToken:
    """A token, which no text shows, and what is sent with it.

    begins_s, expires_s: wall-clock times that it names. extensions: of SASL (KIP-342).
    """

    mechanism: ClassVar[str] = OAUTHBEARER
    text: str = field(repr=lambda _: HIDDEN)
    subject: str
    begins_s: float | None
    expires_s: float
    extensions: Mapping[str, str] = field(factory=dict, repr=lambda _: HIDDEN)


def read_token(
    text: str,
    *,
    extensions: Mapping[str, str] = _NO_EXTENSIONS,
    subject: str = "sub",
    scope: str = "scope",
    is_signed: bool = True,
) -> BearerToken:
    """Return a token with its times. Raises InvalidTokenError, which has no part of the token.

    subject, scope: names of claims. is_signed: whether an empty signature is an error.
    """
    text = text.strip()
    parts = text.split(".")
    if len(parts) != _PARTS or not all(parts if is_signed else parts[:2]):
        raise InvalidTokenError("it is no JWT: want header, payload and signature")
    if any(not "!" <= character <= "~" for character in text):
        raise InvalidTokenError("it is no JWT: it has characters that no header can carry")
    claims = _claims(parts[1])
    expires_s, begins_s = claim_time(claims, "exp"), claim_time(claims, "iat")
    if expires_s is None:
        raise InvalidTokenError("it has no claim exp")
    name = claims.get(subject)
    if not isinstance(name, str) or not name.strip():
        raise InvalidTokenError(f"it has no claim {subject}")
    _check_scopes(claims.get(scope), scope)
    return BearerToken(
        text=text,
        subject=name.strip(),
        begins_s=begins_s,
        expires_s=expires_s,
        extensions=extensions,
    )


def _claims(part: str) -> Mapping[str, object]:
    try:
        claims = parse_json(base64.urlsafe_b64decode(part + "=" * (-len(part) % 4)))
    except ValueError:
        claims = None
    if not isinstance(claims, dict):
        raise InvalidTokenError("it is no JWT: its payload is no JSON object")
    return claims


def _check_scopes(value: object, claim: str) -> None:
    scopes = value if isinstance(value, list) else [value] if isinstance(value, str) else []
    texts = [scope.strip() if isinstance(scope, str) else "" for scope in scopes]
    if not all(texts) or len(set(texts)) < len(texts):
        raise InvalidTokenError(f"its claim {claim} has an empty scope, or one twice")
