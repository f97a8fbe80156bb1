"""Logins by delegation token, and the end of tokens, in virtual time."""

import pytest
import trio
from trio.testing import MockClock

from tests.apis.acls import AUTHORIZER, allow, allow_cluster
from tests.apis.acls import create as create_acls
from tests.broker.sasl import LISTENER
from tests.broker.tokens import (
    ask_as,
    bearer,
    create,
    described,
    present,
    token_broker,
)
from trio_kafka.errors import ErrorCode
from trio_kafka.protocol.messages.k03_metadata import MetadataRequest
from trio_kafka.protocol.messages.k38_create_delegation_token import (
    CreateDelegationTokenResponse,
)
from trio_kafka.protocol.messages.k40_expire_delegation_token import ExpireDelegationTokenRequest
from trio_kafka.security.delegation_tokens import password_of
from trio_kafka.security.operations import Operation
from trio_kafka.security.resources import ResourceType
from trio_kafka.testing.broker import ServedBroker
from trio_kafka.testing.scripted_client import ScriptedClient
from trio_kafka.testing.simulation import simulated_world

METADATA = MetadataRequest(None)
JOB = "expireDelegationTokens"


def stored(served: ServedBroker) -> list[str]:
    """The ids of the tokens in the metadata."""
    return list(served.broker.metadata.image.tokens)


def next_search_s(served: ServedBroker) -> float | None:
    (status,) = [job for job in served.broker.parts.scheduler.statuses if job.name == JOB]
    return status.next_in_s


async def login(client: ScriptedClient, token: CreateDelegationTokenResponse, **more: str) -> int:
    """The error of a login by token."""
    password = password_of(bytes(token.hmac))
    answer = await present(client, token.token_id, password, **more)
    return answer.error_code


@pytest.mark.parametrize("mechanism", ["SCRAM-SHA-256", "SCRAM-SHA-512"])
async def test_a_client_with_a_token_acts_as_its_owner(
    autojump_clock: MockClock, mechanism: str
) -> None:
    async with token_broker(AUTHORIZER) as served:
        acl = allow(Operation.DESCRIBE, ResourceType.TOPIC, "t", principal="User:ann")
        assert await create_acls(served, acl, allow_cluster(Operation.CREATE)) == [0, 0]
        await served.create_topic("t")
        await served.create_topic("secret")
        async with bearer(served, await create(served, "ann", "bob"), mechanism) as client:
            answer = await client.ask(METADATA, 12)

    assert [topic.name for topic in answer.topics] == ["t"]


async def test_a_token_is_no_user_and_a_user_is_no_token(autojump_clock: MockClock) -> None:
    failed = ErrorCode.SASL_AUTHENTICATION_FAILED
    async with token_broker() as served:
        token = await create(served)
        for extension in (
            "",
            ",tokenauth=false",
            ",tokenauths=true",
            ",x=tokenauth",
            ",TOKENAUTH=true",
        ):
            async with served.connect(LISTENER) as client:
                assert await login(client, token, extension=extension) == failed
        for extension in (",tokenauth=true", ",x=y,tokenauth=TRUE"):
            async with served.connect(LISTENER) as client:
                assert await login(client, token, extension=extension) == 0


async def test_a_wrong_password_of_a_token_fails_as_an_unknown_token_does(
    autojump_clock: MockClock,
) -> None:
    async with token_broker() as served:
        token = await create(served)
        answers = []
        for token_id in (token.token_id, "unknown"):
            async with served.connect(LISTENER) as client:
                answers.append(await present(client, token_id, "wrong"))

    assert answers[0] == answers[1]
    assert answers[0].error_code == ErrorCode.SASL_AUTHENTICATION_FAILED


async def test_a_session_ends_with_its_token(autojump_clock: MockClock) -> None:
    async with token_broker() as served:
        token = await create(served, life_ms=60_000)
        async with served.connect(LISTENER) as client:
            answer = await present(client, token.token_id, password_of(bytes(token.hmac)))
            assert answer.error_code == 0
            assert 0 < answer.session_lifetime_ms <= 60_000
            await trio.sleep(50)
            await client.ask(METADATA, 12)
            await trio.sleep(11)
            with pytest.raises((ConnectionError, trio.BrokenResourceError, EOFError)):
                await client.ask(METADATA, 12)


async def test_a_removed_token_does_not_log_in_but_its_session_goes_on(
    autojump_clock: MockClock,
) -> None:
    async with token_broker() as served:
        token = await create(served)
        async with bearer(served, token) as client:
            await ask_as(served, "ann", ExpireDelegationTokenRequest(token.hmac, -1))
            assert (await client.ask(METADATA, 12)).topics == []
            async with served.connect(LISTENER) as other:
                assert await login(other, token) == ErrorCode.SASL_AUTHENTICATION_FAILED


async def test_a_token_that_has_ended_does_not_log_in_before_it_is_removed(
    autojump_clock: MockClock,
) -> None:
    async with token_broker() as served:
        token = await create(served, life_ms=1000)
        await trio.sleep(2)
        async with served.connect(LISTENER) as client:
            assert await login(client, token) == ErrorCode.SASL_AUTHENTICATION_FAILED
        (row,) = await described(served)
        assert row.token_id == token.token_id


async def test_records_of_tokens_that_have_ended_are_removed_at_the_interval(
    autojump_clock: MockClock,
) -> None:
    interval_s = 60.0
    settings = {
        "delegation.token.expiry.check.interval.ms": str(int(interval_s * 1000)),
        "delegation.token.expiry.time.ms": "240000",
    }
    async with token_broker(settings) as served:
        assert next_search_s(served) is None  # without tokens nothing is searched
        short = await create(served, life_ms=90_000)
        long = await create(served)
        await trio.sleep(interval_s + 10)
        assert set(stored(served)) == {short.token_id, long.token_id}
        await trio.sleep(interval_s)
        assert stored(served) == [long.token_id]
        await trio.sleep(240)
        assert stored(served) == []
        assert next_search_s(served) is None


async def test_tokens_that_ended_while_the_broker_was_down_are_removed_after_its_start(
    autojump_clock: MockClock,
) -> None:
    world = simulated_world()
    async with token_broker(world=world) as served:
        token = await create(served, life_ms=1000)
    async with token_broker(world=world) as served:
        assert stored(served) == [token.token_id]
        await trio.sleep(3601)
        assert stored(served) == []


async def test_a_key_that_was_changed_ends_all_tokens(autojump_clock: MockClock) -> None:
    world = simulated_world()
    async with token_broker(world=world) as served:
        token = await create(served)
    async with token_broker({"delegation.token.secret.key": "other"}, world) as served:
        async with served.connect(LISTENER) as client:
            assert await login(client, token) == ErrorCode.SASL_AUTHENTICATION_FAILED
        (row,) = await described(served)
        assert row.token_id == token.token_id
        assert row.hmac != token.hmac
