"""Signatures of tokens: the algorithms that pass, and the tricks that do not."""

import base64
import json

import jwt
import pytest
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat
from hypothesis import given
from hypothesis import strategies as st

from tests.security.tokens.kit import (
    NOW_S,
    claims,
    key_set,
    private_key,
    public_row,
    rules,
    token,
)
from trio_kafka.security.tokens.claims import InvalidTokenError
from trio_kafka.security.tokens.keys import IssuerKeys
from trio_kafka.security.tokens.verification import (
    LARGEST,
    Verify,
    signed_verifier,
    unsigned_verifier,
)


def verifier(*rows: dict[str, object]) -> Verify:
    keys = IssuerKeys()
    keys.replace(key_set(*(rows or (public_row("ES256", "k"),))))
    return signed_verifier(rules(), keys, lambda: NOW_S)


def encoded(part: object) -> str:
    return base64.urlsafe_b64encode(json.dumps(part).encode()).decode().rstrip("=")


def unsigned(head: object = {"alg": "none"}, body: object = None) -> str:
    return f"{encoded(head)}.{encoded(claims() if body is None else body)}."


@pytest.mark.parametrize("algorithm", ["RS256", "PS384", "ES256", "EdDSA"])
def test_a_token_signed_by_a_key_of_the_issuer_is_valid(algorithm: str) -> None:
    verify = verifier(public_row(algorithm, "k"))

    assert verify(token(algorithm)).principal == "ann"
    assert verify(token(algorithm, key_id=None)).principal == "ann"


def test_a_token_of_another_key_with_the_id_of_a_known_one_is_not_valid() -> None:
    with pytest.raises(InvalidTokenError, match="InvalidSignatureError"):
        verifier()(token(number=1))


def test_a_token_of_an_unknown_key_is_not_valid() -> None:
    with pytest.raises(InvalidTokenError, match="its key is not one of the issuer's"):
        verifier()(token(key_id="other"))


def test_a_changed_token_is_not_valid() -> None:
    head, _, signature = token().split(".")

    with pytest.raises(InvalidTokenError, match="InvalidSignatureError"):
        verifier()(f"{head}.{encoded(claims(sub='admin'))}.{signature}")


def test_a_token_without_a_signature_is_not_valid() -> None:
    for algorithm in ("none", "None", "NONE", ""):
        with pytest.raises(InvalidTokenError):
            verifier()(unsigned({"alg": algorithm, "kid": "k"}))


def test_a_public_key_used_as_a_shared_secret_is_not_valid() -> None:
    public = private_key("RS256").public_key()
    pem = public.public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo)
    signing = encoded({"alg": "HS256", "kid": "k"}) + "." + encoded(claims())
    signature = jwt.algorithms.HMACAlgorithm(jwt.algorithms.HMACAlgorithm.SHA256).sign(
        signing.encode(), pem
    )
    forged = f"{signing}.{base64.urlsafe_b64encode(signature).decode().rstrip('=')}"

    with pytest.raises(InvalidTokenError, match="no public key"):
        verifier(public_row("RS256", "k"))(forged)


def test_the_algorithm_of_a_token_must_be_that_of_its_key() -> None:
    forged = jwt.encode(claims(), private_key("RS256"), "RS512", {"kid": "k"})

    with pytest.raises(InvalidTokenError):
        verifier(public_row("RS256", "k"))(forged)


@pytest.mark.parametrize(
    "text", ["", "a", "a.b.c", "..", f"{encoded(7)}.{encoded(7)}.", "x" * (LARGEST + 1), "ä.ö.ü"]
)
def test_a_text_that_is_no_token_is_not_valid(text: str) -> None:
    for verify in (verifier(), unsigned_verifier(rules(), lambda: NOW_S)):
        with pytest.raises(InvalidTokenError) as caught:
            verify(text)
        assert not text or text not in str(caught.value)


def test_claims_are_checked_by_the_clock_of_the_caller() -> None:
    with pytest.raises(InvalidTokenError, match="it has expired"):
        verifier()(token(exp=NOW_S - 31))


def test_a_broker_that_expects_unsigned_tokens_takes_those_only() -> None:
    verify = unsigned_verifier(rules(), lambda: NOW_S)

    assert verify(unsigned()).principal == "ann"
    for text in (token(), unsigned() + "eA", unsigned({}), unsigned([]), unsigned(body=[])):
        with pytest.raises(InvalidTokenError):
            verify(text)
    with pytest.raises(InvalidTokenError, match="it has expired"):
        verify(unsigned(body=claims(exp=1)))


WHOLE = token()


@given(st.text(max_size=200) | st.binary(max_size=80).map(lambda raw: f"{WHOLE}{raw.hex()}"))
def test_random_texts_are_invalid_tokens_and_no_other_error(text: str) -> None:
    for verify in (verifier(), unsigned_verifier(rules(), lambda: NOW_S)):
        try:
            verify(text)
        except InvalidTokenError:
            continue
        assert text == WHOLE


def test_a_token_of_lists_in_one_another_is_not_valid() -> None:
    nested = base64.urlsafe_b64encode(b"[" * 20_000).decode().rstrip("=")

    for verify in (verifier(), unsigned_verifier(rules(), lambda: NOW_S)):
        for text in (f"{nested}.{nested}.", f"{encoded({'alg': 'none'})}.{nested}."):
            with pytest.raises(InvalidTokenError):
                verify(text)
