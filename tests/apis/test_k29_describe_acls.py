"""DescribeAcls: filters, resources, and brokers without an authorizer, in every version."""

import pytest
from trio.testing import MockClock

from tests.apis.acls import acls_in, allow, allow_cluster, broker_with_acls, deny, describe_request
from tests.apis.kit import broker, stable
from trio_kafka.errors import ErrorCode
from trio_kafka.protocol.messages.k29_describe_acls import DescribeAclsRequest
from trio_kafka.security.acls.entries import PatternType, PermissionType
from trio_kafka.security.acls.filters import AclFilter
from trio_kafka.security.operations import Operation
from trio_kafka.security.resources import ResourceType

READ_A = allow(Operation.READ, name="a")
WRITE_A = deny(Operation.WRITE, ResourceType.TOPIC, "a", principal="User:bob", host="10.0.0.1")
PREFIX = allow(Operation.READ, name="a", pattern=PatternType.PREFIXED)
DESCRIBE = allow_cluster(Operation.DESCRIBE)


@pytest.mark.parametrize("version", stable(DescribeAclsRequest))
async def test_every_entry_is_listed_below_its_pattern(
    autojump_clock: MockClock, version: int
) -> None:
    async with broker_with_acls(READ_A, WRITE_A, PREFIX, DESCRIBE) as served:
        answer = await served.ask(describe_request(), version)

    assert sorted(acls_in(answer)) == sorted([READ_A, WRITE_A, PREFIX, DESCRIBE])
    patterns = [
        (row.resource_type, row.resource_name, row.pattern_type) for row in answer.resources
    ]
    assert len(set(patterns)) == len(patterns) == 3


async def test_a_filter_leaves_out_other_entries(autojump_clock: MockClock) -> None:
    async with broker_with_acls(READ_A, WRITE_A, PREFIX, DESCRIBE) as served:
        of_bob = await served.ask(describe_request(AclFilter(principal="User:bob")))
        covering = await served.ask(
            describe_request(AclFilter(ResourceType.TOPIC, "ab", PatternType.MATCH))
        )
        denials = await served.ask(
            describe_request(AclFilter(operation=Operation.WRITE, permission=PermissionType.DENY))
        )
        at_host = await served.ask(describe_request(AclFilter(host="10.0.0.1")))
        none = await served.ask(describe_request(AclFilter(ResourceType.GROUP)))

    assert acls_in(of_bob) == [WRITE_A]
    assert acls_in(covering) == [PREFIX]
    assert acls_in(denials) == acls_in(at_host) == [WRITE_A]
    assert none.resources == []


async def test_a_filter_with_an_unknown_type_is_an_invalid_request(
    autojump_clock: MockClock,
) -> None:
    async with broker_with_acls(DESCRIBE) as served:
        for unknown in (
            AclFilter(resource_type=0),
            AclFilter(pattern_type=5),
            AclFilter(operation=99),
            AclFilter(permission=-1),
        ):
            answer = await served.ask(describe_request(unknown))
            assert answer.error_code == ErrorCode.INVALID_REQUEST


async def test_a_client_without_describe_on_the_cluster_sees_no_entry(
    autojump_clock: MockClock,
) -> None:
    async with broker_with_acls(READ_A) as served:
        answer = await served.ask(describe_request())

    assert answer.error_code == ErrorCode.CLUSTER_AUTHORIZATION_FAILED
    assert answer.resources == []


async def test_a_broker_without_an_authorizer_answers_that_security_is_disabled(
    autojump_clock: MockClock,
) -> None:
    async with broker() as served:
        answer = await served.ask(describe_request())

    assert answer.error_code == ErrorCode.SECURITY_DISABLED
