"""Brokers with ACLs for tests: entries in one line, and requests of an administrator.

The administrator asks from within as the broker; `served.ask` is a client, User:ANONYMOUS.
"""

from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from typing import Any, Final

from trio_kafka.config.authorizer import STANDARD
from trio_kafka.peers.session import Request
from trio_kafka.protocol.messages.k29_describe_acls import (
    DescribeAclsRequest,
    DescribeAclsResponse,
)
from trio_kafka.protocol.messages.k30_create_acls import AclCreation, CreateAclsRequest
from trio_kafka.protocol.messages.k31_delete_acls import (
    DeleteAclsFilter,
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
from trio_kafka.security.principal import ANONYMOUS
from trio_kafka.security.resources import THE_CLUSTER, ResourceType
from trio_kafka.testing.broker import ServedBroker, served_broker
from trio_kafka.testing.simulation import simulated_world
from trio_kafka.world.world import World

AUTHORIZER: Final = {"authorizer.class.name": STANDARD}
EVERY_ACL: Final = AclFilter()


def allow(
    operation: Operation,
    kind: ResourceType = ResourceType.TOPIC,
    name: str = "*",
    *,
    pattern: PatternType = PatternType.LITERAL,
    principal: str = ANONYMOUS,
    host: str = "*",
) -> Acl:
    """An entry that allows an operation, by default to the clients of tests."""
    return Acl(kind, name, pattern, principal, host, operation, PermissionType.ALLOW)


def deny(operation: Operation, kind: ResourceType, name: str, **more: Any) -> Acl:
    return allow(operation, kind, name, **more)._replace(permission=PermissionType.DENY)


def allow_cluster(operation: Operation) -> Acl:
    return allow(operation, ResourceType.CLUSTER, THE_CLUSTER.name)


@asynccontextmanager
async def broker_with_acls(
    *acls: Acl, settings: Mapping[str, str] | None = None, world: World | None = None
) -> AsyncIterator[ServedBroker]:
    """A broker with the standard authorizer and some entries."""
    every_setting = {**AUTHORIZER, **(settings or {})}
    async with served_broker(world or simulated_world(), every_setting) as served:
        if acls:
            assert await create(served, *acls) == [0] * len(acls)
        yield served


async def ask_as_broker(served: ServedBroker, request: Request[Any]) -> Any:
    return await served.broker.parts.in_process.ask(request)


def creations(*acls: Acl) -> list[AclCreation]:
    return [AclCreation(*acl) for acl in acls]


def filters(*acl_filters: AclFilter) -> list[DeleteAclsFilter]:
    return [DeleteAclsFilter(*acl_filter) for acl_filter in acl_filters]


def describe_request(acl_filter: AclFilter = EVERY_ACL) -> DescribeAclsRequest:
    return DescribeAclsRequest(*acl_filter)


async def create(served: ServedBroker, *acls: Acl) -> list[int]:
    """Create entries as the broker; return the error of each."""
    answer = await ask_as_broker(served, CreateAclsRequest(creations(*acls)))
    return [result.error_code for result in answer.results]


async def delete(served: ServedBroker, *acl_filters: AclFilter) -> DeleteAclsResponse:
    """Delete entries as the broker."""
    answer: DeleteAclsResponse = await ask_as_broker(
        served, DeleteAclsRequest(filters(*acl_filters))
    )
    return answer


async def described(served: ServedBroker, acl_filter: AclFilter = EVERY_ACL) -> list[Acl]:
    """List entries as the broker."""
    return acls_in(await ask_as_broker(served, describe_request(acl_filter)))


def acls_in(answer: DescribeAclsResponse) -> list[Acl]:
    assert answer.error_code == 0
    return [
        described_acl(resource, description)
        for resource in answer.resources
        for description in resource.acls
    ]


def deleted_in(answer: DeleteAclsResponse) -> list[Sequence[Acl] | int]:
    """The entries that each filter removed, or its error."""
    return [
        result.error_code or list(map(acl_of, result.matching_acls))
        for result in answer.filter_results
    ]
