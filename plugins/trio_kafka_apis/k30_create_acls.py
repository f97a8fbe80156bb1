"""CreateAcls (key 30): create access control entries.

Waits until the entries are durable and this broker decides by them. Each entry is checked by
itself; the valid ones are created all or none. An entry that exists is no error. Without an
authorizer the answer is SECURITY_DISABLED. Source: KIP-140, KIP-290, KIP-1276.

Needs ALTER on the cluster.
"""

from collections.abc import Sequence

import trio

from trio_kafka.controller.acls import Created
from trio_kafka.controller.controller import Controller
from trio_kafka.errors import ErrorCode, KafkaError
from trio_kafka.introspect.declared_waits import CONTROLLER, waits_for
from trio_kafka.protocol.messages.k30_create_acls import (
    AclCreation,
    AclCreationResult,
    CreateAclsRequest,
    CreateAclsResponse,
)
from trio_kafka.requests.api import api
from trio_kafka.requests.context import Context
from trio_kafka.requests.lazy_arrays import rows_of
from trio_kafka.requests.rows import visit
from trio_kafka.security.acls.entries import Acl
from trio_kafka.security.operations import Operation


def say_error(
    request: CreateAclsRequest, code: ErrorCode, message: str | None
) -> CreateAclsResponse:
    """Return the error for each entry."""
    return CreateAclsResponse(
        results=rows_of(request.creations, lambda _: AclCreationResult(code, message))
    )


@api(CreateAclsRequest, error=say_error)
async def create_acls(request: CreateAclsRequest, context: Context) -> CreateAclsResponse:
    context.authorize(Operation.ALTER, cluster=True)
    if context.allows_all:
        raise KafkaError(ErrorCode.SECURITY_DISABLED, "this broker has no authorizer")
    acls: list[Acl] = []
    await visit(request.creations, lambda creation: acls.append(_acl(creation)))
    created = await context.parked(_create, acls, context)
    return CreateAclsResponse(results=rows_of(created, _result))


@waits_for("change", CONTROLLER, "the controller to create ACLs")
async def _create(acls: Sequence[Acl], context: Context) -> Created:
    deadline = trio.current_time() + context.config.request_timeout_ms / 1000
    return await context[Controller].create_acls(acls, deadline=deadline)


def _acl(creation: AclCreation) -> Acl:
    return Acl(
        creation.resource_type,
        creation.resource_name,
        creation.resource_pattern_type,
        creation.principal,
        creation.host,
        creation.operation,
        creation.permission_type,
    )


def _result(error: KafkaError | None) -> AclCreationResult:
    if error is None:
        return AclCreationResult()
    return AclCreationResult(error.code, error.message)
