"""Tokens in an Authorization header."""

from base64 import b64encode

import pytest
from hypothesis import given
from hypothesis import strategies as st

from trio_kafka_http.credentials import token_of


@pytest.mark.parametrize(
    ("header", "token"),
    [
        (b"Bearer s3cret", b"s3cret"),
        (b"bearer  s3cret ", b"s3cret"),
        (b"BEARER a:b", b"a:b"),
        (b"Bearer", b""),
        (b"Basic " + b64encode(b"any:s3cret"), b"s3cret"),
        (b"basic  " + b64encode(b"any:s3cret") + b" ", b"s3cret"),
        (b"Basic " + b64encode(b":s3cret"), b"s3cret"),
        (b"Basic " + b64encode(b"any:"), b""),
        (b"Basic " + b64encode(b"any:a:b:"), b"a:b:"),
        (b"Basic " + b64encode("Zoë:naïve".encode()), "naïve".encode()),
        (b"Basic " + b64encode(b"Zo\xeb:s3cret"), b"s3cret"),
        (b"Basic " + b64encode(b"s3cret"), None),
        (b"Basic s3cret", None),
        (b"Basic YW55On", None),
        (b"Basic YW55OnMzY3JldA==YQ", None),
        (b"Basic YW55\xe9", None),
        (b"Basic any:s3cret", None),
        (b"Basic", None),
        (b"Digest s3cret", None),
        (b"s3cret", None),
        (b"", None),
    ],
)
def test_token_is_read_from_bearer_or_from_the_basic_password(
    header: bytes, token: bytes | None
) -> None:
    assert token_of(header) == token


@given(st.text().filter(lambda user: ":" not in user), st.text())
def test_basic_password_is_the_text_after_the_first_colon(user: str, password: str) -> None:
    header = b"Basic " + b64encode(f"{user}:{password}".encode())

    assert token_of(header) == password.encode()


@given(st.binary() | st.binary().map(b"Basic ".__add__))
def test_any_authorization_header_is_read_without_an_exception(header: bytes) -> None:
    token_of(header)
