from types import GenericAlias, ModuleType

import pytest
import trio
from trio.testing import MockClock

from tests.plugin_host.plugins import EchoRequest, EchoResponse, context_of_one
from trio_kafka.plugin import Context, PluginContext, api


async def test_a_plugin_context_has_the_parts_config_and_world_of_the_broker(
    autojump_clock: MockClock,
) -> None:
    async with context_of_one() as (context, served):
        assert context.parts is served.broker.parts
        assert context.config is served.broker.config
        assert context.world is served.broker.world
        assert context.mounts is served.broker.plugins.dependencies.mounts
        assert context.reporters is served.broker.plugins.dependencies.reporters
        assert context.logger.logger.name == "trio_kafka.plugin.one"


async def test_counters_of_a_plugin_have_the_name_of_the_plugin(autojump_clock: MockClock) -> None:
    async with context_of_one() as (context, served):
        context.counter("things", kind="odd").value += 2

        assert served.broker.counters.value("things", plugin="one", kind="odd") == 2


async def test_a_task_started_by_a_plugin_is_a_node_of_the_tree_while_the_task_runs(
    autojump_clock: MockClock,
) -> None:
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
        names = [node.name for node in context.node.children]

    assert there == [("listener", "plane")]
    assert names == []


async def test_an_error_before_a_started_task_is_ready_is_raised_to_the_caller(
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


async def test_add_module_adds_the_apis_of_a_module(autojump_clock: MockClock) -> None:
    module = ModuleType("many")

    @api(EchoRequest)
    def answer(request: EchoRequest, _: Context) -> EchoResponse:
        return EchoResponse(text="of a module")

    object.__setattr__(answer.__trio_kafka_api__, "source", "many")  # type: ignore[attr-defined]
    module.answer = answer  # type: ignore[attr-defined]
    async with context_of_one() as (context, served):
        context.add_module(module)

        assert (await served.ask(EchoRequest(""))).text == "of a module"


async def test_add_api_refuses_a_function_not_marked_with_api(autojump_clock: MockClock) -> None:
    async with context_of_one() as (context, _):
        with pytest.raises(TypeError, match="not marked @api"):
            context.add_api(len)


def test_a_parametrized_plugin_context_is_not_cached_by_typing() -> None:
    assert isinstance(PluginContext[int], GenericAlias)


async def test_part_of_the_rest_gives_half_of_the_remaining_time_up_to_a_maximum(
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
