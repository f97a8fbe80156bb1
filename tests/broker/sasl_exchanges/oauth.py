"""Cases of OAUTHBEARER: tokens that are right, expired, forged, malformed; and their messages."""

import base64
import json
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from typing import Final

from tests.broker.sasl_exchanges.brokers import SIGNED, UNSIGNED
from tests.broker.sasl_exchanges.steps import Case, Exchange, bare, handshake, token, versions
from tests.security.tokens.kit import ISSUER
from tests.security.tokens.kit import token as signed_token

_NOTE: Final = "the token"
_ACKNOWLEDGED: Final = b"\x01"
MakeToken = Callable[[int], str]


def oauth_cases() -> Iterator[Case]:
    """All cases."""
    for name, make in UNSIGNED_TOKENS.items():
        yield Case(f"unsigned token: {name}", UNSIGNED, partial(_present, make, 2))
    for name, make in SIGNED_TOKENS.items():
        yield Case(f"signed token: {name}", SIGNED, partial(_present, make, 2))
    for name, frame in MESSAGES.items():
        yield Case(f"OAUTHBEARER message: {name}", UNSIGNED, partial(_wrapped, frame))
    for name, make in (("right", _unsigned()), ("expired", _unsigned(exp=-100))):
        yield Case(f"unsigned token in a bare frame: {name}", UNSIGNED, partial(_present, make, -1))
        yield Case(
            f"unsigned token in SaslAuthenticate 0: {name}", UNSIGNED, partial(_present, make, 0)
        )
    yield Case("OAUTHBEARER: a good token after a bad one", UNSIGNED, _second_try)
    yield Case("OAUTHBEARER: ApiVersions after a bad token", UNSIGNED, _interrupted)


def unsigned(
    header: Mapping[str, object], claims: Mapping[str, object], signature: str = ""
) -> str:
    """A token as anyone can make it."""
    parts = [
        base64.urlsafe_b64encode(json.dumps(part).encode()).decode().rstrip("=")
        for part in (header, claims)
    ]
    return ".".join([*parts, signature])


def _unsigned(algorithm: str | None = "none", signature: str = "", **more: object) -> MakeToken:
    """more: claims; of numbers, `exp`, `iat` and `nbf` are seconds from now."""

    def make(now_s: int) -> str:
        claims: dict[str, object] = {"sub": "ann", **_times(now_s, more)}
        header = {} if algorithm is None else {"alg": algorithm}
        return unsigned(header, claims, signature)

    return make


def _signed(key_id: str | None = "k", number: int = 0, **more: object) -> MakeToken:
    return lambda now_s: signed_token("RS256", key_id, number, **_times(now_s, more))


def _times(now_s: int, more: Mapping[str, object]) -> dict[str, object]:
    claims = {"iat": -10, "exp": 1000, **more}
    return {
        name: now_s + value
        if name in ("exp", "iat", "nbf") and isinstance(value, int | float)
        else value
        for name, value in claims.items()
        if value is not None
    }


