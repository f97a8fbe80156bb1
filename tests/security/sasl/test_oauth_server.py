from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from trio_kafka.security.sasl.errors import AuthenticationError
from trio_kafka.security.sasl.oauth_server import OauthServer
from trio_kafka.security.sasl.oauthbearer import oauthbearer
from trio_kafka.security.tokens.claims import InvalidTokenError, VerifiedToken


def verify(token: str) -> VerifiedToken:
    """Ann has the one token that is valid."""
    if token != "t.o.k":
        raise InvalidTokenError("it has expired")
    return VerifiedToken(principal="ann", expires_ms=1234)


def test_a_valid_token_authenticates_until_it_expires() -> None:
    server = OauthServer(verify)

    assert server.evaluate(next(oauthbearer("t.o.k", {"logicalCluster": "x"}))) == b""

    assert (server.user, server.expires_ms) == ("ann", 1234)


def test_an_invalid_token_is_answered_and_fails_at_the_acknowledgement_of_the_client() -> None:
    server, client = OauthServer(verify), oauthbearer("other", {})

    answer = server.evaluate(next(client))
    assert answer == b'{"status":"invalid_token"}'
    assert server.user is None

    with pytest.raises(AuthenticationError, match=r"^invalid token: it has expired$") as caught:
        server.evaluate(client.send(answer))
    assert caught.value.answer == answer.decode()


def test_an_invalid_token_may_be_followed_by_a_valid_one() -> None:
    server = OauthServer(verify)
    server.evaluate(next(oauthbearer("other", {})))

    assert server.evaluate(next(oauthbearer("t.o.k", {}))) == b""
    assert server.user == "ann"


@pytest.mark.parametrize(
    ("message", "is_accepted"),
    [
        (b"n,a=ann,\x01auth=bearer t.o.k\x01\x01", True),
        (b"n,,\x01a=b\x01auth=Bearer t.o.k\x01\x01", True),
        (b"n,a=bob,\x01auth=Bearer t.o.k\x01\x01", False),
        (b"n,,\x01auth=Basic t.o.k\x01\x01", False),
        (b"n,,\x01auth=Bearer  t.o.k\x01\x01", True),
        (b"n,,\x01auth=Bearer \x01\x01", False),
        (b"n,,\x01auth=Bearer\tt.o.k\x01\x01", False),
        (b"n,,\x01auth=Bearer t.o.k \x01\x01", False),
        (b"n,,\x01auth=Bearer t.o.k$\x01\x01", False),
        (b"n,,\x01\x01", False),
        (b"y,,\x01auth=Bearer t.o.k\x01\x01", False),
        (b"n,,\x01auth=Bearer t.o.k\x01", False),
        (b"n,,\x01auth=Bearer t.o.k\x01\x01x", False),
        (b"\x01", False),
        (b"", False),
    ],
)
def test_the_first_message_has_the_form_of_rfc_7628(message: bytes, is_accepted: bool) -> None:
    server = OauthServer(verify)

    if is_accepted:
        server.evaluate(message)
        assert server.user == "ann"
    else:
        with pytest.raises(AuthenticationError):
            server.evaluate(message)


@given(st.binary(max_size=80))
def test_random_messages_raise_no_other_error_and_authenticate_no_user(message: bytes) -> None:
    server = OauthServer(verify)

    with suppress(AuthenticationError):
        server.evaluate(message)
    assert server.user is None or b"Bearer t.o.k" in message
