"""Tokens without a signature: what Kafka's default login makes, for tests. They prove nothing.

Source: RFC 7515 §A.5; KIP-255 and OAuthBearerUnsecuredLoginCallbackHandler of Apache Kafka 4.4.0.
"""

import base64
import json
from collections.abc import Mapping
from math import isfinite
from typing import Final

from trio_kafka.config.jaas import JaasError

PREFIX: Final = "unsecuredLogin"
EXTENSION: Final = f"{PREFIX}Extension_"
_STRING: Final = f"{PREFIX}StringClaim_"
_NUMBER: Final = f"{PREFIX}NumberClaim_"
_LIST: Final = f"{PREFIX}ListClaim_"
_PRINCIPAL: Final = f"{PREFIX}PrincipalClaimName"
_SCOPE: Final = f"{PREFIX}ScopeClaimName"
_LIFETIME: Final = f"{PREFIX}LifetimeSeconds"
_LIFETIME_S: Final = "3600"
_RESERVED: Final = ("iat", "exp")


def subject_claim(options: Mapping[str, str]) -> str:
    """Return the name of the claim that has the principal."""
    return options.get(_PRINCIPAL, "").strip() or "sub"


def scope_claim(options: Mapping[str, str]) -> str:
    """Return the name of the claim that has the scopes."""
    return options.get(_SCOPE, "").strip() or "scope"


def unsecured_token(options: Mapping[str, str], now_s: float) -> str:
    """Return a token of the claims that the options of a login line name.

    now_s: wall-clock time. Raises JaasError, which shows no value.
    """
    claims: dict[str, object] = {}
    for key, value in options.items():
        if key.startswith(_STRING):
            claims[_name(key, _STRING)] = value
        elif key.startswith(_NUMBER):
            claims[_name(key, _NUMBER)] = _number(key, value)
        elif key.startswith(_LIST):
            claims[_name(key, _LIST)] = value[1:].split(value[0]) if len(value) > 1 else []
    subject = subject_claim(options)
    if not str(claims.get(subject, "")).strip():
        raise JaasError(f'names no principal: want {_STRING}{subject}="NAME"')
    lifetime_s = _number(_LIFETIME, options.get(_LIFETIME, _LIFETIME_S))
    claims |= {"iat": round(now_s, 3), "exp": round(now_s + lifetime_s, 3)}
    parts = (json.dumps(part).encode() for part in ({"alg": "none"}, claims))
    return ".".join([*(base64.urlsafe_b64encode(part).decode().rstrip("=") for part in parts), ""])


def _name(key: str, prefix: str) -> str:
    name = key.removeprefix(prefix)
    if name in _RESERVED:
        raise JaasError(f"{key}: the claim {name} cannot be set: {_LIFETIME} decides")
    return name


def _number(key: str, value: str) -> float:
    try:
        number = float(value)
    except ValueError:
        number = float("nan")
    if not isfinite(number):
        raise JaasError(f"{key} is no number")
    return number
