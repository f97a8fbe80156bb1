from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.security.tokens.kit import NOW_S, claims, rules
from trio_kafka.security.tokens.claims import InvalidTokenError, check_claims


def check(now_s: float = NOW_S, *, by: dict[str, Any] | None = None, **more: object) -> object:
    return check_claims(claims(**more), rules(**(by or {})), now_s)


def test_valid_claims_name_the_principal_and_the_end_of_the_token() -> None:
    verified = check_claims(claims(), rules(), NOW_S)

    assert (verified.principal, verified.expires_ms) == ("ann", (NOW_S + 60) * 1000)


@pytest.mark.parametrize(
    "more",
    [
        {"exp": NOW_S - 29},
        {"iat": NOW_S + 500},
        {"nbf": NOW_S + 30},
        {"aud": ["other", "kafka"]},
        {"exp": NOW_S + 0.5},
    ],
)
def test_claims_within_the_tolerated_difference_of_clocks_are_valid(more: dict[str, Any]) -> None:
    check(**more)


@pytest.mark.parametrize(
    ("more", "reason"),
    [
        ({"exp": None}, "it has no claim exp"),
        ({"exp": NOW_S - 30}, "it has expired"),
        ({"exp": "never"}, "its claim exp is no number"),
        ({"exp": True}, "its claim exp is no number"),
        ({"exp": 1e300}, "its claim exp is no time"),
        ({"iat": None}, "it has no claim iat"),
        ({"nbf": NOW_S + 31}, "its claim nbf is in the future"),
        ({"iss": None}, "its claim iss is not the expected issuer"),
        ({"iss": "https://other.example"}, "its claim iss is not the expected issuer"),
        ({"aud": None}, "its claim aud has no expected audience"),
        ({"aud": "other"}, "its claim aud has no expected audience"),
        ({"aud": [["kafka"], 7]}, "its claim aud has no expected audience"),
        ({"aud": "kafka2"}, "its claim aud has no expected audience"),
        ({"sub": None}, "it has no claim sub"),
        ({"sub": " "}, "it has no claim sub"),
        ({"sub": ["ann"]}, "it has no claim sub"),
    ],
)
def test_invalid_claims_have_a_reason(more: dict[str, Any], reason: str) -> None:
    with pytest.raises(InvalidTokenError, match=f"^{reason}$"):
        check(**more)


def test_issuer_and_audience_are_checked_only_if_they_are_expected() -> None:
    check(by={"audiences": (), "issuer": None}, aud=None, iss=None)


def test_the_principal_may_be_another_claim() -> None:
    verified = check_claims(claims(email="a@b"), rules(subject="email"), NOW_S)

    assert verified.principal == "a@b"


JSON = st.recursive(
    st.none() | st.booleans() | st.floats() | st.integers() | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
)


@pytest.mark.parametrize(
    ("more", "reason"),
    [
        ({"iat": None}, None),
        ({"nbf": NOW_S + 500}, None),
        ({"scope": "a b"}, None),
        ({"scope": ["a"]}, None),
        ({"scope": 7}, "its claim scope is no text or list"),
        ({"exp": NOW_S}, "it has expired"),
        ({"iat": NOW_S + 1}, "its claim iat is in the future"),
        ({"iat": NOW_S, "exp": NOW_S + 1}, None),
        ({"sub": None}, "it has no claim sub"),
    ],
)
def test_claims_of_unsigned_tokens_have_rules_of_their_own(
    more: dict[str, Any], reason: str | None
) -> None:
    unsigned = rules(url=None, issuer=None, audiences=(), skew_s=0)

    if reason is None:
        assert check_claims(claims(**more), unsigned, NOW_S).principal == "ann"
    else:
        with pytest.raises(InvalidTokenError, match=f"^{reason}$"):
            check_claims(claims(**more), unsigned, NOW_S)


@given(st.dictionaries(st.sampled_from(["exp", "iat", "nbf", "iss", "aud", "sub"]), JSON))
def test_any_claims_are_valid_or_an_invalid_token(more: dict[str, object]) -> None:
    try:
        check_claims(more, rules(), NOW_S)
    except InvalidTokenError:
        return
    assert more["iss"] == rules().issuer
