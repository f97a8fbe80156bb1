"""Permissions of all APIs: the table against the handlers, and what a client without any sees."""

from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from typing import Any

import pytest
from trio.testing import MockClock

from tests.apis.authorizers import Decision, RuleAuthorizer, deny_all
from tests.apis.kit import write
from tests.apis.permission_requests import PLUGIN, Example, Names, examples
from tests.apis.permissions import OPEN, PAGE, ROWS, page
from tests.apis.transactional_ids import begin
from tests.broker.tokens import TOKENS, ask_as
from tests.broker.tokens import create as create_token
from trio_kafka.errors import ErrorCode
from trio_kafka.plugin import PluginContext, plugin
from trio_kafka.protocol.compiler import to_bytes
from trio_kafka.protocol.messages.k08_offset_commit import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
)
from trio_kafka.protocol.messages.k68_consumer_group_heartbeat import ConsumerGroupHeartbeatRequest
from trio_kafka.protocol.schema import fields_of
from trio_kafka.security.authorizer import ALLOW_ALL
from trio_kafka.security.resources import ResourceType
from trio_kafka.testing.broker import ServedBroker, served_broker
from trio_kafka.testing.scripted_client import newest
from trio_kafka.testing.simulation import simulated_world
from trio_kafka_apis.listed import LISTED

DENIALS = {code for code in ErrorCode if code.name.endswith("_AUTHORIZATION_FAILED")}
# APIs whose examples ask for the set of authorized operations: every operation is tried for it.
TELLS_OPERATIONS = {60: ResourceType.CLUSTER, 75: ResourceType.TOPIC}
OF_USERS = range(38, 42)  # delegation tokens are for clients that have logged in
ABSENT = Names("secret-none", bytes(15) + b"\x07", "secret-gone", "secret-void")


@plugin(PLUGIN, enabled=True)
@asynccontextmanager
async def sample(context: PluginContext[Any]) -> AsyncIterator[None]:
    """Does nothing."""
    yield


@asynccontextmanager
async def broker() -> AsyncIterator[tuple[ServedBroker, Names]]:
    """A broker with a topic, a group with an offset, a consumer group with a member, and an open
    transaction.
    """
    settings = {
        **TOKENS,
        "unstable.api.versions.enable": "true",
        "transaction.state.log.num.partitions": "1",
    }
    async with served_broker(simulated_world(), settings, plugins=[sample]) as served:
        topic_id = await served.create_topic("secret-topi")
        names = Names("secret-topi", bytes(topic_id), "secret-grou", "secret-cons")
        await served.serve_groups(names.group, names.consumers)
        await write(served, names.topic, b"a")
        offset = [OffsetCommitRequestPartition(0, 1)]
        commit = OffsetCommitRequestTopic(names.topic, partitions=offset)
        done = await served.ask(OffsetCommitRequest(names.group, topics=[commit]), 9)
        assert set(codes_in(done)) == {0}
        await begin(served, {names.topic: [0]}, "transaction")
        await create_token(served, "bob")
        joining = ConsumerGroupHeartbeatRequest(
            names.consumers,
            "member",
            0,
            rebalance_timeout_ms=10_000,
            subscribed_topic_names=[names.topic],
            topic_partitions=[],
        )
        assert set(codes_in(await served.ask(joining, 1))) == {0}
        yield served, names


def codes_in(message: Any) -> Iterator[int]:
    """Every error code of a response."""
    for field in fields_of(type(message)):
        value = getattr(message, field.name)
        if field.name.endswith("error_code"):
            yield value
        elif field.kind == "array" and value and hasattr(value[0], "__fields__"):
            for item in value:
                yield from codes_in(item)


async def ask(served: ServedBroker, example: Example) -> Any:
    if example.key in OF_USERS:
        return await ask_as(served, "ann", example.request, example.version)
    async with served.connect() as client:
        return await client.ask(example.request, example.version)


async def asked_by(key: int, *authorizers: RuleAuthorizer) -> set[Decision]:
    """Return what the examples of one API ask these authorizers, one after another."""
    async with broker() as (served, names):
        for authorizer in authorizers:
            served.broker.parts.authorizer = authorizer
            for example in examples(names):
                if example.key == key:
                    await ask(served, example)
            served.broker.parts.authorizer = ALLOW_ALL
    return set().union(*(authorizer.decisions for authorizer in authorizers))


