"""Contributions of a plugin are there while it is ready, and gone when it goes."""

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

import pytest
import trio
from trio.testing import MockClock

from tests.plugin_host.plugins import EchoRequest, EchoResponse, echo
from trio_kafka.plugin import (
    Context,
    ErrorCode,
    GroupAssignment,
    GroupSpec,
    KafkaError,
    api,
    plugin,
)
from trio_kafka.plugin_host.declaration import Plugin
from trio_kafka.plugin_host.lifecycle import State
from trio_kafka.protocol.messages.k18_api_versions import ApiVersionsRequest
from trio_kafka.testing.broker import ServedBroker, served_broker
from trio_kafka.testing.simulation import simulated_world


def new_giver(give: Callable[[Any], None], **named: Any) -> Plugin:
    @plugin("giver", **named)
    @asynccontextmanager
    async def giver(context: Any) -> AsyncIterator[None]:
        give(context)
        yield

    return giver


async def app(scope: Any, receive: Any, send: Any) -> None:
    await trio.lowlevel.checkpoint()


@api(EchoRequest)
def answer(request: EchoRequest, _: Context) -> EchoResponse:
    return EchoResponse(text="given")


class Nothing:
    """Nobody gets anything."""

    def __init__(self, name: str = "nothing") -> None:
        self.name = name

    def assign(self, group: GroupSpec) -> GroupAssignment:
        del group
        return {}


def everything(context: Any) -> None:
    context.mount("/given", app)
    context.add_admin_page("given", object)
    context.add_metrics_reporter(context)
    context.add_group_assignor(Nothing())
    context.before(EchoRequest, lambda request, _: None)
    context.after(None, lambda request, response, _: None)
    context.add_create_topic_policy(lambda topic, principal: None)
    context.add_alter_config_policy(lambda change, principal: None)


def counts(served: ServedBroker) -> dict[str, int]:
    parts, dependencies = served.broker.parts, served.broker.plugins.dependencies
    return {
        "mounts": len(list(dependencies.mounts)),
        "pages": len(list(dependencies.pages)),
        "reporters": len(list(dependencies.reporters)),
        "interceptors": len(parts.interceptors),
        "topics": len(parts.controller.policies.topics),
        "configs": len(parts.controller.policies.configs),
        "assignors": len(set(parts.groups.consumer.assignors.names) - {"uniform", "range"}),
    }


async def test_all_contributions_of_a_plugin_are_removed_when_the_plugin_fails(
    autojump_clock: MockClock,
) -> None:
    plugins = [new_giver(everything), echo]
    async with served_broker(simulated_world(), plugins=plugins) as served:
        there = counts(served)
        names = served.broker.plugins.find("giver").contributions
        served.broker.plugins.find("giver").current.fail("enough")
        await trio.sleep(1)
        remaining = counts(served)
        answered = await served.ask(EchoRequest("a"))

    assert there == {
        "mounts": 1,
        "pages": 1,
        "reporters": 1,
        "interceptors": 2,
        "topics": 1,
        "configs": 1,
        "assignors": 1,
    }
    assert names == [
        "mount:/given",
        "page:given",
        "before:EchoRequest",
        "after:*",
        "create-topic-policy",
        "alter-config-policy",
        "reporter:PluginContext",
        "assignor:nothing",
    ]
    assert set(remaining.values()) == {0}
    assert answered.text == "a"


async def test_a_plugin_that_fails_to_start_adds_no_contributions(
    autojump_clock: MockClock,
) -> None:
    def give(context: Any) -> None:
        everything(context)
        context.add_api(answer)  # the key is echo's

    plugins = [new_giver(give, order=200), echo]
    async with served_broker(simulated_world(), plugins=plugins) as served:
        assert served.broker.plugins.find("giver").state is State.FAILED
        assert set(counts(served).values()) == {0}
        assert (await served.ask(EchoRequest("a"))).text == "a"


async def test_apis_of_a_plugin_are_removed_when_its_mount_is_refused(
    autojump_clock: MockClock,
) -> None:
    def first(context: Any) -> None:
        context.mount("/given", app)

    @plugin("second", order=200)
    @asynccontextmanager
    async def second(context: Any) -> AsyncIterator[None]:
        context.add_api(answer)
        context.mount("/given", app)
        yield

    async with served_broker(simulated_world(), plugins=[new_giver(first), second]) as served:
        listed = {key.api_key for key in (await served.ask(ApiVersionsRequest(), 0)).api_keys}
        assert served.broker.plugins.find("second").state is State.FAILED
        assert EchoRequest.__message__.key not in listed


