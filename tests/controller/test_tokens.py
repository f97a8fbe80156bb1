"""Which delegation tokens can be made, renewed and ended, and what is written."""

from collections.abc import Callable
from copy import copy

import pytest
from attrs import evolve

from tests.controller.kit import image_of
from trio_kafka.controller import tokens
from trio_kafka.controller.decision import ControllerSettings, Decision
from trio_kafka.controller.tokens import (
    NewToken,
    TokenChange,
    create_token,
    expire_token,
    remove_expired,
    renew_token,
)
from trio_kafka.errors import ErrorCode, KafkaError
from trio_kafka.metadata.features import METADATA_VERSION
from trio_kafka.metadata.image import MetadataImage
from trio_kafka.protocol.stored.metadata.security import (
    DelegationTokenRecord,
    RemoveDelegationTokenRecord,
)

SETTINGS = ControllerSettings(
    delegation_token_max_lifetime_ms=1000, delegation_token_expiry_time_ms=100
)
NEW = NewToken(
    token_id="id",
    owner="User:ann",
    requester="User:bob",
    renewers=["User:eve"],
    max_lifetime_ms=-1,
    now_ms=50,
)
CHANGE = TokenChange(token_id="id", principal="User:ann", period_ms=-1, now_ms=60)
TOKEN = DelegationTokenRecord("User:ann", "User:bob", ["User:eve"], 50, 1050, 150, "id")


def image(*records: DelegationTokenRecord, level: int = 14) -> MetadataImage:
    before = image_of()
    tokens = before.tokens.updated({record.token_id: record for record in records})
    return evolve(before, tokens=tokens, features={METADATA_VERSION: level})


def records_of(decision: Decision[object]) -> list[object]:
    return [record for record in decision.records if record is not None]


def expiry_in(decision: Decision[int]) -> int:
    """The expiry, which the one record has too, while all else is as before."""
    (record,) = records_of(decision)
    assert isinstance(record, DelegationTokenRecord)
    assert record.expiration_timestamp == decision.result
    record.expiration_timestamp = TOKEN.expiration_timestamp
    assert record == TOKEN
    return decision.result


def refusal(decide: Callable[[], object]) -> ErrorCode:
    with pytest.raises(KafkaError) as caught:
        decide()
    return caught.value.code


def test_a_token_is_one_record_with_its_times_and_principals() -> None:
    decision = create_token(image(), NEW, SETTINGS)

    assert decision.result == TOKEN
    assert records_of(decision) == [TOKEN]


@pytest.mark.parametrize(
    ("asked_ms", "ends_ms", "expires_ms"),
    [(0, 1050, 150), (5000, 1050, 150), (70, 120, 120), (100, 150, 150), (1 << 62, 1050, 150)],
)
def test_the_life_of_a_token_is_the_shorter_one_of_request_and_settings(
    asked_ms: int, ends_ms: int, expires_ms: int
) -> None:
    token = create_token(image(), evolve(NEW, max_lifetime_ms=asked_ms), SETTINGS).result

    assert (token.max_timestamp, token.expiration_timestamp) == (ends_ms, expires_ms)


@pytest.mark.parametrize(
    ("period_ms", "expiry_ms"), [(-1, 160), (0, 160), (10, 70), (5000, 160), (1 << 62, 160)]
)
def test_a_renewal_is_limited_by_the_settings(period_ms: int, expiry_ms: int) -> None:
    change = evolve(CHANGE, period_ms=period_ms)

    assert expiry_in(renew_token(image(TOKEN), change, SETTINGS)) == expiry_ms


def test_no_change_lets_a_token_live_beyond_its_maximum() -> None:
    nearly = DelegationTokenRecord("User:ann", "User:bob", ["User:eve"], 50, 1050, 1040, "id")
    change = evolve(CHANGE, now_ms=1000, period_ms=90)

    assert renew_token(image(nearly), change, SETTINGS).result == 1050
    assert expire_token(image(nearly), change).result == 1050
    assert expire_token(image(nearly), evolve(change, period_ms=(1 << 63) - 1)).result == 1050


