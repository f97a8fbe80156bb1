"""Requests that change access control entries."""

import pytest
from trio.testing import MockClock

from tests.apis.acls import allow, allow_cluster, broker_with_acls, creations, filters
from tests.apis.kit import broker
from trio_kafka.errors import ErrorCode
from trio_kafka.protocol.messages.k30_create_acls import CreateAclsRequest
from trio_kafka.protocol.messages.k31_delete_acls import DeleteAclsRequest
from trio_kafka.security.acls.filters import AclFilter
from trio_kafka.security.operations import Operation

READ = allow(Operation.READ, name="t")
CREATE = CreateAclsRequest(creations(READ))
DELETE = DeleteAclsRequest(filters(AclFilter()))


@pytest.mark.parametrize("request_", [CREATE, DELETE])
async def test_change_needs_alter_on_the_cluster_and_an_authorizer(
    autojump_clock: MockClock, request_: CreateAclsRequest | DeleteAclsRequest
) -> None:
    async with broker_with_acls(allow_cluster(Operation.DESCRIBE)) as served:
        denied = await served.ask(request_)
    async with broker() as open_broker:
        disabled = await open_broker.ask(request_)

    codes = [
        (answer.results if isinstance(request_, CreateAclsRequest) else answer.filter_results)[0]
        for answer in (denied, disabled)
    ]
    assert [row.error_code for row in codes] == [
        ErrorCode.CLUSTER_AUTHORIZATION_FAILED,
        ErrorCode.SECURITY_DISABLED,
    ]
