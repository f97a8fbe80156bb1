"""Cases of PLAIN, and requests after the login."""

from collections.abc import Iterator
from functools import partial
from typing import Final

from tests.broker.sasl_exchanges.brokers import LOGIN
from tests.broker.sasl_exchanges.opening import RIGHT
from tests.broker.sasl_exchanges.steps import (
    Case,
    Exchange,
    bare,
    handshake,
    present,
    steps,
    token,
    versions,
)

TOKENS: Final = {
    "the right password": RIGHT,
    "a wrong password": b"\0ann\0wrong",
    "a password that only begins with the right one": b"\0ann\0secret1",
    "an unknown user": b"\0carol\0secret",
    "another user's password": b"\0ann\0pw",
    "no token": b"",
    "a name alone": b"ann",
    "two parts": b"ann\0secret",
    "four parts": b"\0ann\0secret\0",
    "five parts": b"\0ann\0secret\0\0",
    "nulls only": b"\0\0",
    "no name": b"\0\0secret",
    "no password": b"\0ann\0",
    "an authorization id that is the name": b"ann\0ann\0secret",
    "another authorization id": b"bob\0ann\0secret",
    "another authorization id and a wrong password": b"bob\0ann\0wrong",
    "a name in other letters": b"\0ANN\0secret",
    "bytes that are no text": b"\0ann\0\xff\xfe",
    "a name that is no text": b"\0\xff\xfe\0secret",
    "blanks around the name": b"\0 ann \0secret",
}


def plain_cases() -> Iterator[Case]:
    """All cases."""
    for name, data in TOKENS.items():
        for version, where in ((2, "SaslAuthenticate 2"), (-1, "a bare token")):
            begin = partial(_present, data, version)
            yield Case(f"PLAIN in {where}: {name}", LOGIN, begin)
    for version in (0, 1):
        for name in ("the right password", "a wrong password", "no token"):
            begin = partial(_present, TOKENS[name], version)
            yield Case(f"PLAIN in SaslAuthenticate {version}: {name}", LOGIN, begin)
    login = (handshake(), token(RIGHT))
    after_login = {
        "ApiVersions": (versions(), versions()),
        "SaslHandshake 0": (handshake(version=0), versions()),
        "SaslHandshake 1": (handshake(), versions()),
        "SaslHandshake of an unknown mechanism": (handshake("OTHER"),),
        "SaslAuthenticate 0": (token(RIGHT, 0),),
        "SaslAuthenticate 2": (token(RIGHT), token(b"\0ann\0wrong")),
        "a bare token": (bare(RIGHT),),
        "an empty frame": (bare(b""),),
    }
    for name, sends in after_login.items():
        yield Case(f"{name} after a login", LOGIN, steps(*login, *sends))
    yield Case(
        "a bare token after a login by a bare token",
        LOGIN,
        steps(handshake(version=0), bare(RIGHT), bare(RIGHT)),
    )
    yield Case(
        "SaslHandshake 1 after a login by a bare token",
        LOGIN,
        steps(handshake(version=0), bare(RIGHT), handshake()),
    )
    yield Case(
        "SaslAuthenticate in the place of a bare token",
        LOGIN,
        steps(handshake(version=0), bare(token(RIGHT).data[4:])),
    )
    yield Case("a bare token after handshake 1", LOGIN, steps(handshake(), bare(RIGHT)))


def _present(data: bytes, version: int, _now_s: int) -> Exchange:
    return present("PLAIN", data, version)