UNSIGNED_TOKENS: Final[Mapping[str, MakeToken]] = {
    "right": _unsigned(),
    "with a signature": _unsigned(signature="AAAA"),
    "that says it is signed": _unsigned("HS256"),
    "that says it is signed, with a signature": _unsigned("RS256", "AAAA"),
    "without an algorithm": _unsigned(None),
    "with alg=NONE": _unsigned("NONE"),
    "expired": _unsigned(exp=-100),
    "expired a second ago": _unsigned(exp=-1),
    "without an end": _unsigned(exp=None),
    "whose end is a text": _unsigned(exp="soon"),
    "whose end is a fraction": _unsigned(exp=995.5),
    "issued in the future": _unsigned(iat=500),
    "that ends before it begins": _unsigned(iat=2000),
    "without a time of issue": _unsigned(iat=None),
    "not before the future": _unsigned(nbf=500),
    "without a subject": _unsigned(sub=None),
    "with an empty subject": _unsigned(sub=""),
    "with a blank subject": _unsigned(sub=" "),
    "whose subject is a number": _unsigned(sub=7),
    "whose scope is a number": _unsigned(scope=7),
    "with scopes": _unsigned(scope=["a", "b"]),
    "with another issuer and audience": _unsigned(iss="x", aud="y"),
    "of one part": lambda _: "token",
    "of two parts": lambda now_s: _unsigned()(now_s).rpartition(".")[0],
    "of four parts": lambda now_s: _unsigned()(now_s) + ".",
    "that is no base64": lambda _: "a.b.",
    "that is no JSON": lambda _: "AAAA.AAAA.",
    "whose claims are a list": lambda _: unsigned({"alg": "none"}, ["ann"]),  # type: ignore[arg-type]
    "of dots": lambda _: "..",
}
SIGNED_TOKENS: Final[Mapping[str, MakeToken]] = {
    "right": _signed(),
    "with alg=none": _unsigned(iss=ISSUER, aud="kafka"),
    "with alg=none and a signature": _unsigned(signature="AAAA", iss=ISSUER, aud="kafka"),
    "with alg=HS256": _unsigned("HS256", "AAAA", iss=ISSUER, aud="kafka"),
    "of another key": _signed(number=1),
    "of an unknown key": _signed("other", 1),
    "without a key id": _signed(None),
    "whose signature is cut": lambda now_s: _signed()(now_s)[:-8],
    "without a signature": lambda now_s: _signed()(now_s).rpartition(".")[0] + ".",
    "expired": _signed(exp=-100),
    "expired within the tolerated difference": _signed(exp=-5),
    "without an end": _signed(exp=None),
    "issued in the future": _signed(iat=500),
    "without a time of issue": _signed(iat=None),
    "not before the future": _signed(nbf=500),
    "for another audience": _signed(aud="other"),
    "for several audiences": _signed(aud=["other", "kafka"]),
    "without an audience": _signed(aud=None),
    "of another issuer": _signed(iss="https://other.example"),
    "without an issuer": _signed(iss=None),
    "without a subject": _signed(sub=None),
    "of one part": lambda _: "token",
    "that ends before a minute": _signed(exp=30, iat=-100),
}
MESSAGES: Final[Mapping[str, str]] = {
    "right": "n,,\x01auth=Bearer {}\x01\x01",
    "scheme in small letters": "n,,\x01auth=bearer {}\x01\x01",
    "scheme in capitals": "n,,\x01auth=BEARER {}\x01\x01",
    "another scheme": "n,,\x01auth=Basic {}\x01\x01",
    "no scheme": "n,,\x01auth={}\x01\x01",
    "two blanks": "n,,\x01auth=Bearer  {}\x01\x01",
    "a blank at the end": "n,,\x01auth=Bearer {} \x01\x01",
    "a tabulator": "n,,\x01auth=Bearer\t{}\x01\x01",
    "padding": "n,,\x01auth=Bearer {}=\x01\x01",
    "letters that no token has": "n,,\x01auth=Bearer {}$\x01\x01",
    "no token": "n,,\x01auth=Bearer \x01\x01",
    "no auth": "n,,\x01host=kafka\x01\x01",
    "nothing in it": "n,,\x01\x01",
    "two auths": "n,,\x01auth=Bearer x.y.\x01auth=Bearer {}\x01\x01",
    "two auths, the first one good": "n,,\x01auth=Bearer {}\x01auth=Bearer x.y.\x01\x01",
    "extensions": "n,,\x01auth=Bearer {}\x01traceId=1\x01other=2\x01\x01",
    "extension before auth": "n,,\x01traceId=1\x01auth=Bearer {}\x01\x01",
    "an extension with a digit in its name": "n,,\x01auth=Bearer {}\x01e1=1\x01\x01",
    "an extension without a value": "n,,\x01auth=Bearer {}\x01e=\x01\x01",
    "an authorization id that is the subject": "n,a=ann,\x01auth=Bearer {}\x01\x01",
    "another authorization id": "n,a=bob,\x01auth=Bearer {}\x01\x01",
    "an empty authorization id": "n,a=,\x01auth=Bearer {}\x01\x01",
    "channel binding": "p=tls-unique,,\x01auth=Bearer {}\x01\x01",
    "channel binding that the client would like": "y,,\x01auth=Bearer {}\x01\x01",
    "no GS2 header": "\x01auth=Bearer {}\x01\x01",
    "one separator at the end": "n,,\x01auth=Bearer {}\x01",
    "no separator": "n,,auth=Bearer {}",
    "letters after the end": "n,,\x01auth=Bearer {}\x01\x01x",
    "the acknowledgement": "\x01",
    "empty": "",
}


def _framed(token_text: str) -> bytes:
    return f"n,,\x01auth=Bearer {token_text}\x01\x01".encode()


def _present(make: MakeToken, version: int, now_s: int) -> Exchange:
    """Present a token, and acknowledge that it is invalid."""
    yield handshake("OAUTHBEARER", version=0 if version < 0 else 1)
    message = _framed(make(now_s))
    answer = yield bare(message, _NOTE) if version < 0 else token(message, version, _NOTE)
    if answer:
        yield bare(_ACKNOWLEDGED) if version < 0 else token(_ACKNOWLEDGED, version)


def _wrapped(message: str, now_s: int) -> Exchange:
    yield handshake("OAUTHBEARER")
    answer = yield token(message.format(_unsigned()(now_s)).encode(), note=_NOTE)
    if answer:
        yield token(_ACKNOWLEDGED)


def _second_try(now_s: int) -> Exchange:
    yield handshake("OAUTHBEARER")
    yield token(_framed(_unsigned(exp=-100)(now_s)), note=_NOTE)
    yield token(_framed(_unsigned()(now_s)), note=_NOTE)


def _interrupted(now_s: int) -> Exchange:
    yield handshake("OAUTHBEARER")
    yield token(_framed(_unsigned(exp=-100)(now_s)), note=_NOTE)
    yield versions()
