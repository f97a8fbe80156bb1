"""Cases before the tokens: ApiVersions, SaslHandshake, other requests, frames of all sizes."""

import struct
from collections.abc import Iterator
from typing import Final

from tests.broker.sasl_exchanges.brokers import LARGEST, LOGIN
from tests.broker.sasl_exchanges.steps import (
    Case,
    Send,
    after,
    bare,
    cut,
    handshake,
    lengthened,
    nothing,
    request,
    steps,
    token,
    unknown,
    versions,
)
from trio_kafka.protocol.messages.k00_produce import ProduceRequest
from trio_kafka.protocol.messages.k03_metadata import MetadataRequest
from trio_kafka.protocol.messages.k18_api_versions import ApiVersionsRequest

RIGHT: Final = b"\0ann\0secret"
METADATA: Final = request(MetadataRequest([]), 12)
PRODUCE: Final = request(ProduceRequest(acks=1, timeout_ms=1000), 9)
UNKNOWN_VERSIONS: Final = unknown(18, 99, flexible=True)
HELLO: Final = bytes.fromhex("16030100310100002d0303") + bytes(45)
NAMELESS: Final = Send(data=b"\0\0\0\x11\0\x11\0\x01\0\0\0\x07\xff\xff\0\x05PLAIN")


def opening_cases() -> Iterator[Case]:
    """All cases."""
    for name, sends in {**_versions(), **_handshakes(), **_strangers(), **_frames()}.items():
        yield Case(name, LOGIN, steps(*sends))


def _versions() -> dict[str, tuple[Send, ...]]:
    cases = {
        f"ApiVersions {version}, then a handshake": (versions(version), handshake())
        for version in range(6)
    }
    whole = request(ApiVersionsRequest("raw", "1.0"), 3)
    return {
        **cases,
        "ApiVersions twice": (versions(), versions()),
        "ApiVersions 0 twice": (versions(0), versions(0)),
        "ApiVersions in an unknown version": (UNKNOWN_VERSIONS, handshake()),
        "ApiVersions in an unknown version, then in a known one": (
            *(UNKNOWN_VERSIONS, versions(), handshake()),
        ),
        "ApiVersions in an unknown version three times, then in a known one": (
            *(UNKNOWN_VERSIONS,) * 3,
            *(versions(), handshake()),
        ),
        "ApiVersions in version -1": (unknown(18, -1),),
        "ApiVersions in a known version, then in an unknown one": (versions(), UNKNOWN_VERSIONS),
        "ApiVersions without a name of the software": (versions(3, ""), handshake()),
        "ApiVersions with a bad name, then with a good one": (
            *(versions(3, "a b"), versions(), handshake()),
        ),
        "ApiVersions with a bad number of the software": (versions(3, "raw", "!"), handshake()),
        "ApiVersions with a bad name twice": (versions(3, "!"), versions(3, "!"), handshake()),
        "ApiVersions that is cut": (cut(whole, 3),),
        "ApiVersions with bytes after its end": (lengthened(whole, b"xyz"), handshake()),
        "ApiVersions after a handshake": (handshake(), versions()),
        "ApiVersions in an unknown version after a handshake": (handshake(), UNKNOWN_VERSIONS),
        "ApiVersions after a handshake 0": (handshake(version=0), bare(versions().data[4:])),
    }


