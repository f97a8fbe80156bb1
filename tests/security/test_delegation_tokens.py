"""Index of delegation tokens: HMACs, owners, credentials, and what its texts show."""

import base64
import hmac
import random

import pytest

from trio_kafka.errors import ErrorCode, KafkaError
from trio_kafka.protocol.stored.metadata.security import DelegationTokenRecord
from trio_kafka.security.delegation_tokens import (
    DelegationTokens,
    check_may_request,
    password_of,
)
from trio_kafka.security.principal import NOBODY, USER, Principal
from trio_kafka.security.sasl.scram import SHA_256, SHA_512, credential_of, salted_password

KEY = "c4n4ry"
ANN = Principal(USER, "ann")
SALT = b"1yz4hpmsjbavqnpg8fmt5ey2c"


class Clock:
    """Wall-clock time in ms."""

    now = 0.0

    def __call__(self) -> float:
        return self.now


def record(token_id: str = "id", *, expiry_ms: int = 1000, owner: str = "ann"):
    return DelegationTokenRecord(
        owner=f"User:{owner}",
        requester="User:ann",
        renewers=[],
        issue_timestamp=0,
        max_timestamp=5000,
        expiration_timestamp=expiry_ms,
        token_id=token_id,
    )


def index(*records: DelegationTokenRecord, key: str = KEY, clock: Clock | None = None):
    tokens = DelegationTokens(key, clock or Clock(), random.Random(1).randbytes)
    for _ in tokens.apply({token.token_id: token for token in records}):
        pass
    return tokens


def digest(token_id: str) -> bytes:
    return hmac.new(KEY.encode(), token_id.encode(), "sha512").digest()


def test_a_token_is_found_by_its_hmac_until_it_is_removed() -> None:
    tokens = index(record("a"), record("b"))

    assert (tokens.find(digest("a")), tokens.find(digest("b"))) == ("a", "b")
    assert tokens.find(digest("c")) is None
    assert [*tokens.apply({"a": None, "c": None})] == []
    assert tokens.find(digest("a")) is None
    assert list(tokens.records) == ["b"]
    assert len(tokens) == 1


def test_the_credential_is_that_of_the_hmac_in_base64() -> None:
    tokens = index(record())

    for mechanism in (SHA_256, SHA_512, SHA_256):
        login = tokens.login(mechanism, "id", SALT)
        password = base64.b64encode(digest("id")).decode()
        salted = salted_password(mechanism, password, salt=SALT, iterations=4096)
        assert login is not None
        assert login.credential == credential_of(mechanism, salted, salt=SALT, iterations=4096)
        assert (login.owner, login.expires_ms) == ("ann", 1000)


def test_a_removed_token_has_no_credential_and_a_new_owner_counts_at_once() -> None:
    tokens = index(record())
    assert tokens.login(SHA_256, "id", SALT) is not None

    list(tokens.apply({"id": record(owner="eve", expiry_ms=2000)}))
    login = tokens.login(SHA_256, "id", SALT)
    assert login is not None
    assert (login.owner, login.expires_ms) == ("eve", 2000)
    list(tokens.apply({"id": None}))
    assert tokens.login(SHA_256, "id", SALT) is None
    assert tokens.login(SHA_256, "other", SALT) is None


@pytest.mark.parametrize("record_", [record(expiry_ms=1000), record(expiry_ms=5000)])
def test_a_token_that_has_ended_is_not_valid_although_its_record_remains(
    record_: DelegationTokenRecord,
) -> None:
    clock = Clock()
    tokens = index(record_, clock=clock)
    end_ms = record_.expiration_timestamp

    clock.now = end_ms
    assert tokens.owner("id", password_of(digest("id"))) == ANN
    clock.now = end_ms + 1
    assert tokens.owner("id", password_of(digest("id"))) is None
    assert tokens.login(SHA_256, "id", SALT) is None
    assert tokens.find(digest("id")) == "id"


def test_a_password_proves_the_owner_and_says_that_it_was_a_token() -> None:
    tokens = index(record())
    owner = tokens.owner("id", password_of(digest("id")))

    assert owner == ANN
    assert owner is not None
    assert owner.token_authenticated
    assert not ANN.token_authenticated
    for token_id, password in (("id", ""), ("id", "é"), ("", ""), ("x", password_of(digest("x")))):
        assert tokens.owner(token_id, password) is None


def test_an_index_without_a_key_knows_no_token() -> None:
    tokens = index(record(), key="")

    assert not tokens.enabled
    assert dict(tokens.records) == {}
    with pytest.raises(KafkaError) as caught:
        tokens.check_enabled()
    assert caught.value.code is ErrorCode.DELEGATION_TOKEN_AUTH_DISABLED


def test_ids_are_new_uuids_that_begin_with_no_dash() -> None:
    first = [b"\xf8" + bytes(15), bytes(16), bytes(15) + b"\x01"]
    tokens = DelegationTokens(KEY, Clock(), lambda _: first.pop(0))
    list(tokens.apply({"A" * 22: record("A" * 22)}))

    assert tokens.new_id() == "A" * 20 + "AQ"
    assert first == []


def test_credentials_that_are_kept_are_limited(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("trio_kafka.security.delegation_tokens._MOST_CREDENTIALS", 2)
    tokens = index(*(record(str(number)) for number in range(5)))

    for number in (0, 1, 0, 2, 3, 4):
        assert tokens.login(SHA_256, str(number), SALT) is not None

    assert [token_id for token_id, _ in tokens._credentials] == ["3", "4"]


def test_clients_without_an_identity_of_their_own_may_not_ask_for_tokens() -> None:
    by_token = Principal(USER, "ann", token_authenticated=True)
    for principal, protocol in (
        (ANN, "PLAINTEXT"),
        (NOBODY, "SSL"),
        (by_token, "SASL_SSL"),
        (by_token, "SASL_PLAINTEXT"),
    ):
        with pytest.raises(KafkaError) as caught:
            check_may_request(principal, protocol)
        assert caught.value.code is ErrorCode.DELEGATION_TOKEN_REQUEST_NOT_ALLOWED
    for protocol in ("SSL", "SASL_SSL", "SASL_PLAINTEXT", "INTERNAL"):
        check_may_request(ANN, protocol)


def test_no_text_shows_the_key_an_hmac_or_a_credential() -> None:
    tokens = index(record())
    login = tokens.login(SHA_256, "id", SALT)
    texts = f"{tokens!r} {login!r} {record()!r} {tokens.records!r}"

    assert login is not None
    for secret in (KEY, password_of(digest("id")), repr(login.credential.stored_key)[2:-1]):
        assert secret not in texts
