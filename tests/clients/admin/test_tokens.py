"""Delegation tokens by the admin client."""

import pytest
from trio.testing import MockClock

from tests.broker.sasl import LISTENER, PACKAGE
from tests.broker.tokens import token_broker
from tests.clients.admin.kit import Cluster
from tests.clients.test_sasl import settings
from trio_kafka.clients import open_admin
from trio_kafka.clients.admin.tokens import (
    DelegationToken,
    create_delegation_token,
    describe_delegation_token,
)
from trio_kafka.clients.errors import ClientError
from trio_kafka.errors import ErrorCode
from trio_kafka.protocol.messages import k38_create_delegation_token as k38
from trio_kafka.protocol.messages import k41_describe_delegation_token as k41

HOUR_MS = 3_600_000


def test_requests_have_the_principals_and_no_text_shows_the_hmac() -> None:
    created = k38.CreateDelegationTokenResponse(
        principal_type="User", principal_name="eve", token_id="id", hmac=b"c4n4ry"
    )
    cluster = Cluster(
        {
            k38.CreateDelegationTokenRequest: lambda _request: created,
            k41.DescribeDelegationTokenRequest: lambda _request: (
                k41.DescribeDelegationTokenResponse()
            ),
        }
    )

    plan = create_delegation_token(owner="User:eve", renewers=["User:a:b"], max_lifetime_ms=7)
    token = cluster.run(plan)
    for owners in (None, [], ["User:ann"]):
        assert cluster.run(describe_delegation_token(owners)) == []

    requests = [request for _, request in cluster.requests]
    assert requests[0] == k38.CreateDelegationTokenRequest(
        "User", "eve", [k38.CreatableRenewers("User", "a:b")], 7
    )
    requested_owners = [request.owners for request in requests[1:]]
    assert requested_owners == [None, [], [k41.DescribeDelegationTokenOwner("User", "ann")]]
    assert (token.owner, token.requester, token.renewers) == ("User:eve", "", ("User:a:b",))
    assert (token.hmac, token.password) == (b"c4n4ry", "YzRuNHJ5")
    assert "c4n4ry" not in repr(token)
    assert "YzRuNHJ5" not in repr(token)


def test_a_text_that_is_no_principal_is_refused() -> None:
    cluster = Cluster({})
    for plan in (
        lambda: create_delegation_token(owner="ann"),
        lambda: create_delegation_token(renewers=["User:"]),
        lambda: describe_delegation_token([""]),
    ):
        with pytest.raises(ValueError, match="expected type:name"):
            cluster.run(plan())


async def test_a_token_is_made_renewed_used_and_ended(autojump_clock: MockClock) -> None:
    async with token_broker() as served:
        address, world = served.broker.endpoints[LISTENER], served.broker.world
        async with open_admin(settings(address), world=world) as admin:
            token = await admin.create_delegation_token(renewers=["User:bob"])
            assert await admin.describe_delegation_token() == [token]
            assert await admin.describe_delegation_token(["User:eve"]) == []
            soon_ms = await admin.renew_delegation_token(token.hmac, renew_period_ms=HOUR_MS)
            assert HOUR_MS <= soon_ms - token.issue_ms < 2 * HOUR_MS
            async with open_admin(by_token(address, token), world=world) as other:
                assert (await other.describe_cluster()).cluster_id
                with pytest.raises(ClientError) as refused:
                    await other.create_delegation_token()
            ends_ms = await admin.expire_delegation_token(token.hmac)
            assert token.issue_ms <= ends_ms < soon_ms
            assert await admin.describe_delegation_token() == []
            with pytest.raises(ClientError) as unknown:
                await admin.renew_delegation_token(token.hmac)

    assert refused.value.code is ErrorCode.DELEGATION_TOKEN_REQUEST_NOT_ALLOWED
    assert unknown.value.code is ErrorCode.DELEGATION_TOKEN_NOT_FOUND
    for error in (refused.value, unknown.value):
        assert token.password not in repr(error)
        assert repr(token.hmac)[2:-1] not in repr(error)


def by_token(address: object, token: DelegationToken) -> dict[str, object]:
    login = f'username="{token.token_id}" password="{token.password}" tokenauth=true'
    module = f"{PACKAGE}.scram.ScramLoginModule required"
    return {
        **settings(address, "SCRAM-SHA-256"),
        "sasl.jaas.config": f"{module} {login};",
    }
