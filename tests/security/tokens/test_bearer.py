"""Tokens as clients read them, held to Apache Kafka's own rules."""

import base64
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from trio_kafka.security.tokens.bearer import read_token
from trio_kafka.security.tokens.claims import InvalidTokenError


def jwt(signature: str = "c2ln", **claims: object) -> str:
    all_claims = {"sub": "ann", "iat": 100, "exp": 200, **claims}
    text = json.dumps({name: value for name, value in all_claims.items() if value is not None})
    parts = [base64.urlsafe_b64encode(part.encode()).decode().rstrip("=") for part in ("{}", text)]
    return ".".join([*parts, signature])


VALUES = st.none() | st.booleans() | st.floats() | st.integers() | st.text() | st.lists(st.text())
CLAIMS = st.fixed_dictionaries(
    {}, optional=dict.fromkeys(("sub", "exp", "iat", "scope"), VALUES)
).map(lambda claims: jwt(**claims))


def test_times_and_subject_of_a_token_are_read_without_a_key():
    token = read_token(f" {jwt()}\n", extensions={"trace": "7"})

    assert (token.text, token.subject) == (jwt(), "ann")
    assert (token.begins_s, token.expires_s, token.extensions) == (100.0, 200.0, {"trace": "7"})
    assert token.mechanism == "OAUTHBEARER"


def test_no_text_of_a_token_shows_it():
    token = read_token(jwt(), extensions={"trace": "s3cret"})

    assert jwt() not in f"{token!r}{token}"
    assert "s3cret" not in f"{token!r}{token}"


def test_claims_of_subject_and_scopes_may_have_other_names():
    token = read_token(jwt(sub=None, me="bob", roles=["a", "b"]), subject="me", scope="roles")

    assert token.subject == "bob"


@given(st.text() | st.text('ab.{}[]"=-_:,\0').map(lambda text: f"e30.{text}.c") | CLAIMS)
def test_any_text_is_a_token_or_an_invalid_one(text):
    try:
        token = read_token(text)
    except InvalidTokenError:
        return
    assert token.subject
    assert token.expires_s >= 0


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "no JWT"),
        ("opaque", "want header, payload and signature"),
        (jwt(signature=""), "want header, payload and signature"),
        (jwt(signature="a.b"), "want header, payload and signature"),
        ("a.!!!.c", "payload is no JSON object"),
        (f"a.{base64.urlsafe_b64encode(b'[1]').decode()}.c", "payload is no JSON object"),
        (jwt(signature="a\x01b"), "characters that no header can carry"),
        (jwt(exp=None), "no claim exp"),
        (jwt(exp="soon"), "claim exp is no number"),
        (jwt(exp=-1), "claim exp is no time"),
        (jwt(iat=True), "claim iat is no number"),
        (jwt(sub=None), "no claim sub"),
        (jwt(sub="  "), "no claim sub"),
        (jwt(sub=7), "no claim sub"),
        (jwt(scope=["a", "a"]), "an empty scope, or one twice"),
        (jwt(scope=""), "an empty scope"),
    ],
)
def test_token_that_kafkas_client_would_not_send_is_refused_without_a_part_of_it(text, reason):
    with pytest.raises(InvalidTokenError, match=reason) as refused:
        read_token(text)

    assert not text or text not in str(refused.value)
