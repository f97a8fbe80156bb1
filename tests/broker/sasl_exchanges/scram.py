"""Cases of SCRAM: messages that are right, wrong, malformed, replayed and out of order."""

import base64
import hmac
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from typing import Final

from tests.broker.sasl_exchanges.brokers import LOGIN, ODD_NAME
from tests.broker.sasl_exchanges.player import CLIENT_NONCE, SALT
from tests.broker.sasl_exchanges.steps import (
    Case,
    Exchange,
    bare,
    handshake,
    present,
    token,
    versions,
)
from trio_kafka.security.sasl.scram import (
    BY_NAME,
    ScramMechanism,
    client_key_of,
    hash_of,
    salted_password,
    to_base64,
    xor,
)
from trio_kafka.security.sasl.scram_client import scram

NONCE: Final = CLIENT_NONCE.encode()
FIRST: Final = b"n,,n=ann,r=" + NONCE
_NOTE: Final = "the client's proof"
Prove = Callable[[str], str]
FinalMessage = Callable[[str, Prove], str]


def scram_cases() -> Iterator[Case]:
    """All cases."""
    for name, mechanism in BY_NAME.items():
        for version, where in ((2, ""), (0, ", SaslAuthenticate 0"), (-1, ", bare tokens")):
            for user, password in (("ann", "secret"), ("ann", "wrong"), (ODD_NAME, "secret")):
                begin = partial(scram_login, mechanism, user, password, version)
                yield Case(f"{name} of {user} with {password}{where}", LOGIN, begin)
        for case, message in FIRST_MESSAGES.items():
            begin = partial(_first, name, message, 2)
            yield Case(f"{name}, first message: {case}", LOGIN, begin)
        for case, make in FINAL_MESSAGES.items():
            begin = partial(_final, mechanism, make, 2)
            yield Case(f"{name}, final message: {case}", LOGIN, begin)
    sha_256 = BY_NAME["SCRAM-SHA-256"]
    yield Case(
        "bare tokens of SCRAM-SHA-256: malformed", LOGIN, partial(_first, sha_256.name, b"x", -1)
    )
    yield Case("SCRAM: a proof of another exchange", LOGIN, partial(_replay, sha_256))
    yield Case("SCRAM: a message after the end", LOGIN, _after_the_end)
    yield Case("SCRAM: ApiVersions between the messages", LOGIN, _interrupted)


FIRST_MESSAGES: Final[Mapping[str, bytes]] = {
    "none": b"",
    "a null": b"\0",
    "an unknown user": FIRST.replace(b"ann", b"carol"),
    "an authorization id that is the name": FIRST.replace(b"n,,", b"n,a=ann,"),
    "another authorization id": FIRST.replace(b"n,,", b"n,a=bob,"),
    "another authorization id and an unknown user": b"n,a=bob,n=carol,r=" + NONCE,
    "an unknown delegation token": FIRST + b",tokenauth=true",
    "tokenauth=false": FIRST + b",tokenauth=false",
    "an unknown extension": FIRST + b",ext=1",
    "an extension without a value": FIRST + b",ext=",
    "an extension with a digit in its name": FIRST + b",e1=x",
    "a mandatory extension": FIRST.replace(b"n=ann", b"m=x,n=ann"),
    "channel binding": FIRST.replace(b"n,,", b"p=tls-unique,,"),
    "channel binding that the client would like": FIRST.replace(b"n,,", b"y,,"),
    "no GS2 header": FIRST[3:],
    "half a GS2 header": FIRST[2:],
    "no name": FIRST.replace(b"n=ann", b"n="),
    "a name with a bare =": FIRST.replace(b"ann", b"a=nn"),
    "a name with =2c": FIRST.replace(b"ann", b"a=2cnn"),
    "a name with =2C": FIRST.replace(b"ann", b"a=2Cb=3Dc"),
    "a name that is not ASCII": FIRST.replace(b"ann", "änn".encode()),
    "a name that is no text": FIRST.replace(b"ann", b"\xff\xfe"),
    "no nonce": FIRST.removesuffix(NONCE),
    "a nonce with a blank": FIRST + b" x",
    "a nonce with a comma at its end": FIRST + b",",
    "a line's end after it": FIRST + b"\n",
    "in the wrong order": b"n,,r=" + NONCE + b",n=ann",
    "the final message": b"c=biws,r=" + NONCE + b",p=AAAA",
    "a message of PLAIN": b"\0ann\0secret",
}


def scram_login(
    mechanism: ScramMechanism, user: str, password: str, version: int, _now_s: int
) -> Exchange:
    """Log in as a client does, which checks the broker's signature."""
    exchange = scram(mechanism, user, password, nonce=CLIENT_NONCE)
    yield handshake(mechanism.name, version=0 if version < 0 else 1)
    message, note = next(exchange), ""
    while True:
        assert isinstance(message, bytes)
        answer = yield bare(message, note) if version < 0 else token(message, version, note)
        if not answer:
            return
        try:
            message, note = exchange.send(answer), _NOTE
        except StopIteration:
            return