async def test_all_contributions_are_removed_when_an_interceptor_is_invalid(
    autojump_clock: MockClock,
) -> None:
    def give(context: Any) -> None:
        context.add_api(answer)
        everything(context)
        context.around(EchoRequest, lambda request, context, forward: None)  # not async

    async with served_broker(simulated_world(), plugins=[new_giver(give)]) as served:
        listed = {key.api_key for key in (await served.ask(ApiVersionsRequest(), 0)).api_keys}
        assert served.broker.plugins.find("giver").state is State.FAILED
        assert set(counts(served).values()) == {0}
        assert EchoRequest.__message__.key not in listed


async def test_all_contributions_are_removed_when_an_assignor_name_is_taken(
    autojump_clock: MockClock,
) -> None:
    def give(context: Any) -> None:
        context.add_api(answer)
        everything(context)
        context.add_group_assignor(Nothing("range"))

    async with served_broker(simulated_world(), plugins=[new_giver(give)]) as served:
        listed = {key.api_key for key in (await served.ask(ApiVersionsRequest(), 0)).api_keys}
        assert served.broker.plugins.find("giver").state is State.FAILED
        assert set(counts(served).values()) == {0}
        assert EchoRequest.__message__.key not in listed


async def test_contributions_added_after_the_start_take_effect_at_once(
    autojump_clock: MockClock,
) -> None:
    kept: list[Any] = []
    async with served_broker(simulated_world(), plugins=[new_giver(kept.append)]) as served:
        [context] = kept
        context.add_api(answer)
        everything(context)

        assert (await served.ask(EchoRequest("a"))).text == "given"
        assert set(counts(served).values()) == {1, 2}
        with pytest.raises(ValueError, match="added already"):
            context.add_api(answer)
        with pytest.raises(ValueError, match="assignor nothing exists already"):
            context.add_group_assignor(Nothing())

        served.broker.plugins.find("giver").current.fail("enough")
        await trio.sleep(1)
        assert set(counts(served).values()) == {0}


async def test_before_and_around_interceptors_of_a_plugin_are_called_and_can_refuse(
    autojump_clock: MockClock,
) -> None:
    seen: list[str] = []

    def before(request: EchoRequest, _: Any) -> None:
        seen.append(f"before {request.text}")
        if request.text == "no":
            raise KafkaError(ErrorCode.POLICY_VIOLATION, "not that")

    async def around(request: EchoRequest, _: Any, forward: Any) -> Any:
        seen.append("around")
        response = await forward(request)
        response.text += "!"
        return response

    def give(context: Any) -> None:
        context.before(EchoRequest, before)
        context.around(EchoRequest, around)

    async with served_broker(simulated_world(), plugins=[new_giver(give), echo]) as served:
        good = await served.ask(EchoRequest("yes"))
        bad = await served.ask(EchoRequest("no"))

    assert good.text == "yes!"
    assert (bad.error_code, bad.error_message) == (ErrorCode.POLICY_VIOLATION, "not that")
    assert seen == ["before yes", "around", "before no"]


async def test_api_versions_are_narrowed_to_the_versions_declared_by_an_intercepting_plugin(
    autojump_clock: MockClock,
) -> None:
    def give(context: Any) -> None:
        context.before(EchoRequest, lambda request, _: None)

    plugins = [new_giver(give, apis={EchoRequest: (1, 1)}), echo]
    async with served_broker(simulated_world(), plugins=plugins) as served:
        answered = await served.ask(ApiVersionsRequest(), 0)

    [result] = [key for key in answered.api_keys if key.api_key == EchoRequest.__message__.key]
    assert (result.min_version, result.max_version) == (1, 1)


async def test_a_plugin_can_remove_its_interceptors_while_the_plugin_runs(
    autojump_clock: MockClock,
) -> None:
    kept: list[Any] = []
    calls: list[str] = []

    def give(context: Any) -> None:
        kept.append(context)
        early = context.intercept("before", EchoRequest, lambda request, _: calls.append("early"))
        kept.append(early)

    async with served_broker(simulated_world(), plugins=[new_giver(give), echo]) as served:
        context, early = kept
        late = context.intercept("before", EchoRequest, lambda request, _: calls.append("late"))
        await served.ask(EchoRequest(text="a"))
        context.stop_intercepting(early)
        context.stop_intercepting(early)
        await served.ask(EchoRequest(text="a"))
        hosted = served.broker.plugins.find("giver")
        contributions = hosted.contributions
        context.stop_intercepting(late)
        await served.ask(EchoRequest(text="a"))

        assert calls == ["early", "late", "late"]
        assert contributions == ["before:EchoRequest"]
        assert hosted.contributions == []
        assert counts(served)["interceptors"] == 0


async def test_an_interceptor_removed_before_the_plugin_is_ready_is_never_added(
    autojump_clock: MockClock,
) -> None:
    def give(context: Any) -> None:
        context.stop_intercepting(context.intercept("before", None, lambda request, _: None))

    async with served_broker(simulated_world(), plugins=[new_giver(give)]) as served:
        assert counts(served)["interceptors"] == 0
