"""Access control lists by the admin client."""

import pytest

from tests.clients.admin.kit import Cluster
from tests.clients.admin.test_opening import admin_of
from trio_kafka.clients.admin.acls import (
    Acl,
    AclFilter,
    Operation,
    PatternType,
    PermissionType,
    ResourceType,
    create_acls,
    delete_acls,
    describe_acls,
)
from trio_kafka.clients.errors import ClientError
from trio_kafka.errors import ErrorCode
from trio_kafka.protocol.messages import k29_describe_acls as k29
from trio_kafka.protocol.messages import k30_create_acls as k30
from trio_kafka.protocol.messages import k31_delete_acls as k31
from trio_kafka.testing.simulate import simulate

READ = Acl(
    ResourceType.TOPIC,
    "orders",
    PatternType.LITERAL,
    "User:ann",
    "*",
    Operation.READ,
    PermissionType.ALLOW,
)
WRITE = READ._replace(operation=Operation.WRITE)
AUTHORIZER = {
    "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
    "super.users": "User:ANONYMOUS",
}
OF_ANN = AclFilter(principal="User:ann")


def test_fields_of_an_entry_are_in_their_places():
    orders = k29.DescribeAclsResource(2, "orders", 3, [k29.AclDescription("User:ann", "*", 3, 3)])
    response = k29.DescribeAclsResponse(resources=[orders])
    cluster = Cluster({k29.DescribeAclsRequest: lambda _request: response})

    assert cluster.run(describe_acls(OF_ANN)) == [READ]
    ((_, request),) = cluster.requests
    assert (request.principal_filter, request.resource_name_filter) == ("User:ann", None)
    assert (request.resource_type_filter, request.operation, request.permission_type) == (1, 1, 1)


def test_entries_that_are_rejected_keep_the_others():
    results = [k30.AclCreationResult(), k30.AclCreationResult(ErrorCode.INVALID_REQUEST, "no")]
    response = k30.CreateAclsResponse(results=results)
    cluster = Cluster({k30.CreateAclsRequest: lambda _request: response})

    created = cluster.run(create_acls([READ, WRITE]))

    assert created[READ] is None
    assert created.errors[WRITE].code is ErrorCode.INVALID_REQUEST
    ((_, request),) = cluster.requests
    assert [(row.resource_name, row.operation) for row in request.creations] == [
        ("orders", 3),
        ("orders", 4),
    ]


def test_answer_that_lacks_an_entry_is_an_error_of_that_entry():
    response = k30.CreateAclsResponse(results=[k30.AclCreationResult()])
    cluster = Cluster({k30.CreateAclsRequest: lambda _request: response})

    created = cluster.run(create_acls([READ, WRITE]))

    assert created[READ] is None
    assert isinstance(created.errors[WRITE], ClientError)


def test_deletion_names_what_each_filter_has_deleted_and_what_not():
    rows = [
        k31.DeleteAclsMatchingAcl(0, None, *READ[:3], *READ[3:]),
        k31.DeleteAclsMatchingAcl(ErrorCode.UNKNOWN_SERVER_ERROR, "disk", *WRITE),
    ]
    answers = [
        k31.DeleteAclsFilterResult(matching_acls=rows),
        k31.DeleteAclsFilterResult(ErrorCode.INVALID_REQUEST, "no"),
    ]
    response = k31.DeleteAclsResponse(filter_results=answers)
    cluster = Cluster({k31.DeleteAclsRequest: lambda _request: response})
    wrong = AclFilter(resource_type=0)

    deleted = cluster.run(delete_acls([OF_ANN, wrong]))

    assert deleted[OF_ANN].values_by_item == {READ: None}
    assert deleted[OF_ANN].errors[WRITE].message == "disk"
    assert deleted.errors[wrong].code is ErrorCode.INVALID_REQUEST


@simulate(seeds=1, settings=AUTHORIZER)
async def test_entries_are_created_described_by_filter_and_deleted(sim):
    async with admin_of(sim) as admin:
        (await admin.create_acls([READ, WRITE])).all()
        assert set(await admin.describe_acls(OF_ANN)) == {READ, WRITE}
        assert await admin.describe_acls(AclFilter(name="orders", pattern_type=PatternType.MATCH))
        deleted = await admin.delete_acls([OF_ANN._replace(operation=Operation.WRITE)])
        assert [list(results) for results in deleted.all().values()] == [[WRITE]]
        assert await admin.describe_acls() == [READ]


@simulate(seeds=1)
async def test_broker_without_an_authorizer_says_so(sim):
    async with admin_of(sim) as admin:
        with pytest.raises(ClientError) as raised:
            await admin.describe_acls()

    assert raised.value.code is ErrorCode.SECURITY_DISABLED
