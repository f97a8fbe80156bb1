"""DescribeUserScramCredentials (key 50): list the SCRAM mechanisms of users, without keys.

Never waits; many users are listed in steps. A user who is named twice gets DUPLICATE_RESOURCE, an
unknown one RESOURCE_NOT_FOUND. Source: KIP-554; ScramImage of Apache Kafka 4.4.0.

Needs DESCRIBE on the cluster.
"""

from collections import Counter
from collections.abc import Iterable

from trio_kafka.errors import ErrorCode
from trio_kafka.pending import Eventual
from trio_kafka.protocol.messages.k50_describe_user_scram_credentials import (
    CredentialInfo,
    DescribeUserScramCredentialsRequest,
    DescribeUserScramCredentialsResponse,
    DescribeUserScramCredentialsResult,
    UserName,
)
from trio_kafka.protocol.stored.metadata.security import UserScramCredentialRecord
from trio_kafka.requests.api import api
from trio_kafka.requests.context import Context
from trio_kafka.requests.rows import for_each
from trio_kafka.security.operations import Operation
from trio_kafka.security.sasl.scram import BY_NUMBER


@api(DescribeUserScramCredentialsRequest)
def describe_user_scram_credentials(
    request: DescribeUserScramCredentialsRequest, context: Context
) -> Eventual[DescribeUserScramCredentialsResponse]:
    context.authorize(Operation.DESCRIBE, cluster=True)
    credentials = context.image.scram
    if not request.users:
        return _describe_all(credentials.values())
    times: Counter[str] = Counter()
    results: list[DescribeUserScramCredentialsResult] = []

    def look_at(user: UserName) -> None:
        times[user.name] += 1
        if times[user.name] == 1:
            records = (credentials.get((user.name, number)) for number in BY_NUMBER)
            results.append(_result(user.name, filter(None, records)))

    def finish() -> DescribeUserScramCredentialsResponse:
        rows = [_repeated(row.user) if times[row.user] > 1 else row for row in results]
        return DescribeUserScramCredentialsResponse(results=rows)

    return for_each(request.users, look_at, finish)


def _describe_all(
    records: Iterable[UserScramCredentialRecord],
) -> Eventual[DescribeUserScramCredentialsResponse]:
    results: dict[str, DescribeUserScramCredentialsResult] = {}

    def look_at(record: UserScramCredentialRecord) -> None:
        row = results.get(record.name)
        if row is None:
            results[record.name] = _result(record.name, [record])
        else:
            row.credential_infos.append(CredentialInfo(record.mechanism, record.iterations))

    return for_each(
        records,
        look_at,
        lambda: DescribeUserScramCredentialsResponse(results=list(results.values())),
    )


def _result(
    user: str, records: Iterable[UserScramCredentialRecord]
) -> DescribeUserScramCredentialsResult:
    infos = [CredentialInfo(record.mechanism, record.iterations) for record in records]
    if infos:
        return DescribeUserScramCredentialsResult(user=user, credential_infos=infos)
    return DescribeUserScramCredentialsResult(
        user,
        ErrorCode.RESOURCE_NOT_FOUND,
        f"Attempt to describe a user credential that does not exist: {user}",
    )


def _repeated(user: str) -> DescribeUserScramCredentialsResult:
    return DescribeUserScramCredentialsResult(
        user,
        ErrorCode.DUPLICATE_RESOURCE,
        "Cannot describe SCRAM credentials for the same user twice in a single request: " + user,
    )
