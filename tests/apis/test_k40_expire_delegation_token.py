"""ExpireDelegationToken: a token ends at once, or after a period."""

import pytest
import trio
from trio.testing import MockClock

from tests.apis.kit import stable
from tests.broker.sasl import LISTENER, sasl_broker
from tests.broker.tokens import (
    DAY_MS,
    ask_as,
    bearer,
    create,
    described,
    present,
    token_broker,
)
from trio_kafka.errors import ErrorCode
from trio_kafka.protocol.messages.k40_expire_delegation_token import ExpireDelegationTokenRequest
from trio_kafka.security.delegation_tokens import password_of
from trio_kafka.testing.broker import ServedBroker


async def expire(
    served: ServedBroker, token_hmac: bytes, name: str = "ann", period_ms: int = -1
) -> tuple[int, int]:
    """Error and expiry."""
    answer = await ask_as(served, name, ExpireDelegationTokenRequest(token_hmac, period_ms))
    return answer.error_code, answer.expiry_timestamp_ms


@pytest.mark.parametrize("version", stable(ExpireDelegationTokenRequest))
async def test_a_negative_period_removes_the_token_at_once(
    autojump_clock: MockClock, version: int
) -> None:
    async with token_broker() as served:
        token = await create(served)
        answer = await ask_as(served, "ann", ExpireDelegationTokenRequest(token.hmac, -1), version)
        rows = await described(served)
        async with served.connect(LISTENER) as client:
            login = await present(client, token.token_id, password_of(token.hmac))

    assert answer.error_code == 0
    assert 0 <= answer.expiry_timestamp_ms - token.issue_timestamp_ms < DAY_MS
    assert rows == []
    assert login.error_code == ErrorCode.SASL_AUTHENTICATION_FAILED


async def test_a_period_ends_the_token_later_but_not_after_its_maximum(
    autojump_clock: MockClock,
) -> None:
    async with token_broker() as served:
        token = await create(served)
        soon = await expire(served, token.hmac, period_ms=5000)
        late = await expire(served, token.hmac, period_ms=1 << 62)

    assert 0 <= soon[1] - token.issue_timestamp_ms - 5000 < DAY_MS // 100
    assert late == (0, token.max_timestamp_ms)


async def test_owner_and_renewers_may_end_a_token_and_no_other_user_may(
    autojump_clock: MockClock,
) -> None:
    mismatch = (ErrorCode.DELEGATION_TOKEN_OWNER_MISMATCH, -1)
    async with token_broker() as served:
        own, shared = await create(served, "ann"), await create(served, "ann", "bob")

        assert await expire(served, own.hmac, "bob") == mismatch
        async with bearer(served, shared) as client:
            by_token = await client.ask(ExpireDelegationTokenRequest(shared.hmac, -1), 2)
        by_nobody = await served.ask(ExpireDelegationTokenRequest(shared.hmac, -1))
        assert (await expire(served, shared.hmac, "bob"))[0] == 0

    for answer in (by_token, by_nobody):
        assert answer.error_code == ErrorCode.DELEGATION_TOKEN_REQUEST_NOT_ALLOWED


async def test_an_expired_token_can_be_removed_but_gets_no_other_expiry(
    autojump_clock: MockClock,
) -> None:
    settings = {"delegation.token.expiry.check.interval.ms": str(DAY_MS)}
    async with token_broker(settings) as served:
        token = await create(served, life_ms=1000)
        await trio.sleep(2)

        later = await expire(served, token.hmac, period_ms=1000)
        assert later == (ErrorCode.DELEGATION_TOKEN_EXPIRED, -1)
        assert (await expire(served, token.hmac))[0] == 0
        again = await expire(served, token.hmac)
        assert again == (ErrorCode.DELEGATION_TOKEN_NOT_FOUND, -1)
    async with sasl_broker() as served:
        assert (await expire(served, token.hmac))[0] == ErrorCode.DELEGATION_TOKEN_AUTH_DISABLED
