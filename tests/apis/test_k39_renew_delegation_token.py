"""RenewDelegationToken: who may renew a token, and for how long."""

import pytest
import trio
from trio.testing import MockClock

from tests.apis.kit import stable
from tests.broker.sasl import sasl_broker
from tests.broker.tokens import DAY_MS, ask_as, bearer, create, described, token_broker
from trio_kafka.errors import ErrorCode
from trio_kafka.protocol.messages.k39_renew_delegation_token import RenewDelegationTokenRequest
from trio_kafka.testing.broker import ServedBroker


async def renew(
    served: ServedBroker, token_hmac: bytes, name: str = "ann", period_ms: int = -1
) -> tuple[int, int]:
    """Error and expiry."""
    answer = await ask_as(served, name, RenewDelegationTokenRequest(token_hmac, period_ms))
    return answer.error_code, answer.expiry_timestamp_ms


@pytest.mark.parametrize("version", stable(RenewDelegationTokenRequest))
async def test_a_renewed_token_expires_a_period_after_its_renewal(
    autojump_clock: MockClock, version: int
) -> None:
    async with token_broker({"delegation.token.expiry.time.ms": "60000"}) as served:
        token = await create(served)
        await trio.sleep(30)
        request = RenewDelegationTokenRequest(token.hmac, -1)
        answer = await ask_as(served, "ann", request, version)
        (row,) = await described(served)

    assert answer.error_code == 0
    assert 90_000 <= answer.expiry_timestamp_ms - token.issue_timestamp_ms < 120_000
    assert row.expiry_timestamp == answer.expiry_timestamp_ms
    assert row.max_timestamp == token.max_timestamp_ms


async def test_a_renewal_is_limited_by_the_request_the_settings_and_the_maximum(
    autojump_clock: MockClock,
) -> None:
    async with token_broker() as served:
        token = await create(served)
        short = await renew(served, token.hmac, period_ms=1000)
        long = await renew(served, token.hmac, period_ms=1 << 62)
        limited = await create(served, life_ms=3_600_000)
        to_the_maximum = await renew(served, limited.hmac)

    assert 0 <= short[1] - token.issue_timestamp_ms - 1000 < DAY_MS // 100
    assert 0 <= long[1] - token.issue_timestamp_ms - DAY_MS < DAY_MS // 100
    assert to_the_maximum == (0, limited.max_timestamp_ms)


async def test_owner_and_renewers_may_renew_and_no_other_user_may(
    autojump_clock: MockClock,
) -> None:
    mismatch = (ErrorCode.DELEGATION_TOKEN_OWNER_MISMATCH, -1)
    async with token_broker() as served:
        own, shared = await create(served, "ann"), await create(served, "ann", "bob")

        assert await renew(served, own.hmac, "bob") == mismatch
        assert (await renew(served, shared.hmac, "bob"))[0] == 0
        async with bearer(served, shared) as client:
            by_token = await client.ask(RenewDelegationTokenRequest(shared.hmac, -1), 2)
        by_nobody = await served.ask(RenewDelegationTokenRequest(shared.hmac, -1))

    for answer in (by_token, by_nobody):
        assert answer.error_code == ErrorCode.DELEGATION_TOKEN_REQUEST_NOT_ALLOWED
        assert answer.expiry_timestamp_ms == -1


async def test_unknown_and_expired_tokens_are_not_renewed(autojump_clock: MockClock) -> None:
    settings = {"delegation.token.expiry.check.interval.ms": str(DAY_MS)}
    async with token_broker(settings) as served:
        token = await create(served, life_ms=1000)
        not_found = (ErrorCode.DELEGATION_TOKEN_NOT_FOUND, -1)
        for token_hmac in (b"", token.hmac[:-1], token.hmac + b"x", token.token_id.encode()):
            assert await renew(served, token_hmac) == not_found
        await trio.sleep(2)
        assert await renew(served, token.hmac) == (ErrorCode.DELEGATION_TOKEN_EXPIRED, -1)
    async with sasl_broker() as served:
        assert (await renew(served, token.hmac))[0] == ErrorCode.DELEGATION_TOKEN_AUTH_DISABLED
