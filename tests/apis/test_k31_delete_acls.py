"""DeleteAcls: each filter is checked by itself and lists what it removed."""

import pytest
from trio.testing import MockClock

from tests.apis.acls import (
    allow,
    allow_cluster,
    broker_with_acls,
    delete,
    deleted_in,
    described,
    filters,
)
from tests.apis.kit import broker, stable
from trio_kafka.errors import ErrorCode
from trio_kafka.protocol.messages.k31_delete_acls import DeleteAclsRequest
from trio_kafka.security.acls.entries import PatternType
from trio_kafka.security.acls.filters import AclFilter
from trio_kafka.security.operations import Operation
from trio_kafka.security.resources import ResourceType

READ_A = allow(Operation.READ, name="a")
READ_B = allow(Operation.READ, name="b")
PREFIX = allow(Operation.READ, name="a", pattern=PatternType.PREFIXED)
ALTER = allow_cluster(Operation.ALTER)


@pytest.mark.parametrize("version", stable(DeleteAclsRequest))
async def test_each_filter_lists_the_entries_that_it_removed(
    autojump_clock: MockClock, version: int
) -> None:
    async with broker_with_acls(READ_A, READ_B, PREFIX, ALTER) as served:
        request = DeleteAclsRequest(
            filters(
                AclFilter(ResourceType.TOPIC, "a", PatternType.LITERAL),
                AclFilter(*READ_B),
                AclFilter(resource_type=ResourceType.UNKNOWN),
                AclFilter(*READ_A._replace(name="none")),
            )
        )
        answer = await served.ask(request, version)
        acls = await described(served)

    assert deleted_in(answer) == [[READ_A], [READ_B], ErrorCode.INVALID_REQUEST, []]
    messages = [result.error_message is None for result in answer.filter_results]
    assert messages == [True, True, False, True]
    assert sorted(acls) == sorted([PREFIX, ALTER])


async def test_an_entry_that_two_filters_match_is_in_both_results(
    autojump_clock: MockClock,
) -> None:
    async with broker_with_acls(READ_A, PREFIX) as served:
        answer = await delete(
            served, AclFilter(), AclFilter(ResourceType.TOPIC, "a", PatternType.MATCH)
        )
        acls = await described(served)

    first, second = deleted_in(answer)
    assert isinstance(first, list)
    assert isinstance(second, list)
    assert sorted(first) == sorted(second) == sorted([READ_A, PREFIX])
    assert acls == []


async def test_a_removed_entry_no_longer_decides_when_the_request_is_answered(
    autojump_clock: MockClock,
) -> None:
    async with broker_with_acls(ALTER) as served:
        first = await served.ask(DeleteAclsRequest(filters(AclFilter())))
        second = await served.ask(DeleteAclsRequest(filters(AclFilter())))

    assert deleted_in(first) == [[ALTER]]
    assert deleted_in(second) == [ErrorCode.CLUSTER_AUTHORIZATION_FAILED]


async def test_a_broker_without_an_authorizer_answers_for_each_filter_that_security_is_disabled(
    autojump_clock: MockClock,
) -> None:
    async with broker() as served:
        answer = await served.ask(DeleteAclsRequest(filters(AclFilter(), AclFilter())))

    assert deleted_in(answer) == [ErrorCode.SECURITY_DISABLED] * 2
