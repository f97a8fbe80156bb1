"""AlterUserScramCredentials (key 51): store and remove SCRAM credentials of users.

Waits until the changes are durable and this broker decides by them. Clients send a salted password,
of which only two keys are stored. Each user succeeds or fails as a whole. Source: KIP-554;
ScramControlManager of Apache Kafka 4.4.0.

Needs ALTER on the cluster.
"""

from collections.abc import Sequence

import trio

from trio_kafka.controller.controller import Controller
from trio_kafka.controller.scram import Altered, ScramChange, ScramUpsertion
from trio_kafka.errors import ErrorCode, KafkaError
from trio_kafka.introspect.declared_waits import CONTROLLER, waits_for
from trio_kafka.protocol.messages.k51_alter_user_scram_credentials import (
    AlterUserScramCredentialsRequest,
    AlterUserScramCredentialsResponse,
    AlterUserScramCredentialsResult,
    ScramCredentialDeletion,
    ScramCredentialUpsertion,
)
from trio_kafka.requests.api import api
from trio_kafka.requests.context import Context
from trio_kafka.requests.rows import visit
from trio_kafka.security.operations import Operation


def say_error(
    request: AlterUserScramCredentialsRequest, code: ErrorCode, message: str | None
) -> AlterUserScramCredentialsResponse:
    """Return the error for each user."""
    users = dict.fromkeys(row.name for row in request.deletions)
    users |= dict.fromkeys(row.name for row in request.upsertions)
    return AlterUserScramCredentialsResponse(
        results=[AlterUserScramCredentialsResult(user, code, message) for user in users]
    )


@api(AlterUserScramCredentialsRequest, error=say_error)
async def alter_user_scram_credentials(
    request: AlterUserScramCredentialsRequest, context: Context
) -> AlterUserScramCredentialsResponse:
    context.authorize(Operation.ALTER, cluster=True)
    changes: list[ScramChange] = []
    await visit(request.deletions, lambda row: changes.append(_deletion(row)))
    await visit(request.upsertions, lambda row: changes.append(_upsertion(row)))
    altered = await context.parked(_alter, changes, context)
    return AlterUserScramCredentialsResponse(
        results=[_result(user, error) for user, error in altered.items()]
    )


@waits_for("change", CONTROLLER, "the controller to change credentials")
async def _alter(changes: Sequence[ScramChange], context: Context) -> Altered:
    deadline = trio.current_time() + context.config.request_timeout_ms / 1000
    return await context[Controller].alter_scram(changes, deadline=deadline)


def _deletion(row: ScramCredentialDeletion) -> ScramChange:
    return ScramChange(row.name, row.mechanism)


def _upsertion(row: ScramCredentialUpsertion) -> ScramChange:
    salt, salted = bytes(row.salt), bytes(row.salted_password)
    return ScramChange(
        row.name,
        row.mechanism,
        ScramUpsertion(salt=salt, salted_password=salted, iterations=row.iterations),
    )


def _result(user: str, error: KafkaError | None) -> AlterUserScramCredentialsResult:
    if error is None:
        return AlterUserScramCredentialsResult(user, error_message=None)
    return AlterUserScramCredentialsResult(user, error.code, error.message)
