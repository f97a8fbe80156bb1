import pytest

from tests.security.tokens.kit import key_set, public_row
from trio_kafka.security.tokens.keys import ALGORITHMS, IssuerKeys

EC, RSA = public_row("ES256", "e"), public_row("RS256", "r")


def test_keys_are_found_by_their_id_and_a_missing_one_is_reported() -> None:
    missing = []
    keys = IssuerKeys(lambda: missing.append(1))
    keys.replace(key_set(EC, RSA))

    assert len(keys) == 2
    assert keys.find("e") is not None
    assert keys.find("r") is not None
    assert not missing
    assert keys.find("x") is None
    assert keys.find(None) is None
    assert len(missing) == 2


def test_a_token_without_a_key_id_has_the_only_key() -> None:
    keys = IssuerKeys()
    keys.replace(key_set(EC))

    assert keys.find(None) is keys.find("e")


def test_rows_that_cannot_verify_signatures_are_left_out() -> None:
    shared = {"kty": "oct", "k": "c2VjcmV0", "alg": "HS256", "kid": "shared"}
    encryption = {**RSA, "use": "enc", "kid": "enc"}
    keys = IssuerKeys()

    keys.replace(key_set(EC, shared, encryption, {"kty": "RSA"}, {"kty": 7}, {}))

    assert len(keys) == 1
    assert not [name for name in ALGORITHMS if name.startswith(("HS", "none"))]


@pytest.mark.parametrize(
    "document",
    [
        b"",
        b"[]",
        b"{}",
        b'{"keys": 7}',
        b'{"keys": []}',
        b'{"keys": [7]}',
        b'{"keys": [{"kty": "oct", "k": "c2VjcmV0"}]}',
        b"\xff",
    ],
)
def test_a_document_without_a_usable_key_is_refused_and_the_last_keys_stay(document: bytes) -> None:
    keys = IssuerKeys()
    keys.replace(key_set(EC))

    with pytest.raises(ValueError, match=r"."):
        keys.replace(document)

    assert keys.find("e") is not None
