"""CreateAcls (key 30): create access control entries.

Waits until the entries are durable and this broker decides by them. Each entry is checked by
itself; the valid ones are created all or none. An entry that exists is no error. Without an
authorizer the answer is SECURITY_DISABLED. Source: KIP-140, KIP-290, KIP-1276.

Needs ALTER on the cluster.
"""

from trio_kafka.controller.controller import Controller
from trio_kafka.errors import ErrorCode, KafkaError
from trio_kafka.protocol.messages.k30_create_acls import (
    AclCreationResult,
    CreateAclsRequest,
    CreateAclsResponse,
)
from trio_kafka.requests.acl_changes import change_acls
from trio_kafka.requests.api import api
from trio_kafka.requests.context import Context
from trio_kafka.requests.lazy_arrays import rows_of
from trio_kafka.security.acls.entries import acl_of


def say_error(
    request: CreateAclsRequest, code: ErrorCode, message: str | None
) -> CreateAclsResponse:
    """Return the error for each entry."""
    return CreateAclsResponse(
        results=rows_of(request.creations, lambda _: AclCreationResult(code, message))
    )


@api(CreateAclsRequest, error=say_error)
async def create_acls(request: CreateAclsRequest, context: Context) -> CreateAclsResponse:
    created = await change_acls(request.creations, acl_of, Controller.create_acls, context)
    return CreateAclsResponse(results=rows_of(created, _result))


def _result(error: KafkaError | None) -> AclCreationResult:
    if error is None:
        return AclCreationResult()
    return AclCreationResult(error.code, error.message)
