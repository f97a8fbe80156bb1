"""The authorizer of a broker: chosen by settings, loaded before the first request, kept current."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest
import trio
import trio.testing
from trio.testing import MockClock

from tests.apis.acls import AUTHORIZER, allow, broker_with_acls, create, delete, described
from tests.apis.authorizers import allow_only
from tests.apis.kit import batch, fetch, produce
from trio_kafka.broker.parts.authorizer import AclPublisher
from trio_kafka.errors import ErrorCode
from trio_kafka.metadata.delta import MetadataDelta
from trio_kafka.metadata.image import MetadataImage
from trio_kafka.metadata.immutable_map import ImmutableMap
from trio_kafka.plugin import PluginContext, plugin
from trio_kafka.protocol.messages.k01_fetch import PartitionData
from trio_kafka.protocol.messages.k19_create_topics import CreatableTopic, CreateTopicsRequest
from trio_kafka.security.acls.entries import PatternType, record_of
from trio_kafka.security.acls.filters import AclFilter
from trio_kafka.security.acls.standard import StandardAuthorizer
from trio_kafka.security.authorizer import ALLOW_ALL
from trio_kafka.security.operations import Operation
from trio_kafka.security.principal import BROKER, NOBODY
from trio_kafka.testing.broker import ServedBroker, served_broker
from trio_kafka.testing.simulation import simulated_world

READ = allow(Operation.READ, name="t")
WRITE = allow(Operation.WRITE, name="t")
DENIED = ErrorCode.TOPIC_AUTHORIZATION_FAILED


async def create_topic(served: ServedBroker, name: str) -> None:
    topic = CreateTopicsRequest([CreatableTopic(name, 1, 1)])
    answer: Any = await served.broker.parts.in_process.ask(topic)
    assert [row.error_code for row in answer.topics] == [0]


async def test_without_a_setting_everything_is_allowed(autojump_clock: MockClock) -> None:
    async with served_broker(simulated_world()) as served:
        assert served.broker.parts.authorizer is ALLOW_ALL


async def test_entries_of_the_log_are_loaded_when_the_broker_serves(
    autojump_clock: MockClock,
) -> None:
    world = simulated_world()
    many = [allow(Operation.READ, name=f"t{number}") for number in range(50)]
    async with broker_with_acls(READ, WRITE, *many, world=world) as served:
        await create_topic(served, "t")
        await delete(served, AclFilter(name="t1", pattern_type=PatternType.LITERAL))
    async with broker_with_acls(world=world) as served:
        authorizer = served.broker.parts.authorizer
        assert isinstance(authorizer, StandardAuthorizer)
        assert authorizer.loaded
        assert len(authorizer.index) == 51
        assert (await produce(served, "t", batch(b"x"))).error_code == 0
        assert sorted(await described(served)) == sorted([READ, WRITE, *many[:1], *many[2:]])


async def test_super_users_may_do_what_no_entry_allows(autojump_clock: MockClock) -> None:
    users = {"super.users": "User:admin;User:ANONYMOUS"}
    async with broker_with_acls(settings=users) as served:
        await create_topic(served, "t")
        assert (await produce(served, "t", batch(b"x"))).error_code == 0


async def test_allow_everyone_holds_only_for_resources_that_no_entry_covers(
    autojump_clock: MockClock,
) -> None:
    everyone = {"allow.everyone.if.no.acl.found": "true"}
    of_ann = READ._replace(principal="User:ann")
    async with broker_with_acls(of_ann, settings=everyone) as served:
        await create_topic(served, "t")
        await create_topic(served, "u")
        assert (await produce(served, "t", batch(b"x"))).error_code == DENIED
        assert (await produce(served, "u", batch(b"x"))).error_code == 0


async def test_a_fetch_that_waits_is_answered_though_its_permission_was_revoked(
    autojump_clock: MockClock,
) -> None:
    """As in Kafka: a request is authorized when it arrives, the next one by the new entries."""
    async with broker_with_acls(READ, WRITE) as served:
        await create_topic(served, "t")
        answers: list[PartitionData] = []

        async def read() -> None:
            async with served.connect() as reader:
                answers.append(await fetch(reader, "t", max_wait_ms=10_000))

        async with trio.open_nursery() as nursery:
            nursery.start_soon(read)
            await trio.testing.wait_all_tasks_blocked()
            await delete(served, AclFilter(*READ))
            assert not answers
            await produce(served, "t", batch(b"x"))
        assert answers[0].error_code == 0
        assert answers[0].records
        assert (await fetch(served, "t")).error_code == DENIED


def test_changes_during_the_load_are_applied_after_it() -> None:
    first = {
        bytes([number]) * 16: record_of(READ._replace(name=f"t{number}"), bytes([number]) * 16)
        for number in range(100)
    }
    image = MetadataImage(acls=ImmutableMap(first))
    authorizer = StandardAuthorizer()
    publisher = AclPublisher(authorizer)
    steps = publisher.start(image)
    next(steps)
    assert not authorizer.loaded

    delta = MetadataDelta(
        image, acls={bytes([99]) * 16: None, b"x" * 16: record_of(WRITE, b"x" * 16)}
    )
    for _ in publisher.publish(delta, image) or ():
        pass

    assert authorizer.loaded
    assert len(authorizer.index) == 100
    assert publisher.figures()["acls"] == 100


@plugin("mine", enabled=True)
@asynccontextmanager
async def mine(context: PluginContext[Any]) -> AsyncIterator[None]:
    """Allows everything on the topic t."""
    context.add_authorizer(allow_only("t"))
    yield


@plugin("mine", enabled=True)
@asynccontextmanager
async def broken(context: PluginContext[Any]) -> AsyncIterator[None]:
    """Fails at every decision."""

    class Broken:
        def authorize(self, *_: object) -> bool:
            raise LookupError("no table")

        authorize_any = authorize

    context.add_authorizer(Broken())
    yield


async def test_the_authorizer_of_a_plugin_decides(autojump_clock: MockClock) -> None:
    named = {"authorizer.class.name": "plugin.mine"}
    async with served_broker(simulated_world(), named, plugins=[mine]) as served:
        await create_topic(served, "t")
        await create_topic(served, "u")
        codes = [(await produce(served, name, batch(b"x"))).error_code for name in "tu"]
        assert await create(served, READ) == [0]

    assert codes == [0, DENIED]


async def test_while_the_plugin_is_missing_or_broken_nothing_is_allowed(
    autojump_clock: MockClock,
) -> None:
    named = {"authorizer.class.name": "plugin.mine"}
    for plugins, code in (([], DENIED), ([broken], ErrorCode.UNKNOWN_SERVER_ERROR)):
        async with served_broker(simulated_world(), named, plugins=plugins) as served:
            await create_topic(served, "t")
            assert (await produce(served, "t", batch(b"x"))).error_code == code


async def test_a_plugin_that_the_settings_do_not_name_cannot_authorize(
    autojump_clock: MockClock, caplog: pytest.LogCaptureFixture
) -> None:
    async with served_broker(simulated_world(), plugins=[mine]) as served:
        assert served.broker.parts.authorizer is ALLOW_ALL

    assert "set authorizer.class.name=plugin.mine" in caplog.text


@plugin("asking", enabled=True)
@asynccontextmanager
async def asking(context: PluginContext[Any]) -> AsyncIterator[None]:
    """Creates topics, once for itself and once for an anonymous client."""
    codes: list[int] = []
    for name, principal in (("own", None), ("foreign", NOBODY)):
        topic = CreateTopicsRequest([CreatableTopic(name, 1, 1)])
        answer = await context.ask(topic, principal=principal)
        codes += [row.error_code for row in answer.topics]
    codes_by_principal[context.principal.text] = codes
    yield


codes_by_principal: dict[str, list[int]] = {}


@pytest.mark.parametrize(
    ("text", "principal", "code"),
    [("", BROKER.text, 0), ("User:asking", "User:asking", DENIED), ("User:admin", "User:admin", 0)],
)
async def test_a_plugin_acts_as_the_broker_or_as_the_principal_of_its_settings(
    autojump_clock: MockClock, text: str, principal: str, code: int
) -> None:
    codes_by_principal.clear()
    settings = {**AUTHORIZER, "super.users": "User:admin", "plugin.asking.principal": text}
    async with served_broker(simulated_world(), settings, plugins=[asking]):
        assert codes_by_principal == {principal: [code, DENIED]}


async def test_a_java_class_is_refused_by_name_at_the_start(autojump_clock: MockClock) -> None:
    with pytest.raises(Exception, match=r"authorizer\.class\.name"):
        async with served_broker(
            simulated_world(), {"authorizer.class.name": "kafka.security.authorizer.AclAuthorizer"}
        ):
            pass
