from trio.testing import MockClock

from tests.apis.acls import allow_cluster, ask_as_broker, broker_with_acls
from tests.apis.kit import broker
from tests.broker.sasl import upsertion
from trio_kafka.errors import ErrorCode
from trio_kafka.protocol.messages.k50_describe_user_scram_credentials import (
    DescribeUserScramCredentialsRequest,
    DescribeUserScramCredentialsResponse,
    UserName,
)
from trio_kafka.protocol.messages.k51_alter_user_scram_credentials import (
    AlterUserScramCredentialsRequest,
)
from trio_kafka.security.operations import Operation

CREATE = AlterUserScramCredentialsRequest(
    upsertions=[upsertion("ann", "pw"), upsertion("bob", "pw", "SCRAM-SHA-512")]
)
ADD = AlterUserScramCredentialsRequest(upsertions=[upsertion("ann", "pw", "SCRAM-SHA-512")])
MISSING, TWICE = ErrorCode.RESOURCE_NOT_FOUND, ErrorCode.DUPLICATE_RESOURCE


def rows(response: DescribeUserScramCredentialsResponse) -> dict[str, object]:
    """Credentials by user, or the code of the error."""
    assert response.error_code == 0
    return {
        row.user: row.error_code or [(i.mechanism, i.iterations) for i in row.credential_infos]
        for row in response.results
    }


async def test_all_users_are_described_with_their_mechanisms(autojump_clock: MockClock) -> None:
    async with broker() as served:
        await served.ask(CREATE)
        await served.ask(ADD)
        everyone = await served.ask(DescribeUserScramCredentialsRequest(None))
        empty = await served.ask(DescribeUserScramCredentialsRequest([]))

    expected = {"ann": [(1, 4096), (2, 4096)], "bob": [(2, 4096)]}
    assert rows(everyone) == rows(empty) == expected


async def test_unknown_and_repeated_users_get_their_own_errors(autojump_clock: MockClock) -> None:
    names = [UserName(name) for name in ("ann", "eve", "bob", "ann")]
    async with broker() as served:
        await served.ask(CREATE)
        answer = await served.ask(DescribeUserScramCredentialsRequest(names))

    assert rows(answer) == {"ann": TWICE, "eve": MISSING, "bob": [(2, 4096)]}


async def test_describing_users_needs_describe_on_the_cluster(autojump_clock: MockClock) -> None:
    request = DescribeUserScramCredentialsRequest(None)
    async with broker_with_acls() as served:
        await ask_as_broker(served, CREATE)
        denied = await served.ask(request)
    async with broker_with_acls(allow_cluster(Operation.DESCRIBE)) as served:
        await ask_as_broker(served, CREATE)
        allowed = await served.ask(request)

    assert denied.error_code == ErrorCode.CLUSTER_AUTHORIZATION_FAILED
    assert list(rows(allowed)) == ["ann", "bob"]
