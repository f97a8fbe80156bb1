"""CreateAcls: each entry is checked by itself, and decides when the request is answered."""

import pytest
from trio.testing import MockClock

from tests.apis.acls import (
    allow,
    allow_cluster,
    ask_as_broker,
    broker_with_acls,
    create,
    creations,
    delete,
    deny,
    described,
)
from tests.apis.kit import batch, broker, produce, stable
from trio_kafka.errors import ErrorCode
from trio_kafka.protocol.messages.k19_create_topics import CreatableTopic, CreateTopicsRequest
from trio_kafka.protocol.messages.k30_create_acls import CreateAclsRequest
from trio_kafka.security.acls.entries import Acl, PatternType
from trio_kafka.security.acls.filters import AclFilter
from trio_kafka.security.operations import Operation
from trio_kafka.security.resources import ResourceType
from trio_kafka.testing.simulation import simulated_world

TOPIC = ResourceType.TOPIC
GOOD = allow(Operation.READ, name="a")
ALTER = allow_cluster(Operation.ALTER)


@pytest.mark.parametrize("version", stable(CreateAclsRequest))
async def test_each_entry_of_a_request_gets_its_own_error(
    autojump_clock: MockClock, version: int
) -> None:
    async with broker_with_acls(ALTER) as served:
        request = CreateAclsRequest(creations(GOOD, GOOD._replace(name=""), GOOD))
        answer = await served.ask(request, version)
        acls = await described(served)

    assert [result.error_code for result in answer.results] == [0, ErrorCode.INVALID_REQUEST, 0]
    assert [bool(result.error_message) for result in answer.results] == [False, True, False]
    assert sorted(acls) == sorted([ALTER, GOOD])


@pytest.mark.parametrize(
    "acl",
    [
        GOOD._replace(resource_type=ResourceType.ANY),
        GOOD._replace(resource_type=ResourceType.UNKNOWN),
        GOOD._replace(resource_type=8),
        GOOD._replace(pattern_type=PatternType.MATCH),
        GOOD._replace(pattern_type=PatternType.ANY),
        GOOD._replace(operation=Operation.ANY),
        GOOD._replace(operation=16),
        GOOD._replace(permission=1),
        GOOD._replace(principal="bob"),
        GOOD._replace(principal=""),
        GOOD._replace(host=""),
        GOOD._replace(host="10.0.0.0/33"),
        GOOD._replace(host="10.0.0/8"),
        GOOD._replace(host="::1/129"),
        ALTER._replace(name="another-cluster"),
    ],
)
async def test_an_entry_that_kafka_refuses_is_an_invalid_request(
    autojump_clock: MockClock, acl: Acl
) -> None:
    async with broker_with_acls() as served:
        assert await create(served, acl) == [ErrorCode.INVALID_REQUEST]
        assert await described(served) == []


async def test_an_entry_that_exists_is_created_once(autojump_clock: MockClock) -> None:
    async with broker_with_acls(GOOD) as served:
        offset = served.broker.metadata.image.offset

        assert await create(served, GOOD, GOOD) == [0, 0]
        assert served.broker.metadata.image.offset == offset
        assert await described(served) == [GOOD]


async def test_an_entry_that_was_deleted_can_be_created_again(autojump_clock: MockClock) -> None:
    async with broker_with_acls(GOOD) as served:
        await delete(served, AclFilter())
        assert await create(served, GOOD) == [0]
        assert await described(served) == [GOOD]


async def test_entries_decide_as_soon_as_the_request_is_answered(autojump_clock: MockClock) -> None:
    async with broker_with_acls() as served:
        topic = CreateTopicsRequest([CreatableTopic("t", 1, 1)])
        await ask_as_broker(served, topic)
        codes = [(await produce(served, "t", batch(b"x"))).error_code]
        for acl in (allow(Operation.WRITE, name="t"), deny(Operation.WRITE, TOPIC, "t")):
            await create(served, acl)
            codes.append((await produce(served, "t", batch(b"x"))).error_code)

    denied = ErrorCode.TOPIC_AUTHORIZATION_FAILED
    assert codes == [denied, 0, denied]


async def test_entries_survive_a_restart_of_the_broker(autojump_clock: MockClock) -> None:
    world = simulated_world()
    async with broker_with_acls(GOOD, ALTER, world=world) as served:
        await delete(served, AclFilter(operation=Operation.ALTER))
    async with broker_with_acls(world=world) as served:
        assert await described(served) == [GOOD]
        assert await create(served, GOOD) == [0]
        assert await described(served) == [GOOD]


async def test_a_client_without_alter_on_the_cluster_creates_nothing(
    autojump_clock: MockClock,
) -> None:
    async with broker_with_acls(GOOD) as served:
        answer = await served.ask(CreateAclsRequest(creations(ALTER, GOOD)))

        codes = [result.error_code for result in answer.results]
        assert codes == [ErrorCode.CLUSTER_AUTHORIZATION_FAILED] * 2
        assert await described(served) == [GOOD]


async def test_a_broker_without_an_authorizer_answers_for_each_entry_that_security_is_disabled(
    autojump_clock: MockClock,
) -> None:
    async with broker() as served:
        answer = await served.ask(CreateAclsRequest(creations(GOOD, ALTER)))

    assert [result.error_code for result in answer.results] == [ErrorCode.SECURITY_DISABLED] * 2