def _first(mechanism: str, message: bytes, version: int, _now_s: int) -> Exchange:
    return present(mechanism, message, version)


def _final(mechanism: ScramMechanism, make: FinalMessage, version: int, _now_s: int) -> Exchange:
    """Send a first message, and a final one that is made of the broker's nonce and a proof."""
    yield handshake(mechanism.name)
    server_first = (yield token(FIRST, version)).decode()
    nonce = server_first.removeprefix("r=").partition(",")[0]
    messages = f"{FIRST[3:].decode()},{server_first}"
    message = make(nonce, partial(proof, mechanism, messages))
    yield token(message.encode("latin-1"), version, note=_NOTE)


def proof(mechanism: ScramMechanism, messages: str, without_proof: str) -> str:
    """The proof of ann's password in base64. messages: the first two, as they are signed."""
    digest = mechanism.digest
    salted = salted_password(mechanism, "secret", salt=SALT, iterations=4096)
    key = client_key_of(digest, salted)
    signed = f"{messages},{without_proof}".encode("latin-1")
    return to_base64(xor(key, hmac.digest(hash_of(digest, key), signed, digest)))


def _proven(without_proof: str, prove: Prove) -> str:
    return f"{without_proof},p={prove(without_proof)}"


FINAL_MESSAGES: Final[Mapping[str, FinalMessage]] = {
    "right": lambda nonce, prove: _proven(f"c=biws,r={nonce}", prove),
    "empty": lambda *_: "",
    "a null": lambda *_: "\0",
    "the first message again": lambda *_: FIRST.decode(),
    "the client's nonce alone": lambda _, prove: _proven(f"c=biws,r={CLIENT_NONCE}", prove),
    "another nonce": lambda _, prove: _proven(f"c=biws,r={CLIENT_NONCE}other", prove),
    "letters before the nonce": lambda nonce, prove: _proven(f"c=biws,r=x{nonce}", prove),
    "letters after the nonce": lambda nonce, prove: _proven(f"c=biws,r={nonce}x", prove),
    "other channel binding": lambda nonce, prove: _proven(f"c=eSws,r={nonce}", prove),
    "channel binding that is no base64": lambda nonce, prove: _proven(f"c=b,r={nonce}", prove),
    "empty channel binding": lambda nonce, prove: _proven(f"c=,r={nonce}", prove),
    "no channel binding": lambda nonce, prove: _proven(f"r={nonce}", prove),
    "no proof": lambda nonce, _: f"c=biws,r={nonce}",
    "an empty proof": lambda nonce, _: f"c=biws,r={nonce},p=",
    "a short proof": lambda nonce, _: f"c=biws,r={nonce},p=AAAA",
    "a long proof": lambda nonce, _: f"c=biws,r={nonce},p={'AAAA' * 40}",
    "a proof of zeros": lambda nonce, prove: (
        f"c=biws,r={nonce},p={to_base64(bytes(len(base64.b64decode(prove('')))))}"
    ),
    "a proof that is no base64": lambda nonce, _: f"c=biws,r={nonce},p=AAA",
    "a proof with blanks": lambda nonce, prove: f"c=biws,r={nonce},p= {prove(f'c=biws,r={nonce}')}",
    "a signed extension": lambda nonce, prove: _proven(f"c=biws,r={nonce},ext=1", prove),
    "an extension that is not signed": lambda nonce, prove: (
        f"c=biws,r={nonce},ext=1,p={prove(f'c=biws,r={nonce}')}"
    ),
    "an extension after the proof": lambda nonce, prove: (
        _proven(f"c=biws,r={nonce}", prove) + ",ext=1"
    ),
    "letters that are not ASCII": lambda nonce, prove: _proven(f"c=biws,r={nonce},e=\xe4", prove),
}


def _replay(mechanism: ScramMechanism, _now_s: int) -> Exchange:
    """Send a proof that was right for other messages."""
    yield handshake(mechanism.name)
    server_first = (yield token(FIRST)).decode()
    without_proof = server_first.partition(",s=")[0]
    earlier = f"{FIRST[3:].decode()},r={CLIENT_NONCE}earlier,s={to_base64(SALT)},i=4096"
    message = f"c=biws,{without_proof},p={proof(mechanism, earlier, f'c=biws,{without_proof}')}"
    yield token(message.encode(), note=_NOTE)


def _after_the_end(now_s: int) -> Exchange:
    yield from scram_login(BY_NAME["SCRAM-SHA-256"], "ann", "secret", 2, now_s)
    yield token(FIRST)


def _interrupted(_now_s: int) -> Exchange:
    yield handshake("SCRAM-SHA-256")
    yield token(FIRST)
    yield versions()
