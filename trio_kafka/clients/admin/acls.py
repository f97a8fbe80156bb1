"""Calls about access control lists. Values are those of `trio_kafka.security.acls`."""

from collections.abc import Iterable, Iterator, Sequence

from trio_kafka.clients.admin.calls.call import (
    Call,
    Plan,
    Rejection,
    perform,
    perform_single,
    result_of,
)
from trio_kafka.clients.admin.calls.execution import item_error
from trio_kafka.clients.admin.calls.results import Results
from trio_kafka.clients.admin.calls.targets import ANY, CONTROLLER
from trio_kafka.clients.errors import ClientError, Place, error_of
from trio_kafka.protocol.messages.k29_describe_acls import DescribeAclsRequest, DescribeAclsResponse
from trio_kafka.protocol.messages.k30_create_acls import (
    AclCreation,
    CreateAclsRequest,
    CreateAclsResponse,
)
from trio_kafka.protocol.messages.k31_delete_acls import (
    DeleteAclsFilter,
    DeleteAclsMatchingAcl,
    DeleteAclsRequest,
    DeleteAclsResponse,
)
from trio_kafka.security.acls.entries import (
    Acl,
    PatternType,
    PermissionType,
    acl_of,
    described_acl,
)
from trio_kafka.security.acls.filters import AclFilter
from trio_kafka.security.operations import Operation
from trio_kafka.security.resources import ResourceType

__all__ = [
    "Acl",
    "AclFilter",
    "Deleted",
    "Operation",
    "PatternType",
    "PermissionType",
    "ResourceType",
    "create_acls",
    "delete_acls",
    "describe_acls",
]
Deleted = Results[Acl, None]
_ALL = AclFilter()


def describe_acls(acl_filter: AclFilter = _ALL) -> Plan[list[Acl]]:
    """Return the entries that pass a filter. Raises ClientError(SECURITY_DISABLED) without ACLs."""
    call: Call[None, DescribeAclsResponse, list[Acl]] = Call(
        targets={None: ANY},
        request=lambda _items, _timeout_ms: DescribeAclsRequest(*acl_filter),
        read=_read_described,
    )
    return perform_single(call)


def create_acls(acls: Iterable[Acl]) -> Plan[Results[Acl, None]]:
    """Create entries; one that exists is created too."""

    def request(items: Sequence[Acl], _timeout_ms: int) -> CreateAclsRequest:
        return CreateAclsRequest([AclCreation(*acl) for acl in items])

    targets = dict.fromkeys(acls, CONTROLLER)
    return perform(Call(targets=targets, request=request, read=_read_created))


def delete_acls(filters: Iterable[AclFilter]) -> Plan[Results[AclFilter, Deleted]]:
    """Delete the entries that pass each filter. Returns, by filter, what was deleted or failed."""

    def request(items: Sequence[AclFilter], _timeout_ms: int) -> DeleteAclsRequest:
        return DeleteAclsRequest([DeleteAclsFilter(*acl_filter) for acl_filter in items])

    targets = dict.fromkeys(filters, CONTROLLER)
    return perform(Call(targets=targets, request=request, read=_read_deleted))


def _read_described(
    response: DescribeAclsResponse, _items: Sequence[None]
) -> Iterator[tuple[None, list[Acl] | Rejection]]:
    acls = [
        described_acl(resource, description)
        for resource in response.resources
        for description in resource.acls
    ]
    yield None, result_of(response.error_code, response.error_message, acls)


def _read_created(
    response: CreateAclsResponse, items: Sequence[Acl]
) -> Iterator[tuple[Acl, Rejection | None]]:
    for acl, row in zip(items, response.results, strict=False):  # one that is missing is an error
        yield acl, result_of(row.error_code, row.error_message, None)


def _read_deleted(
    response: DeleteAclsResponse, items: Sequence[AclFilter]
) -> Iterator[tuple[AclFilter, Deleted | Rejection]]:
    for acl_filter, row in zip(items, response.filter_results, strict=False):
        yield (
            acl_filter,
            result_of(row.error_code, row.error_message, _deleted(row.matching_acls)),
        )


def _deleted(rows: Iterable[DeleteAclsMatchingAcl]) -> Deleted:
    values: dict[Acl, None] = {}
    errors: dict[Acl, ClientError] = {}
    for row in rows:
        acl = acl_of(row)
        if row.error_code:
            errors[acl] = item_error(
                error_of(row.error_code), row.error_message, Place(), sent=True
            )
        else:
            values[acl] = None
    return Results(values, errors)