def test_every_handler_has_permission_rows_and_every_row_has_a_handler() -> None:
    served = {key for key, *_ in LISTED}
    rows = {row.key for row in ROWS}

    assert rows | OPEN.keys() == served
    assert not rows & OPEN.keys()
    assert len({(row.key, row.operation, row.resource) for row in ROWS}) == len(ROWS)


def test_the_permissions_page_equals_its_generated_text() -> None:
    assert PAGE.read_text() == page(), "run python -m tests.apis.permissions"


@pytest.mark.parametrize("key", [key for key, *_ in LISTED])
async def test_a_handler_checks_exactly_the_permissions_of_its_rows(
    autojump_clock: MockClock, key: int
) -> None:
    any_asked: list[bool] = []
    everything = RuleAuthorizer(lambda _, resource: any_asked.append(resource.name == "*") or True)
    no_cluster = RuleAuthorizer(lambda _, resource: resource.type != ResourceType.CLUSTER)
    no_any = RuleAuthorizer(lambda operation, resource: resource.name != "*")

    checks = await asked_by(key, deny_all(), everything)  # the first one changes nothing
    # Where nothing asks for what these refuse, they are the one that allows everything.
    if any(kind == ResourceType.CLUSTER for _, kind in everything.decisions):
        checks |= await asked_by(key, no_cluster)
    if any(any_asked):
        checks |= await asked_by(key, no_any)

    of_operations = {check for check in checks if check[1] == TELLS_OPERATIONS.get(key)}
    rows = {(row.operation, row.resource) for row in ROWS if row.key == key}
    assert checks - of_operations | (rows & of_operations) == rows


async def test_a_client_without_permissions_gets_errors_without_secrets(
    autojump_clock: MockClock,
) -> None:
    errors = {row.key: set[int]() for row in ROWS}
    for row in ROWS:
        if row.error is not None:
            errors[row.key].add(row.error)
    async with broker() as (served, names):
        served.broker.parts.authorizer = deny_all()
        for example in examples(names):
            answer = await ask(served, example)
            result = set(codes_in(answer))
            where = f"{type(example.request).__name__} version {example.version}: {answer}"
            if example.key in OPEN:
                assert not result & DENIALS, where
            elif example.lists or example.key == 60:
                assert result - {0} <= errors.get(example.key, set()), where
            else:
                assert result & DENIALS, where
                assert result <= {0} | errors[example.key], where
            sent = to_bytes(example.request, example.version)
            got = to_bytes(answer, example.version)
            for secret in (b"secret", names.topic_id):
                assert secret in sent or secret not in got, where
        served.broker.parts.authorizer = ALLOW_ALL


async def test_a_client_without_permissions_changes_nothing(autojump_clock: MockClock) -> None:
    async with broker() as (served, names):
        parts = served.broker.parts
        image = parts.metadata.image
        ends = {
            partition: partition.local_log().end_offset for partition in parts.replicas.partitions
        }
        parts.authorizer = deny_all()
        for example in examples(names):
            await ask(served, example)
        parts.authorizer = ALLOW_ALL

        assert parts.metadata.image.topics == image.topics
        assert parts.metadata.image.configs == image.configs
        assert parts.metadata.image.quotas == image.quotas
        assert parts.metadata.image.acls == image.acls
        assert parts.metadata.image.features == image.features
        assert {
            partition: partition.local_log().end_offset for partition in parts.replicas.partitions
        } == ends
        assert served.broker.plugins.find(PLUGIN).generation == 1


async def test_denied_answers_for_existing_and_missing_resources_are_equal(
    autojump_clock: MockClock,
) -> None:
    async with broker() as (served, names):
        served.broker.parts.authorizer = deny_all()
        for here, gone in zip(examples(names), examples(ABSENT), strict=True):
            if names.topic_id in to_bytes(here.request, here.version):
                continue  # whether a topic id exists is no secret
            if here.key in (71, 72, 10001, 10010):
                continue  # they tell of the clients of this test, or say a new id
            answer, other = await ask(served, here), await ask(served, gone)
            text = str(to_bytes(other, gone.version))
            for name, absent in zip(names, ABSENT, strict=True):
                if isinstance(name, str):
                    text = text.replace(str(absent), name)
            assert str(to_bytes(answer, here.version)) == text, here
        served.broker.parts.authorizer = ALLOW_ALL


def test_every_api_has_an_example_in_its_newest_version() -> None:
    result: dict[int, int] = {}
    for example in examples(ABSENT):
        result[example.key] = max(example.version, result.get(example.key, 0))
        assert example.version <= newest(type(example.request)) + (example.key == 22)

    assert result.keys() == {key for key, *_ in LISTED}
