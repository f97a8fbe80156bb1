"""DescribeAcls (key 29): list access control entries that pass a filter.

Never waits; many entries are searched in steps. Entries of the same pattern are one resource of the
response. Without an authorizer the answer is SECURITY_DISABLED. Source: KIP-140, KIP-290.

Needs DESCRIBE on the cluster.
"""

from trio_kafka.controller.acls import check_filter
from trio_kafka.pending import Eventual
from trio_kafka.protocol.messages.k29_describe_acls import (
    AclDescription,
    DescribeAclsRequest,
    DescribeAclsResource,
    DescribeAclsResponse,
)
from trio_kafka.protocol.stored.metadata.security import AccessControlEntryRecord
from trio_kafka.requests.acl_changes import check_authorizer
from trio_kafka.requests.api import api
from trio_kafka.requests.context import Context
from trio_kafka.requests.rows import for_each
from trio_kafka.security.acls.entries import acl_of, pattern_and_description
from trio_kafka.security.acls.filters import filter_of
from trio_kafka.security.operations import Operation


@api(DescribeAclsRequest)
def describe_acls(request: DescribeAclsRequest, context: Context) -> Eventual[DescribeAclsResponse]:
    context.authorize(Operation.DESCRIBE, cluster=True)
    check_authorizer(context)
    acl_filter = filter_of(request)
    check_filter(acl_filter)
    resources: dict[tuple[int, str, int], DescribeAclsResource] = {}

    def look_at(record: AccessControlEntryRecord) -> None:
        acl = acl_of(record)
        if acl_filter.matches(acl):
            pattern, description = pattern_and_description(acl)
            resource = resources.get(pattern)
            if resource is None:
                resource = resources[pattern] = DescribeAclsResource(*pattern, acls=[])
            resource.acls.append(AclDescription(*description))

    return for_each(
        context.image.acls.values(),
        look_at,
        lambda: DescribeAclsResponse(resources=list(resources.values())),
    )