def _handshakes() -> dict[str, tuple[Send, ...]]:
    cases: dict[str, tuple[Send, ...]] = {}
    for version in (0, 1):
        cases |= {
            f"handshake {version} of {mechanism!r}": (handshake(mechanism, version),)
            for mechanism in ("PLAIN", "SCRAM-SHA-256", "GSSAPI", "OTHER", "", "plain", "PLAIN ")
        }
        cases |= {
            f"handshake {version} twice": (handshake(version=version), handshake()),
            f"handshake {version} of an unknown mechanism, then of a known one": (
                *(handshake("OTHER", version), handshake("PLAIN", version)),
            ),
            f"handshake {version} after ApiVersions": (versions(), handshake(version=version)),
        }
    return {
        **cases,
        "handshake in an unknown version": (unknown(17, 2, b"\0\x05PLAIN"),),
        "handshake in version -1": (unknown(17, -1, b"\0\x05PLAIN"),),
        "handshake that is cut": (cut(handshake(), 2),),
        "handshake without a mechanism": (unknown(17, 1),),
        "handshake with a null mechanism": (unknown(17, 1, b"\xff\xff"),),
        "handshake with bytes after its end": (lengthened(handshake(), b"xyz"), token(RIGHT)),
        "handshake with a null client id": (
            *(Send(data=NAMELESS.data, response=handshake().response, version=1), token(RIGHT)),
        ),
        "handshake and token in one go": (
            *(after(handshake(), token(RIGHT)), nothing(token(RIGHT))),
        ),
        "ApiVersions, handshake and token in one go": (
            after(after(versions(), handshake()), token(RIGHT)),
            *(nothing(handshake()), nothing(token(RIGHT))),
        ),
    }


def _strangers() -> dict[str, tuple[Send, ...]]:
    """Requests of clients that have not logged in."""
    requests = {
        "Metadata": METADATA,
        "Produce": PRODUCE,
        "SaslAuthenticate": token(RIGHT),
        "key 999": unknown(999, 0),
        "key -1": unknown(-1, 0),
        "Metadata in an unknown version": unknown(3, 99, flexible=True),
    }
    cases: dict[str, tuple[Send, ...]] = {
        f"{name} before a login": (sent,) for name, sent in requests.items()
    }
    cases |= {f"{name} after ApiVersions": (versions(), sent) for name, sent in requests.items()}
    return {
        **cases,
        **{
            f"{name} in the middle of an exchange": (handshake(), sent)
            for name, sent in requests.items()
            if sent.response is not token(RIGHT).response
        },
        "SaslAuthenticate in an unknown version": (handshake(), unknown(36, 9, flexible=True)),
        "SaslAuthenticate in version -1": (handshake(), unknown(36, -1)),
        "SaslAuthenticate that is cut": (handshake(), cut(token(RIGHT), 5)),
        "SaslAuthenticate without a body": (handshake(), unknown(36, 0)),
        "SaslAuthenticate with bytes after its end": (handshake(), lengthened(token(RIGHT), b"x")),
        "a request of HTTP": (Send(data=b"GET / HTTP/1.1\r\nHost: kafka\r\n\r\n"),),
        "the begin of TLS": (Send(data=HELLO),),
        "a token of Kerberos": (bare(bytes.fromhex("6082") + bytes(100)),),
        "a token of PLAIN without a handshake": (bare(RIGHT),),
    }


def _frames() -> dict[str, tuple[Send, ...]]:
    sizes = {
        "of -1 byte": struct.pack(">i", -1),
        "of the least size": struct.pack(">i", -(1 << 31)),
        "of the largest size": struct.pack(">i", (1 << 31) - 1),
        "above the limit": struct.pack(">i", LARGEST + 1),
        "without bytes": bytes(4),
        "of one byte": b"\0\0\0\x01\0",
        "of nine bytes": b"\0\0\0\x09" + bytes(9),
        "of zeros": struct.pack(">i", 100) + bytes(100),
    }
    cases: dict[str, tuple[Send, ...]] = {}
    for name, data in sizes.items():
        cases |= {
            f"frame {name}": (Send(data=data),),
            f"frame {name} after ApiVersions": (versions(), Send(data=data)),
            f"frame {name} in the middle of an exchange": (handshake(), Send(data=data)),
        }
    overhead = len(token(b"").data) - 4
    return {
        **cases,
        "frame at the limit": (handshake(), token(b"\0ann\0" + b"x" * (LARGEST - overhead - 6))),
        "token at the limit": (handshake(version=0), bare(b"\0ann\0" + b"x" * (LARGEST - 5))),
        "token above the limit": (handshake(version=0), bare(b"\0ann\0" + b"x" * (LARGEST - 4))),
    }
