import base64
import hashlib
import hmac
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from trio_kafka.protocol.messages.k17_sasl_handshake import (
    SaslHandshakeRequest,
    SaslHandshakeResponse,
)
from trio_kafka.protocol.messages.k36_sasl_authenticate import SaslAuthenticateResponse
from trio_kafka_spark.client.errors import AuthenticationError, OptionError
from trio_kafka_spark.client.sasl import Exchange, log_in, oauthbearer, plain, scram
from trio_kafka_spark.client.secret import Secret
from trio_kafka_spark.client.security import Sasl

PACKAGE = "org.apache.kafka.common.security"
NONCE = b"rOprNGfwEbeRWgbNEkqO%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0"
SERVER_FIRST = b"r=" + NONCE + b",s=W22ZaJ0SNY7soEsUEjb6gQ==,i=4096"
SERVER_FINAL = b"v=6rriTRBi23WpRR/wtup+mMhUZUn/dB5nLTJRsjl95G4="


def conversation(exchange: Exchange, *answers: bytes) -> list[bytes]:
    """What the client says, with these answers of the server."""
    said = [next(exchange)]
    for answer in answers:
        try:
            said.append(exchange.send(answer))
        except StopIteration:
            break
    return said


def test_scram_messages_equal_the_example_of_rfc_7677() -> None:
    exchange = scram("sha256", "user", "pencil", nonce="rOprNGfwEbeRWgbNEkqO")

    assert conversation(exchange, SERVER_FIRST, SERVER_FINAL) == [
        b"n,,n=user,r=rOprNGfwEbeRWgbNEkqO",
        b"c=biws,r=" + NONCE + b",p=dHzbZapWIk4jUhN+Ute9ytag9zjfMHgsqmmiz7AndVQ=",
    ]


def test_a_scram_server_with_a_wrong_signature_is_refused() -> None:
    exchange = scram("sha256", "user", "pencil", nonce="rOprNGfwEbeRWgbNEkqO")
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
        conversation(scram("sha512", "user", "s3cret", nonce="nonce"), first, final)

    assert "s3cret" not in str(caught.value)


@given(st.binary(max_size=40), st.binary(max_size=40))
def test_random_scram_server_messages_are_an_authentication_error(
    first: bytes, final: bytes
) -> None:
    with pytest.raises(AuthenticationError):
        conversation(scram("sha256", "u", "p", nonce="n"), first, final)


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

    exchange = scram("sha512", name, password, nonce="abc")
    first, final = server(next(exchange))
    message = exchange.send(first)
    with pytest.raises(StopIteration):
        exchange.send(final(message))


def test_scram_escapes_the_user_name_and_marks_a_delegation_token() -> None:
    exchange = scram("sha256", "a=b,c", "p", nonce="n", extension=",tokenauth=true")

    assert next(exchange) == b"n,,n=a=3Db=2Cc,r=n,tokenauth=true"


def test_sasl_plain_sends_name_and_password_separated_by_nul() -> None:
    assert conversation(plain("u", "p"), b"") == [b"\0u\0p"]
    for name, password in (("", "p"), ("u", ""), ("u\0", "p")):
        with pytest.raises(OptionError, match="may be neither empty nor hold a NUL"):
            next(plain(name, password))


def test_a_rejected_oauth_token_is_acknowledged_and_then_an_error() -> None:
    exchange = oauthbearer("t.o.k", {"a": "b"})
    assert next(exchange) == b"n,,\x01auth=Bearer t.o.k\x01a=b\x01\x01"
    assert exchange.send(b'{"status":"invalid_token"}') == b"\x01"
    with pytest.raises(AuthenticationError, match="invalid_token"):
        exchange.send(b"")


def sasl(mechanism: str = "PLAIN") -> Sasl:
    module = {"PLAIN": "plain.PlainLoginModule"}.get(mechanism, "scram.ScramLoginModule")
    line = f'{PACKAGE}.{module} required username="u" password="s3cret";'
    return Sasl(mechanism=mechanism, jaas=Secret("kafka.sasl.jaas.config", line))


def log_in_answered(settings: Sasl, *answers: Any) -> tuple[list[object], float]:
    """What the login asks of a broker with these answers, and for how long it is valid then."""
    handshake = log_in(settings)
    requests = [next(handshake).request]
    try:
        for answer in answers:
            step = handshake.send(answer)
            requests.append(step.request)
    except StopIteration as end:
        return requests, end.value
    raise AssertionError(f"want more answers after {requests}")


def test_a_sasl_session_expires_before_its_lifetime_at_the_broker() -> None:
    shaken = SaslHandshakeResponse(0, ["PLAIN"])

    unlimited = SaslAuthenticateResponse(0, None, b"", 0)
    limited = SaslAuthenticateResponse(0, None, b"", 10_000)

    assert log_in_answered(sasl(), shaken, unlimited)[1] == float("inf")
    assert log_in_answered(sasl(), shaken, limited)[1] == 8.5


@pytest.mark.parametrize(
    ("answers", "message"),
    [
        ([SaslHandshakeResponse(33, ["SCRAM-SHA-256"])], "does not enable PLAIN; .* SCRAM-SHA-256"),
        ([SaslHandshakeResponse(34, [])], "does not use SASL"),
        ([SaslHandshakeResponse(-1, [])], "SaslHandshake: error code -1"),
        (
            [SaslHandshakeResponse(), SaslAuthenticateResponse(58, "Invalid", b"")],
            "PLAIN login was rejected: Invalid",
        ),
        (
            [SaslHandshakeResponse(), SaslAuthenticateResponse(58, None, b"")],
            "PLAIN login was rejected: error code 58",
        ),
    ],
)
def test_a_rejected_login_is_an_error_that_hides_the_password(
    answers: list[Any], message: str
) -> None:
    with pytest.raises(AuthenticationError, match=message) as caught:
        log_in_answered(sasl(), *answers)

    assert "s3cret" not in str(caught.value)


def test_the_handshake_requests_the_configured_sasl_mechanism() -> None:
    step = next(log_in(sasl("SCRAM-SHA-512")))

    assert step.request == SaslHandshakeRequest("SCRAM-SHA-512")
