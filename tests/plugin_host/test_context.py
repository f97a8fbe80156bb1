from types import GenericAlias, ModuleType

import pytest
import trio
from trio.testing import MockClock

from tests.plugin_host.plugins import EchoRequest, EchoResponse, context_of_one
from trio_kafka.plugin import Context, PluginContext, api


async def test_it_has_what_the_broker_has(autojump_clock: MockClock) -> None:
    async with context_of_one() as (context, served):
        assert context.parts is served.broker.parts
        assert context.config is served.broker.config
        assert context.world is served.broker.world
        assert context.mounts is served.broker.plugins.dependencies.mounts
        assert context.reporters is served.broker.plugins.dependencies.reporters
        assert context.logger.logger.name == "trio_kafka.plugin.one"


async def test_counters_have_its_name(autojump_clock: MockClock) -> None:
    async with context_of_one() as (context, served):
        context.counter("things", kind="odd").value += 2

        assert served.broker.counters.value("things", plugin="one", kind="odd") == 2


async def test_what_it_starts_is_a_node_while_it_runs(autojump_clock: MockClock) -> None:
    stop = trio.Event()

    async def serve(word: str, *, task_status: trio.TaskStatus[str]) -> None:
        await trio.sleep(1)
        task_status.started(word)
        await stop.wait()

    async with context_of_one() as (context, _):
        began = trio.current_time()
        assert await context.start("listener", serve, "ready", kind="plane") == "ready"
        assert trio.current_time() - began == pytest.approx(1, abs=0.1)
        there = [(node.name, node.kind) for node in context.node.children]
        stop.set()
        await trio.sleep(1)
        left = [node.name for node in context.node.children]

    assert there == [("listener", "plane")]
    assert left == []


async def test_what_fails_before_it_is_ready_fails_who_starts_it(
    autojump_clock: MockClock,
) -> None:
    async def fail(*, task_status: trio.TaskStatus[None]) -> None:
        await trio.lowlevel.checkpoint()
        raise OSError("no")

    async with context_of_one() as (context, served):
        with pytest.raises(OSError, match="no"):
            await context.start("listener", fail)
        assert context.node.children == ()
        assert served.broker.plugins.find("one").state.value == "ready"


async def test_a_module_has_many_apis(autojump_clock: MockClock) -> None:
    module = ModuleType("many")

    @api(EchoRequest)
    def answer(request: EchoRequest, _: Context) -> EchoResponse:
        return EchoResponse(text="of a module")

    object.__setattr__(answer.__trio_kafka_api__, "source", "many")  # type: ignore[attr-defined]
    module.answer = answer  # type: ignore[attr-defined]
    async with context_of_one() as (context, served):
        context.add_module(module)

        assert (await served.ask(EchoRequest(""))).text == "of a module"


async def test_a_function_without_the_mark_is_refused(autojump_clock: MockClock) -> None:
    async with context_of_one() as (context, _):
        with pytest.raises(TypeError, match="not marked @api"):
            context.add_api(len)


def test_no_cache_keeps_the_settings_class() -> None:
    assert isinstance(PluginContext[int], GenericAlias)


async def test_a_plugin_that_goes_has_half_of_the_time_that_is_left(
    autojump_clock: MockClock,
) -> None:
    async with context_of_one() as (context, _):
        began = trio.current_time()

        def left_s(scope: trio.CancelScope) -> float:
            return scope.deadline - trio.current_time()

        with trio.move_on_at(began + 4):
            with context.part_of_the_rest(at_most_s=5) as scope:
                assert left_s(scope) == pytest.approx(2)
            with context.part_of_the_rest(at_most_s=1) as scope:
                assert left_s(scope) == pytest.approx(1)
        with trio.move_on_at(began - 4), context.part_of_the_rest(at_most_s=5) as scope:
            assert left_s(scope) == pytest.approx(0)
        with context.part_of_the_rest(at_most_s=5) as scope:
            assert left_s(scope) == pytest.approx(5)