def test_a_period_of_an_end_is_not_limited_by_the_settings_and_a_negative_one_removes() -> None:
    assert expiry_in(expire_token(image(TOKEN), evolve(CHANGE, period_ms=500))) == 560
    assert expiry_in(expire_token(image(TOKEN), evolve(CHANGE, period_ms=0))) == 60
    now = expire_token(image(TOKEN), CHANGE)
    assert now.result == 60
    assert records_of(now) == [RemoveDelegationTokenRecord("id")]


def test_the_first_reason_to_refuse_a_change_is_that_of_kafka() -> None:
    late = evolve(CHANGE, now_ms=151)
    stranger = evolve(CHANGE, principal="User:bob", period_ms=5)  # who only asked for it
    unknown = evolve(CHANGE, token_id=None)
    gone = evolve(CHANGE, token_id="other")
    not_found, expired = ErrorCode.DELEGATION_TOKEN_NOT_FOUND, ErrorCode.DELEGATION_TOKEN_EXPIRED
    mismatch = ErrorCode.DELEGATION_TOKEN_OWNER_MISMATCH

    def renew(change: TokenChange) -> ErrorCode:
        return refusal(lambda: renew_token(image(TOKEN), change, SETTINGS))

    def expire(change: TokenChange) -> ErrorCode:
        return refusal(lambda: expire_token(image(TOKEN), change))

    assert [renew(unknown), renew(gone), expire(unknown), expire(gone)] == [not_found] * 4
    assert [renew(late), expire(evolve(late, period_ms=5))] == [expired] * 2
    assert [renew(stranger), expire(stranger)] == [mismatch] * 2
    # Of an expired token, a renewal tells the expiry first and an end the owner.
    assert renew(evolve(stranger, now_ms=151)) == expired
    assert expire(evolve(stranger, now_ms=151)) == mismatch
    assert records_of(expire_token(image(TOKEN), late)) == [RemoveDelegationTokenRecord("id")]


def test_a_renewer_may_renew_and_end_a_token() -> None:
    by_renewer = evolve(CHANGE, principal="User:eve")

    assert renew_token(image(TOKEN), by_renewer, SETTINGS).result == 160
    assert expire_token(image(TOKEN), by_renewer).result == 60


def test_an_older_metadata_version_has_no_tokens() -> None:
    old = image(TOKEN, level=13)
    unsupported = ErrorCode.UNSUPPORTED_VERSION

    assert refusal(lambda: create_token(old, NEW, SETTINGS)) == unsupported
    assert refusal(lambda: renew_token(old, CHANGE, SETTINGS)) == unsupported
    assert refusal(lambda: expire_token(old, CHANGE)) == unsupported


def test_the_tokens_that_have_ended_are_removed_and_no_others() -> None:
    def token(token_id: str, ends_ms: int, expires_ms: int) -> DelegationTokenRecord:
        return DelegationTokenRecord("User:a", "User:a", [], 0, ends_ms, expires_ms, token_id)

    before = image(
        token("a", 100, 99), token("b", 100, 100), token("c", 99, 100), token("d", 200, 200)
    )
    removed = records_of(remove_expired(before, 100))

    assert removed == [RemoveDelegationTokenRecord(token_id) for token_id in ("a", "c")]


def test_a_search_among_many_tokens_pauses() -> None:
    many = [
        DelegationTokenRecord("User:a", "User:a", [], 0, 100, 100, str(number))
        for number in range(500)
    ]

    assert list(remove_expired(image(*many), 0).records).count(None) == 2


def test_a_requester_has_a_limited_number_of_tokens_and_no_other_is_concerned(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(tokens, "MOST_OF_ONE", 3)
    theirs = [evolved(TOKEN, f"bob-{number}") for number in range(3)]
    other = evolve(NEW, requester="User:eve")

    assert create_token(image(*theirs[:2]), NEW, SETTINGS).result == TOKEN
    assert refusal(lambda: create_token(image(*theirs), NEW, SETTINGS)) is (
        ErrorCode.POLICY_VIOLATION
    )
    assert create_token(image(*theirs), other, SETTINGS).result.requester == "User:eve"


def evolved(record: DelegationTokenRecord, token_id: str) -> DelegationTokenRecord:
    changed = copy(record)
    changed.token_id = token_id
    return changed
