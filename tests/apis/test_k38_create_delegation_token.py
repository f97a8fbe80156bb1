"""CreateDelegationToken: who may ask, for whom, and what the token is."""

import hmac

import pytest
from trio.testing import MockClock

from tests.apis.acls import AUTHORIZER, allow
from tests.apis.acls import create as create_acls
from tests.apis.kit import stable
from tests.broker.sasl import sasl_broker
from tests.broker.tokens import DAY_MS, KEY, ask_as, bearer, create, described, token_broker
from trio_kafka.errors import ErrorCode
from trio_kafka.protocol.messages.k38_create_delegation_token import (
    CreatableRenewers,
    CreateDelegationTokenRequest,
)
from trio_kafka.security.operations import Operation
from trio_kafka.security.resources import ResourceType
from trio_kafka.testing.broker import served_broker
from trio_kafka.testing.simulation import simulated_world

NOT_ALLOWED = ErrorCode.DELEGATION_TOKEN_REQUEST_NOT_ALLOWED


@pytest.mark.parametrize("version", stable(CreateDelegationTokenRequest))
async def test_the_hmac_of_a_token_is_that_of_its_id_by_the_key_of_the_cluster(
    autojump_clock: MockClock, version: int
) -> None:
    request = CreateDelegationTokenRequest(
        renewers=[CreatableRenewers("User", "bob")], max_lifetime_ms=-1
    )
    async with token_broker() as served:
        token = await ask_as(served, "ann", request, version)
        (row,) = await described(served)

    assert token.error_code == 0
    assert token.hmac == hmac.digest(KEY.encode(), token.token_id.encode(), "sha512")
    assert token.expiry_timestamp_ms - token.issue_timestamp_ms == DAY_MS
    assert token.max_timestamp_ms - token.issue_timestamp_ms == 7 * DAY_MS
    assert (token.principal_type, token.principal_name) == ("User", "ann")
    if version >= 3:
        assert (token.token_requester_principal_name, row.token_requester_principal_name) == (
            "ann",
            "ann",
        )
    assert (row.token_id, row.hmac) == (token.token_id, token.hmac)
    assert [(r.principal_type, r.principal_name) for r in row.renewers] == [("User", "bob")]


