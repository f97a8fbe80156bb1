"""Cases of sessions that end: their lifetime, their renewal, requests after their end."""

from collections.abc import Iterator
from typing import Final

from tests.broker.sasl_exchanges.brokers import LOGIN, SESSION, SHORT
from tests.broker.sasl_exchanges.opening import METADATA, RIGHT, UNKNOWN_VERSIONS
from tests.broker.sasl_exchanges.scram import FIRST, scram_login
from tests.broker.sasl_exchanges.steps import (
    Case,
    Exchange,
    Pause,
    Send,
    after,
    bare,
    handshake,
    nothing,
    steps,
    token,
    versions,
)
from trio_kafka.protocol.messages.k17_sasl_handshake import SaslHandshakeResponse
from trio_kafka.security.sasl.scram import BY_NAME

BOB: Final = b"\0bob\0pw"
WRONG: Final = b"\0ann\0wrong"
LOGGED_IN: Final = (handshake(), token(RIGHT))
REQUEST: Final = versions()
"""A request that any client may send."""
_MORE_THAN_A_SECOND: Final = Pause(1.2)
_TO_THE_END: Final = Pause(2.0)


def session_cases() -> Iterator[Case]:
    """All cases."""
    for version in (0, 1, 2):
        name = f"lifetime of a session, SaslAuthenticate {version}"
        yield Case(name, SESSION, steps(handshake(), token(RIGHT, version)))
    for case, sends in RENEWALS.items():
        yield Case(f"renewal: {case}", SESSION, steps(*LOGGED_IN, *sends))
    yield Case(
        "renewal of a login by bare tokens",
        SESSION,
        steps(handshake(version=0), bare(RIGHT), *LOGGED_IN, REQUEST),
    )
    yield Case("renewal without an end of the session", LOGIN, steps(*LOGGED_IN, *LOGGED_IN))
    for case, sends in EXPIRIES.items():
        yield Case(f"session that ends: {case}", SHORT, steps(*sends))
    yield Case("renewal of SCRAM by its first message alone", SESSION, _half_a_renewal)


RENEWALS: Final[dict[str, tuple[Send | Pause, ...]]] = {
    "by the same user": (*LOGGED_IN, REQUEST),
    "by the same user twice at once": (*LOGGED_IN, *LOGGED_IN, REQUEST),
    "by the same user twice": (*LOGGED_IN, _MORE_THAN_A_SECOND, *LOGGED_IN, REQUEST),
    "by another user": (handshake(), token(BOB)),
    "by a wrong password": (handshake(), token(WRONG)),
    "by a malformed token": (handshake(), token(b"")),
    "by another mechanism": (handshake("SCRAM-SHA-256"), token(RIGHT)),
    "by an unknown mechanism": (handshake("OTHER"),),
    "by bare tokens": (handshake(version=0), bare(RIGHT), REQUEST),
    "by bare tokens in SaslAuthenticate": (handshake(version=0), token(RIGHT), REQUEST),
    "by bare tokens of another user": (handshake(version=0), bare(BOB)),
    "by a bare token that is wrong": (handshake(version=0), bare(WRONG)),
    "without a handshake": (token(RIGHT), REQUEST),
    "with ApiVersions first": (versions(), *LOGGED_IN, REQUEST),
    "with ApiVersions after the handshake": (handshake(), versions()),
    "with ApiVersions in an unknown version after the handshake": (handshake(), UNKNOWN_VERSIONS),
    "with Metadata after the handshake": (handshake(), METADATA),
    "with a second handshake": (handshake(), handshake()),
    "by SaslAuthenticate 0": (handshake(), token(RIGHT, 0), REQUEST),
    "in one go with requests": (
        after(after(after(REQUEST, handshake()), token(RIGHT)), REQUEST),
        *(nothing(handshake()), nothing(token(RIGHT)), nothing(REQUEST)),
    ),
    "with a frame above the limit": (
        *(handshake(), Send(data=b"\0\0\x20\0", response=SaslHandshakeResponse)),
    ),
}
EXPIRIES: Final[dict[str, tuple[Send | Pause, ...]]] = {
    "a request before its end": (*LOGGED_IN, Pause(0.3), REQUEST),
    "a request after its end": (*LOGGED_IN, _TO_THE_END, REQUEST),
    "Metadata after its end": (*LOGGED_IN, _TO_THE_END, METADATA),
    "no request after its end": (*LOGGED_IN, _TO_THE_END),
    "a renewal after its end": (*LOGGED_IN, _TO_THE_END, *LOGGED_IN, REQUEST),
    "a renewal by another user after its end": (*LOGGED_IN, _TO_THE_END, handshake(), token(BOB)),
    "a token after its end": (*LOGGED_IN, _TO_THE_END, token(RIGHT)),
    "a request after the end of the renewed one": (
        *(*LOGGED_IN, _TO_THE_END, *LOGGED_IN, _TO_THE_END, REQUEST),
    ),
    "a second renewal within a second": (*LOGGED_IN, Pause(1.0), *LOGGED_IN, *LOGGED_IN, REQUEST),
    "a login by SaslAuthenticate 0": (handshake(), token(RIGHT, 0), _TO_THE_END, REQUEST),
    "a login by a bare token": (handshake(version=0), bare(RIGHT), _TO_THE_END, REQUEST),
    "a token that comes after its end in a renewal": (
        *(*LOGGED_IN, handshake(), _TO_THE_END, token(RIGHT), REQUEST),
    ),
}


def _half_a_renewal(now_s: int) -> Exchange:
    sha_256 = BY_NAME["SCRAM-SHA-256"]
    yield from scram_login(sha_256, "ann", "secret", 2, now_s)
    yield handshake(sha_256.name)
    yield token(FIRST)
    yield REQUEST
