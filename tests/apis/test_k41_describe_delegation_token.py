"""DescribeDelegationToken: which tokens a client sees."""

import pytest
from trio.testing import MockClock

from tests.apis.acls import AUTHORIZER, allow
from tests.apis.acls import create as create_acls
from tests.apis.kit import stable
from tests.broker.sasl import sasl_broker
from tests.broker.tokens import ask_as, bearer, create, described, token_broker
from trio_kafka.errors import ErrorCode
from trio_kafka.protocol.messages.k41_describe_delegation_token import (
    DescribeDelegationTokenOwner,
    DescribeDelegationTokenRequest,
)
from trio_kafka.security.operations import Operation
from trio_kafka.security.resources import ResourceType

ALL = DescribeDelegationTokenRequest(None)


@pytest.mark.parametrize("version", stable(DescribeDelegationTokenRequest))
async def test_owners_choose_the_tokens_that_are_theirs_or_that_they_may_renew(
    autojump_clock: MockClock, version: int
) -> None:
    def of(*names: str) -> DescribeDelegationTokenRequest:
        return DescribeDelegationTokenRequest(
            [DescribeDelegationTokenOwner("User", name) for name in names]
        )

    async with token_broker() as served:
        first, second = await create(served, "ann", "eve"), await create(served, "bob")

        async def ids(request: DescribeDelegationTokenRequest) -> set[str]:
            answer = await ask_as(served, "ann", request, version)
            assert answer.error_code == 0
            return {row.token_id for row in answer.tokens}

        assert await ids(ALL) == {first.token_id, second.token_id}
        assert await ids(of("ann")) == await ids(of("eve")) == {first.token_id}
        assert await ids(of("ann", "bob")) == {first.token_id, second.token_id}
        assert await ids(of("nobody")) == await ids(of()) == set()


async def test_with_acls_a_client_sees_its_own_tokens_and_those_that_it_may_describe(
    autojump_clock: MockClock,
) -> None:
    token, user = ResourceType.DELEGATION_TOKEN, ResourceType.USER
    async with token_broker(AUTHORIZER) as served:
        own, shared = await create(served, "bob"), await create(served, "ann", "bob")
        other = await create(served, "ann")
        seen = {row.token_id for row in await described(served, "bob")}
        by_id = allow(Operation.DESCRIBE, token, other.token_id, principal="User:bob")
        assert await create_acls(served, by_id) == [0]
        seen_by_id = {row.token_id for row in await described(served, "bob")}
        of_user = allow(Operation.DESCRIBE_TOKENS, user, "User:bob", principal="User:ann")
        assert await create_acls(served, of_user) == [0]
        seen_by_user = {row.token_id for row in await described(served, "ann")}

    every = {own.token_id, shared.token_id, other.token_id}
    assert seen == {own.token_id, shared.token_id}
    assert seen_by_id == every
    assert seen_by_user == every


async def test_a_client_sees_tokens_that_it_requested_for_another_owner(
    autojump_clock: MockClock,
) -> None:
    for_bob = allow(Operation.CREATE_TOKENS, ResourceType.USER, "User:bob", principal="User:ann")
    async with token_broker(AUTHORIZER) as served:
        assert await create_acls(served, for_bob) == [0]
        token = await create(served, "ann", owner="bob")
        await create(served, "bob")
        of_ann = DescribeDelegationTokenRequest([DescribeDelegationTokenOwner("User", "ann")])
        seen_by_ann = await described(served, "ann")
        chosen_by_bob = (await ask_as(served, "bob", of_ann)).tokens

    assert token.error_code == 0
    for rows in (seen_by_ann, chosen_by_bob):
        assert [(row.token_id, row.principal_name) for row in rows] == [(token.token_id, "bob")]


async def test_clients_without_an_identity_of_their_own_see_no_token(
    autojump_clock: MockClock,
) -> None:
    async with token_broker() as served:
        token = await create(served)
        async with bearer(served, token) as client:
            answers = [await client.ask(ALL, 3), await served.ask(ALL)]
    async with sasl_broker() as served:
        disabled = await ask_as(served, "ann", ALL)

    for answer in answers:
        assert answer.error_code == ErrorCode.DELEGATION_TOKEN_REQUEST_NOT_ALLOWED
        assert answer.tokens == []
    assert disabled.error_code == ErrorCode.DELEGATION_TOKEN_AUTH_DISABLED


async def test_many_tokens_are_listed_in_steps(autojump_clock: MockClock) -> None:
    async with token_broker() as served:
        ids = {(await create(served)).token_id for _ in range(60)}
        assert {row.token_id for row in await described(served)} == ids
