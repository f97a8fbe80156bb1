"""DeleteAcls (key 31): delete the access control entries that filters match.

Waits until the removals are durable and this broker no longer decides by the entries. Each filter
is checked by itself, and its result lists what it matched; the entries are removed all or none.
Without an authorizer the answer is SECURITY_DISABLED. Source: KIP-140, KIP-290.

Needs ALTER on the cluster.
"""

from trio_kafka.controller.controller import Controller
from trio_kafka.errors import ErrorCode, KafkaError
from trio_kafka.protocol.messages.k31_delete_acls import (
    DeleteAclsFilterResult,
    DeleteAclsMatchingAcl,
    DeleteAclsRequest,
    DeleteAclsResponse,
)
from trio_kafka.requests.acl_changes import change_acls
from trio_kafka.requests.api import api
from trio_kafka.requests.context import Context
from trio_kafka.requests.lazy_arrays import rows_of
from trio_kafka.security.acls.entries import Acl
from trio_kafka.security.acls.filters import filter_of


def say_error(
    request: DeleteAclsRequest, code: ErrorCode, message: str | None
) -> DeleteAclsResponse:
    """Return the error for each filter."""
    return DeleteAclsResponse(
        filter_results=rows_of(request.filters, lambda _: DeleteAclsFilterResult(code, message))
    )


@api(DeleteAclsRequest, error=say_error)
async def delete_acls(request: DeleteAclsRequest, context: Context) -> DeleteAclsResponse:
    deleted = await change_acls(request.filters, filter_of, Controller.delete_acls, context)
    return DeleteAclsResponse(filter_results=rows_of(deleted, _result))


def _result(deleted: list[Acl] | KafkaError) -> DeleteAclsFilterResult:
    if isinstance(deleted, KafkaError):
        return DeleteAclsFilterResult(deleted.code, deleted.message)
    return DeleteAclsFilterResult(error_message=None, matching_acls=rows_of(deleted, _matching))


def _matching(acl: Acl) -> DeleteAclsMatchingAcl:
    return DeleteAclsMatchingAcl(0, None, *acl)
