"""DeleteAcls (key 31): delete the access control entries that filters match.

Waits until the removals are durable and this broker no longer decides by the entries. Each filter
is checked by itself, and its result lists what it matched; the entries are removed all or none.
Without an authorizer the answer is SECURITY_DISABLED. Source: KIP-140, KIP-290.

Needs ALTER on the cluster.
"""

from collections.abc import Sequence

import trio

from trio_kafka.controller.acls import Deleted
from trio_kafka.controller.controller import Controller
from trio_kafka.errors import ErrorCode, KafkaError
from trio_kafka.introspect.declared_waits import CONTROLLER, waits_for
from trio_kafka.protocol.messages.k31_delete_acls import (
    DeleteAclsFilter,
    DeleteAclsFilterResult,
    DeleteAclsMatchingAcl,
    DeleteAclsRequest,
    DeleteAclsResponse,
)
from trio_kafka.requests.api import api
from trio_kafka.requests.context import Context
from trio_kafka.requests.lazy_arrays import rows_of
from trio_kafka.requests.rows import visit
from trio_kafka.security.acls.entries import Acl
from trio_kafka.security.acls.filters import AclFilter
from trio_kafka.security.operations import Operation


def say_error(
    request: DeleteAclsRequest, code: ErrorCode, message: str | None
) -> DeleteAclsResponse:
    """Return the error for each filter."""
    return DeleteAclsResponse(
        filter_results=rows_of(request.filters, lambda _: DeleteAclsFilterResult(code, message))
    )


@api(DeleteAclsRequest, error=say_error)
async def delete_acls(request: DeleteAclsRequest, context: Context) -> DeleteAclsResponse:
    context.authorize(Operation.ALTER, cluster=True)
    if context.allows_all:
        raise KafkaError(ErrorCode.SECURITY_DISABLED, "this broker has no authorizer")
    filters: list[AclFilter] = []
    await visit(request.filters, lambda acl_filter: filters.append(_filter(acl_filter)))
    deleted = await context.parked(_delete, filters, context)
    return DeleteAclsResponse(filter_results=rows_of(deleted, _result))


@waits_for("change", CONTROLLER, "the controller to delete ACLs")
async def _delete(filters: Sequence[AclFilter], context: Context) -> Deleted:
    deadline = trio.current_time() + context.config.request_timeout_ms / 1000
    return await context[Controller].delete_acls(filters, deadline=deadline)


def _filter(acl_filter: DeleteAclsFilter) -> AclFilter:
    return AclFilter(
        acl_filter.resource_type_filter,
        acl_filter.resource_name_filter,
        acl_filter.pattern_type_filter,
        acl_filter.principal_filter,
        acl_filter.host_filter,
        acl_filter.operation,
        acl_filter.permission_type,
    )


def _result(deleted: list[Acl] | KafkaError) -> DeleteAclsFilterResult:
    if isinstance(deleted, KafkaError):
        return DeleteAclsFilterResult(deleted.code, deleted.message)
    return DeleteAclsFilterResult(error_message=None, matching_acls=rows_of(deleted, _matching))


def _matching(acl: Acl) -> DeleteAclsMatchingAcl:
    return DeleteAclsMatchingAcl(
        error_message=None,
        resource_type=acl.resource_type,
        resource_name=acl.name,
        pattern_type=acl.pattern_type,
        principal=acl.principal,
        host=acl.host,
        operation=acl.operation,
        permission_type=acl.permission,
    )