@pytest.mark.parametrize(
    ("asked_ms", "life_ms"), [(DAY_MS // 2, DAY_MS // 2), (1 << 62, 7 * DAY_MS)]
)
async def test_a_token_lives_no_longer_than_asked_and_than_the_settings_allow(
    autojump_clock: MockClock, asked_ms: int, life_ms: int
) -> None:
    async with token_broker() as served:
        token = await create(served, life_ms=asked_ms)

    assert token.max_timestamp_ms - token.issue_timestamp_ms == life_ms
    assert token.expiry_timestamp_ms - token.issue_timestamp_ms == min(life_ms, DAY_MS)


async def test_settings_limit_the_life_of_a_token_even_if_they_are_as_long_as_can_be(
    autojump_clock: MockClock,
) -> None:
    longest = (1 << 63) - 1
    settings = {
        "delegation.token.max.lifetime.ms": str(longest),
        "delegation.token.expiry.time.ms": str(longest),
        "delegation.token.expiry.check.interval.ms": str(longest),
    }
    async with token_broker(settings) as served:
        token = await create(served)

    assert (token.max_timestamp_ms, token.expiry_timestamp_ms) == (longest, longest)


async def test_only_a_client_with_an_identity_of_its_own_gets_a_token(
    autojump_clock: MockClock,
) -> None:
    async with token_broker() as served:
        by_nobody = await served.ask(CreateDelegationTokenRequest(max_lifetime_ms=-1))
        async with bearer(served, await create(served)) as client:
            by_token = await client.ask(CreateDelegationTokenRequest(max_lifetime_ms=-1), 3)
        rows = await described(served)

    assert (by_nobody.error_code, by_token.error_code) == (NOT_ALLOWED, NOT_ALLOWED)
    assert (by_token.token_id, by_token.hmac, by_token.max_timestamp_ms) == ("", b"", -1)
    # Kafka tells the principals beside an error, too.
    assert (by_token.principal_name, by_token.token_requester_principal_name) == ("ann", "ann")
    assert len(rows) == 1


@pytest.mark.parametrize("key", ["", None])
async def test_a_broker_without_a_key_has_no_tokens(
    autojump_clock: MockClock, key: str | None
) -> None:
    settings = {} if key is None else {"delegation.token.secret.key": key}
    async with sasl_broker(settings) as served:
        answer = await create(served)

    assert answer.error_code == ErrorCode.DELEGATION_TOKEN_AUTH_DISABLED


@pytest.mark.parametrize(
    ("kind", "name"), [("Group", "eve"), (None, "eve"), ("", "eve"), ("Broker", "in-process")]
)
async def test_an_owner_or_renewer_of_another_type_than_user_is_refused(
    autojump_clock: MockClock, kind: str | None, name: str
) -> None:
    owned = CreateDelegationTokenRequest(kind, name, [], -1)
    renewed = CreateDelegationTokenRequest(None, None, [CreatableRenewers(kind or "", name)], -1)
    async with token_broker() as served:
        answers = [await ask_as(served, "ann", request) for request in (owned, renewed)]
        rows = await described(served)

    assert {answer.error_code for answer in answers} == {ErrorCode.INVALID_PRINCIPAL_TYPE}
    assert rows == []


async def test_a_token_has_at_most_1000_renewers(autojump_clock: MockClock) -> None:
    names = [f"u{number}" for number in range(1001)]
    async with token_broker() as served:
        most, too_many = (
            await create(served, "ann", *names[1:]),
            await create(served, "ann", *names),
        )
        (row,) = await described(served)

    assert (most.error_code, too_many.error_code) == (0, ErrorCode.INVALID_REQUEST)
    assert [renewer.principal_name for renewer in row.renewers] == names[1:]


async def test_a_token_for_another_owner_needs_create_tokens_on_that_user(
    autojump_clock: MockClock,
) -> None:
    async with token_broker(AUTHORIZER) as served:
        denied = await create(served, "ann", owner="eve")
        own = await create(served, "ann", owner="ann")
        acl = allow(Operation.CREATE_TOKENS, ResourceType.USER, "User:eve", principal="User:ann")
        assert await create_acls(served, acl) == [0]
        allowed = await create(served, "ann", owner="eve")
        seen = await described(served, "ann")

    assert denied.error_code == ErrorCode.DELEGATION_TOKEN_AUTHORIZATION_FAILED
    assert (denied.token_id, denied.hmac) == ("", b"")
    assert own.error_code == 0
    assert (allowed.error_code, allowed.principal_name) == (0, "eve")
    assert allowed.token_requester_principal_name == "ann"
    assert {token.token_id for token in seen} == {own.token_id, allowed.token_id}


async def test_a_token_is_the_same_after_a_restart(autojump_clock: MockClock) -> None:
    world = simulated_world()
    async with token_broker(world=world) as served:
        token = await create(served, "ann", "bob")
        before = await described(served)
    async with token_broker(world=world) as served:
        after = await described(served)
        async with bearer(served, token):
            pass
    async with served_broker(world) as served:  # without SASL and a key
        assert list(served.broker.metadata.image.tokens) == [token.token_id]

    assert before == after


async def test_renewers_of_a_token_have_a_limited_length(autojump_clock: MockClock) -> None:
    async with token_broker() as served:
        for number, code in ((3, ErrorCode.NONE), (4, ErrorCode.INVALID_REQUEST)):
            rows = [CreatableRenewers("User", str(n) + "x" * 20_000) for n in range(number)]
            request = CreateDelegationTokenRequest(renewers=rows, max_lifetime_ms=-1)
            assert (await ask_as(served, "ann", request)).error_code == code
