"""Client's side of SCRAM: the example of RFC 7677, and servers that lie."""

import base64
import hashlib
import hmac
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from trio_kafka.security.sasl.client import ClientExchange
from trio_kafka.security.sasl.errors import AuthenticationError
from trio_kafka.security.sasl.scram import SHA_256, SHA_512
from trio_kafka.security.sasl.scram_client import scram

NONCE = b"rOprNGfwEbeRWgbNEkqO%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0"
SERVER_FIRST = b"r=" + NONCE + b",s=W22ZaJ0SNY7soEsUEjb6gQ==,i=4096"
SERVER_FINAL = b"v=6rriTRBi23WpRR/wtup+mMhUZUn/dB5nLTJRsjl95G4="


def conversation(exchange: ClientExchange, *answers: bytes) -> list[bytes]:
    """Messages of the client, with these answers of the server."""
    said = []
    try:
        message = next(exchange)
        for answer in answers:
            assert isinstance(message, bytes)
            said.append(message)
            message = exchange.send(answer)
            if callable(message):
                message = exchange.send(message())
        assert isinstance(message, bytes)
        said.append(message)
    except StopIteration:
        pass
    return said


def test_scram_messages_equal_the_example_of_rfc_7677() -> None:
    exchange = scram(SHA_256, "user", "pencil", nonce="rOprNGfwEbeRWgbNEkqO")

    assert conversation(exchange, SERVER_FIRST, SERVER_FINAL) == [
        b"n,,n=user,r=rOprNGfwEbeRWgbNEkqO",
        b"c=biws,r=" + NONCE + b",p=dHzbZapWIk4jUhN+Ute9ytag9zjfMHgsqmmiz7AndVQ=",
    ]


def test_a_scram_server_with_a_wrong_signature_is_refused() -> None:
    exchange = scram(SHA_256, "user", "pencil", nonce="rOprNGfwEbeRWgbNEkqO")
    wrong = b"v=" + base64.b64encode(bytes(32))

    with pytest.raises(AuthenticationError, match="signature is wrong"):
        conversation(exchange, SERVER_FIRST, wrong)


@pytest.mark.parametrize(
    ("first", "final", "message"),
    [
        (b"", b"", "malformed"),
        (b"e=other-error", b"", "malformed: 'other-error'"),
        (b"r=another,s=QQ==,i=4096", b"", "does not continue the client's"),
        (b"r=nonce,s=QQ==,i=4096", b"", "does not continue the client's"),
        (b"r=nonce1,s=QQ==,i=4095", b"", "4095 iterations: want 4096 to"),
        (b"r=nonce1,s=QQ==,i=2000000000", b"", "2000000000 iterations"),
        (b"r=nonce1,s=Q,i=4096", b"", "malformed base64"),
        (b"r=nonce1,s=QQ==,i=4096", b"e=invalid-proof", "ended the login: 'invalid-proof'"),
        (b"r=nonce1,s=QQ==,i=4096", b"v=Q", "malformed base64"),
        (b"r=nonce1,s=QQ==,i=4096", b"\xff", "ended the login"),
    ],
)
def test_an_invalid_scram_server_message_is_an_error_that_hides_the_password(
    first: bytes, final: bytes, message: str
) -> None:
    with pytest.raises(AuthenticationError, match=message) as caught:
        conversation(scram(SHA_512, "user", "s3cret", nonce="nonce"), first, final)

    assert "s3cret" not in str(caught.value)


@given(st.binary(max_size=40), st.binary(max_size=40))
def test_random_scram_server_messages_are_an_authentication_error(
    first: bytes, final: bytes
) -> None:
    with pytest.raises(AuthenticationError):
        conversation(scram(SHA_256, "u", "p", nonce="n"), first, final)


@given(st.text(min_size=1), st.text())
def test_a_scram_server_that_knows_the_password_is_accepted_with_any_user_name(
    name: str, password: str
) -> None:
    def server(client_first: bytes) -> tuple[bytes, Callable[[bytes], bytes]]:
        bare = client_first.decode().removeprefix("n,,")
        first = f"r={bare.rpartition('r=')[2]}more,s=c2FsdA==,i=4096"
        salted = hashlib.pbkdf2_hmac("sha512", password.encode(), b"salt", 4096)

        def final(client_final: bytes) -> bytes:
            without_proof, _, _ = client_final.decode().rpartition(",p=")
            signed = f"{bare},{first},{without_proof}".encode()
            key = hmac.digest(salted, b"Server Key", "sha512")
            return b"v=" + base64.b64encode(hmac.digest(key, signed, "sha512"))

        return first.encode(), final

    exchange = scram(SHA_512, name, password, nonce="abc")
    first, final = server(next(exchange))
    message = exchange.send(first)
    with pytest.raises(StopIteration):
        exchange.send(final(message))


def test_scram_escapes_the_user_name_and_marks_a_delegation_token() -> None:
    exchange = scram(SHA_256, "a=b,c", "p", nonce="n", extension=",tokenauth=true")

    assert next(exchange) == b"n,,n=a=3Db=2Cc,r=n,tokenauth=true"
