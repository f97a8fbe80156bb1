import pytest

from tests.apis.acls import allow
from trio_kafka.protocol.messages import k29_describe_acls as k29
from trio_kafka.protocol.messages import k30_create_acls as k30
from trio_kafka.protocol.messages import k31_delete_acls as k31
from trio_kafka.protocol.stored.metadata.security import AccessControlEntryRecord
from trio_kafka.security.acls.entries import (
    ANYONE,
    Acl,
    acl_of,
    described_acl,
    pattern_and_description,
    record_of,
)
from trio_kafka.security.acls.filters import AclFilter, filter_of
from trio_kafka.security.operations import Operation

ACL = Acl(2, "t", 4, "User:a", "h", 3, 2)


def test_an_entry_is_the_same_after_it_was_stored() -> None:
    acl = allow(Operation.READ, name="t", principal="User:a:b", host="10.0.0.1")

    record = record_of(acl, bytes(range(16)))

    assert record.id == bytes(range(16))
    assert acl_of(record) == acl


def test_the_principal_of_every_principal_is_the_one_of_kafka() -> None:
    assert ANYONE == "User:*"


@pytest.mark.parametrize(
    "row",
    [
        k30.AclCreation(2, "t", 4, "User:a", "h", 3, 2),
        k31.DeleteAclsMatchingAcl(0, None, 2, "t", 4, "User:a", "h", 3, 2),
        AccessControlEntryRecord(bytes(16), 2, "t", 4, "User:a", "h", 3, 2),
    ],
)
def test_entry_is_read_from_each_message_by_one_list_of_fields(row: object) -> None:
    assert acl_of(row) == ACL


def test_entry_is_put_together_from_its_pattern_and_its_description() -> None:
    pattern, description = pattern_and_description(ACL)
    entry = k29.AclDescription(*description)

    assert (entry.principal, entry.host) == ("User:a", "h")
    assert described_acl(k29.DescribeAclsResource(*pattern, acls=[entry]), entry) == ACL


@pytest.mark.parametrize("message", [k29.DescribeAclsRequest, k31.DeleteAclsFilter])
def test_filter_is_read_from_each_message(
    message: type[k29.DescribeAclsRequest] | type[k31.DeleteAclsFilter],
) -> None:
    row = message(
        resource_type_filter=2,
        resource_name_filter=None,
        pattern_type_filter=3,
        principal_filter="User:a",
        host_filter="h",
        operation=4,
        permission_type=3,
    )

    assert filter_of(row) == AclFilter(2, None, 3, "User:a", "h", 4, 3)
