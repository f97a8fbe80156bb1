"""Keys of an issuer, and tokens that it signs."""

import json
from functools import cache
from typing import Any

import jwt
from cryptography.hazmat.primitives.asymmetric import ec, ed25519, rsa
from jwt.algorithms import ECAlgorithm, OKPAlgorithm, RSAAlgorithm

from trio_kafka.config.oauth import TokenRules

NOW_S = 1_000_000
ISSUER = "https://issuer.example"


@cache
def private_key(algorithm: str, number: int = 0) -> Any:
    """A key for an algorithm, the same for the same number."""
    del number
    if algorithm.startswith("ES"):
        return ec.generate_private_key(ec.SECP256R1())
    if algorithm == "EdDSA":
        return ed25519.Ed25519PrivateKey.generate()
    return rsa.generate_private_key(65537, 2048)


def public_row(algorithm: str, key_id: str | None, number: int = 0) -> dict[str, Any]:
    """The public key as a row of a key set."""
    kind = {"E": ECAlgorithm, "R": RSAAlgorithm, "P": RSAAlgorithm}[algorithm[0]]
    kind = OKPAlgorithm if algorithm == "EdDSA" else kind
    row = json.loads(kind.to_jwk(private_key(algorithm, number).public_key()))
    named = {} if key_id is None else {"kid": key_id}
    return {**row, "alg": algorithm, "use": "sig", **named}


def key_set(*rows: dict[str, Any]) -> bytes:
    return json.dumps({"keys": rows}).encode()


def claims(**more: object) -> dict[str, object]:
    """Claims of ann's token, valid for a minute; None leaves one out."""
    times = {"iat": NOW_S - 10, "exp": NOW_S + 60}
    whole = {"sub": "ann", "iss": ISSUER, "aud": "kafka", **times, **more}
    return {name: value for name, value in whole.items() if value is not None}


def token(
    algorithm: str = "ES256", key_id: str | None = "k", number: int = 0, **more: object
) -> str:
    headers = {} if key_id is None else {"kid": key_id}
    return jwt.encode(claims(**more), private_key(algorithm, number), algorithm, headers)


def rules(**more: Any) -> TokenRules:
    """Rules for tokens of that issuer."""
    defaults: dict[str, Any] = {
        "audiences": ("kafka",),
        "issuer": ISSUER,
        "skew_s": 30,
        "subject": "sub",
        "url": "https://issuer.example/keys",
        "refresh_s": 3600.0,
        "backoff_s": 0.1,
        "longest_backoff_s": 10.0,
    }
    return TokenRules(**{**defaults, **more})
