"""Tokens without a signature, of the claims in a login line."""

import base64
import json

import pytest

from trio_kafka.config.jaas import JaasError
from trio_kafka.security.tokens.bearer import read_token
from trio_kafka.security.tokens.unsecured import scope_claim, subject_claim, unsecured_token

SUBJECT = {"unsecuredLoginStringClaim_sub": "alice"}


def parts(token: str) -> list[dict[str, object]]:
    header, claims, signature = token.split(".")
    assert signature == ""
    return [json.loads(base64.urlsafe_b64decode(part + "==")) for part in (header, claims)]


def test_a_token_has_the_claims_of_the_options_and_ends_after_its_lifetime():
    options = {
        **SUBJECT,
        "unsecuredLoginNumberClaim_level": "2.5",
        "unsecuredLoginListClaim_scope": "|a|b",
        "unsecuredLoginLifetimeSeconds": "10",
    }

    header, claims = parts(unsecured_token(options, 1000.0))

    assert header == {"alg": "none"}
    assert claims == {
        "sub": "alice",
        "level": 2.5,
        "scope": ["a", "b"],
        "iat": 1000.0,
        "exp": 1010.0,
    }
    assert read_token(unsecured_token(options, 1000.0), is_signed=False).expires_s == 1010.0


def test_a_token_lives_for_an_hour_unless_the_line_says_otherwise():
    assert parts(unsecured_token(SUBJECT, 0.0))[1]["exp"] == 3600.0


def test_claims_of_principal_and_scope_are_named_by_options():
    options = {"unsecuredLoginPrincipalClaimName": "me", "unsecuredLoginStringClaim_me": "x"}

    assert parts(unsecured_token(options, 0.0))[1]["me"] == "x"
    assert (subject_claim(options), subject_claim({})) == ("me", "sub")
    assert scope_claim({"unsecuredLoginScopeClaimName": "roles"}) == "roles"


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        ({}, "names no principal: want unsecuredLoginStringClaim_sub"),
        ({"unsecuredLoginStringClaim_sub": " "}, "names no principal"),
        ({**SUBJECT, "unsecuredLoginLifetimeSeconds": "s3cret"}, "LifetimeSeconds is no number"),
        ({**SUBJECT, "unsecuredLoginNumberClaim_n": "nan"}, "NumberClaim_n is no number"),
        ({**SUBJECT, "unsecuredLoginStringClaim_exp": "1"}, "the claim exp cannot be set"),
        ({**SUBJECT, "unsecuredLoginNumberClaim_iat": "1"}, "the claim iat cannot be set"),
    ],
)
def test_options_that_make_no_token_are_refused_without_their_values(options, reason):
    with pytest.raises(JaasError, match=reason) as refused:
        unsecured_token(options, 0.0)

    assert "s3cret" not in str(refused.value)
