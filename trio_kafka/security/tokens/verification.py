"""Verification of a token: its signature by a key of the issuer, then its claims.

An algorithm is accepted only if it has a public key, so neither `none` nor a key that is used as a
shared secret passes. The signature is checked by PyJWT; times are checked here, by the caller's
clock. Source: RFC 7515, RFC 8725 §3.1.
"""

import base64
import binascii
from collections.abc import Callable, Mapping
from typing import Final

from trio_kafka.config.oauth import TokenRules
from trio_kafka.security.tokens.claims import InvalidTokenError, VerifiedToken, check_claims
from trio_kafka.security.tokens.keys import ALGORITHMS, IssuerKeys
from trio_kafka.strict_json import parse_json

LARGEST: Final = 64 << 10
"""Characters of a token; more would keep the loop busy."""
_LONGEST_ID: Final = 1000
_CLAIMS_ARE_CHECKED_HERE: Final = {
    "verify_aud": False,
    "verify_exp": False,
    "verify_iat": False,
    "verify_iss": False,
    "verify_jti": False,
    "verify_nbf": False,
    "verify_sub": False,
}
Verify = Callable[[str], VerifiedToken]


def signed_verifier(rules: TokenRules, keys: IssuerKeys, wall_s: Callable[[], float]) -> Verify:
    """Return the verification of signed tokens. wall_s: returns the wall-clock time."""

    def verify(token: str) -> VerifiedToken:
        _check_size(token)
        return check_claims(_signed_claims(token, keys), rules, wall_s())

    return verify


def unsigned_verifier(rules: TokenRules, wall_s: Callable[[], float]) -> Verify:
    """Return the verification of tokens that anyone can make, for tests."""

    def verify(token: str) -> VerifiedToken:
        _check_size(token)
        return check_claims(_unsigned_claims(token), rules, wall_s())

    return verify


def _check_size(token: str) -> None:
    if len(token) > LARGEST:
        raise InvalidTokenError(f"it has {len(token)} characters: want at most {LARGEST}")


def _signed_claims(token: str, keys: IssuerKeys) -> Mapping[str, object]:
    import jwt  # noqa: PLC0415 - few brokers need it

    try:
        header = jwt.get_unverified_header(token)
        key_id = header.get("kid")
        if header.get("alg") not in ALGORITHMS:
            raise InvalidTokenError("its algorithm has no public key")
        if key_id is not None and len(key_id) > _LONGEST_ID:
            raise InvalidTokenError("its key id is too long")
        key = keys.find(key_id)
        if key is None:
            raise InvalidTokenError("its key is not one of the issuer's")
        claims: Mapping[str, object] = jwt.decode(
            token,
            key,
            algorithms=list(ALGORITHMS),
            options=_CLAIMS_ARE_CHECKED_HERE,  # type: ignore[arg-type]  # a TypedDict
        )
    # Lists in one another; older releases of PyJWT let the error through.
    except (jwt.InvalidTokenError, RecursionError) as error:
        raise InvalidTokenError(f"{type(error).__name__}") from None
    return claims


def _unsigned_claims(token: str) -> Mapping[str, object]:
    try:
        head, body, signature = token.split(".")
        header, claims = parse_json(_decoded(head)), parse_json(_decoded(body))
    except ValueError:
        raise InvalidTokenError("it is no JWT") from None
    if not isinstance(header, dict) or not isinstance(claims, dict):
        raise InvalidTokenError("it is no JWT")
    if header.get("alg") != "none" or signature:
        raise InvalidTokenError("it is signed: want alg none, as only such tokens are expected")
    return claims


def _decoded(text: str) -> bytes:
    try:
        return base64.b64decode(text + "=" * (-len(text) % 4), altchars=b"-_", validate=True)
    except binascii.Error as error:
        raise ValueError(str(error)) from None
