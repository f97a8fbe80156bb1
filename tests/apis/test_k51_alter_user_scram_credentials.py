import pytest
from attrs import evolve
from trio.testing import MockClock

from tests.apis.acls import allow_cluster, ask_as_broker, broker_with_acls
from tests.apis.kit import broker
from tests.broker.sasl import upsertion
from trio_kafka.errors import ErrorCode
from trio_kafka.protocol.messages.k50_describe_user_scram_credentials import (
    DescribeUserScramCredentialsRequest,
)
from trio_kafka.protocol.messages.k51_alter_user_scram_credentials import (
    AlterUserScramCredentialsRequest,
    ScramCredentialDeletion,
)
from trio_kafka.security.operations import Operation
from trio_kafka.testing.broker import ServedBroker, served_broker
from trio_kafka.testing.simulation import simulated_world

CREATE = AlterUserScramCredentialsRequest(upsertions=[upsertion("ann", "pw")])


async def users(served: ServedBroker) -> list[str]:
    answer = await served.ask(DescribeUserScramCredentialsRequest(None))
    return [row.user for row in answer.results]


async def test_each_user_succeeds_or_fails_by_itself(autojump_clock: MockClock) -> None:
    few = evolve(upsertion("bob", "pw"), iterations=4095)
    request = AlterUserScramCredentialsRequest(
        deletions=[ScramCredentialDeletion("eve", 1)], upsertions=[upsertion("ann", "pw"), few]
    )
    async with broker() as served:
        answer = await served.ask(request)
        stored = await users(served)

    assert {row.user: row.error_code for row in answer.results} == {
        "eve": ErrorCode.RESOURCE_NOT_FOUND,
        "ann": 0,
        "bob": ErrorCode.UNACCEPTABLE_CREDENTIAL,
    }
    assert stored == ["ann"]


async def test_a_user_of_two_changes_gets_an_error_and_keeps_its_credential(
    autojump_clock: MockClock,
) -> None:
    request = AlterUserScramCredentialsRequest(
        deletions=[ScramCredentialDeletion("ann", 1)],
        upsertions=[upsertion("ann", "pw", "SCRAM-SHA-512"), upsertion("bob", "pw")],
    )
    async with broker() as served:
        await served.ask(CREATE)
        answer = await served.ask(request)
        stored = await served.ask(DescribeUserScramCredentialsRequest(None))

    message = "A user credential cannot be altered twice in the same request"
    assert {row.user: (row.error_code, row.error_message) for row in answer.results} == {
        "ann": (ErrorCode.DUPLICATE_RESOURCE, message),
        "bob": (0, None),
    }
    mechanisms = {
        row.user: [info.mechanism for info in row.credential_infos] for row in stored.results
    }
    assert mechanisms == {"ann": [1], "bob": [1]}


async def test_a_credential_survives_a_restart_and_is_gone_after_its_deletion(
    autojump_clock: MockClock,
) -> None:
    world = simulated_world()
    async with served_broker(world) as served:
        await served.ask(CREATE)
    async with served_broker(world) as served:
        assert await users(served) == ["ann"]
        deletion = AlterUserScramCredentialsRequest([ScramCredentialDeletion("ann", 1)])
        assert [row.error_code for row in (await served.ask(deletion)).results] == [0]
        assert await users(served) == []


async def test_changing_users_needs_alter_on_the_cluster(autojump_clock: MockClock) -> None:
    async with broker_with_acls(allow_cluster(Operation.DESCRIBE)) as served:
        denied = await served.ask(CREATE)
        stored = await users(served)
    async with broker_with_acls(allow_cluster(Operation.ALTER)) as served:
        allowed = await served.ask(CREATE)

    assert [row.error_code for row in denied.results] == [ErrorCode.CLUSTER_AUTHORIZATION_FAILED]
    assert stored == []
    assert [row.error_code for row in allowed.results] == [0]


@pytest.mark.parametrize("count", [0, 500])
async def test_requests_about_any_number_of_users_are_answered_for_each(
    autojump_clock: MockClock, count: int
) -> None:
    ann = upsertion("ann", "pw")
    request = AlterUserScramCredentialsRequest(
        upsertions=[evolve(ann, name=f"u{number}") for number in range(count)]
    )
    async with broker() as served:
        answer = await ask_as_broker(served, request)

    assert [row.error_code for row in answer.results] == [0] * count
