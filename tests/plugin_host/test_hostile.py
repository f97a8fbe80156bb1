"""Plugins that misbehave: each is named in a clear error, and the broker serves on."""

import logging
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from itertools import pairwise
from typing import Any

import pytest
import trio
from trio.testing import MockClock

from tests.plugin_host.plugins import EchoRequest, EchoResponse, echo
from trio_kafka.broker import StartError
from trio_kafka.plugin import Context, api, plugin
from trio_kafka.plugin_host.declaration import Plugin
from trio_kafka.plugin_host.guard import PluginError
from trio_kafka.plugin_host.lifecycle import State
from trio_kafka.protocol.messages.k18_api_versions import ApiVersionsRequest
from trio_kafka.purgatory import Delayed, Purgatory
from trio_kafka.testing.broker import DATA, ServedBroker, served_broker
from trio_kafka.testing.simulation import simulated_world

UNKNOWN_SERVER_ERROR = -1
Body = Callable[[Any], Awaitable[None]]


def bad(start: Body | None = None, stop: Body | None = None, **named: Any) -> Plugin:
    """A plugin `bad` that does this before it is ready, and that when it is to go."""

    @plugin("bad", **{"order": 50, **named})
    @asynccontextmanager
    async def run(context: Any) -> AsyncIterator[None]:
        if start is not None:
            await start(context)
        yield
        if stop is not None:
            await stop(context)

    return run


async def raises(error: BaseException) -> None:
    await trio.lowlevel.checkpoint()
    raise error


def own_cancelled() -> BaseException:
    """One that nobody asked for: kept from a scope that has gone."""
    kept: list[BaseException] = []

    async def main() -> None:
        with trio.CancelScope() as scope:
            scope.cancel()
            try:
                await trio.sleep_forever()
            except trio.Cancelled as error:
                kept.append(error)
                raise

    import threading

    thread = threading.Thread(target=trio.run, args=(main,))
    thread.start()
    thread.join()
    return kept[0].with_traceback(None)


ERRORS = [
    (ValueError("no"), "ValueError: no"),
    (SystemExit(3), "SystemExit: 3"),
    (KeyboardInterrupt(), "KeyboardInterrupt"),
    (GeneratorExit(), "GeneratorExit"),
    (ExceptionGroup("many", [ValueError("one"), OSError("two")]), "ValueError: one; OSError: two"),
    (BaseExceptionGroup("many", [SystemExit("one")]), "SystemExit: one"),
]
IDS = [text for _, text in ERRORS]


async def assert_serves(served: ServedBroker, state: State = State.FAILED) -> str:
    """The broker and another plugin serve; what is said of the bad one."""
    assert (await served.ask(EchoRequest("still here"))).text == "still here"
    assert not (await served.ask(ApiVersionsRequest(), 0)).error_code
    hosted = served.broker.plugins.find("bad")
    assert hosted.state is state
    return hosted.error


@pytest.mark.parametrize(("error", "text"), ERRORS, ids=IDS)
async def test_a_plugin_that_raises_at_its_start_fails_alone(
    autojump_clock: MockClock, error: BaseException, text: str
) -> None:
    async def start(_: Any) -> None:
        await raises(error)

    async with served_broker(simulated_world(), plugins=[bad(start), echo]) as served:
        assert text in await assert_serves(served)


@pytest.mark.parametrize(("error", "text"), ERRORS, ids=IDS)
async def test_a_plugin_whose_task_raises_fails_alone_and_leaves_its_block_in_order(
    autojump_clock: MockClock, error: BaseException, text: str, caplog: pytest.LogCaptureFixture
) -> None:
    events: list[str] = []

    async def start(context: Any) -> None:
        context.nursery.start_soon(raises_later, error)

    async def stop(_: Any) -> None:
        await trio.sleep(0.1)  # it leaves its block in order
        events.append("in order")

    async with served_broker(simulated_world(), plugins=[bad(start, stop), echo]) as served:
        await trio.sleep(5)
        assert text in await assert_serves(served)

    assert events == ["in order"]
    assert any(
        record.levelno == logging.ERROR and record.fields["plugin"] == "bad"  # type: ignore[attr-defined]
        for record in caplog.records
        if hasattr(record, "fields") and "plugin" in record.fields
    )


async def raises_later(error: BaseException) -> None:
    await trio.sleep(1)
    raise error


async def test_a_plugin_whose_task_raises_its_own_cancelled_fails_alone(
    autojump_clock: MockClock,
) -> None:
    error = own_cancelled()

    async def start(context: Any) -> None:
        context.nursery.start_soon(raises_later, error)

    async with served_broker(simulated_world(), plugins=[bad(start), echo]) as served:
        await trio.sleep(5)
        assert "a task raised a Cancelled of its own" in await assert_serves(served)


async def test_a_plugin_that_is_not_ready_in_time_fails_alone(autojump_clock: MockClock) -> None:
    async def start(_: Any) -> None:
        await trio.sleep_forever()

    settings = {"plugin.bad.start.ms": "2000"}
    async with served_broker(simulated_world(), settings, plugins=[bad(start), echo]) as served:
        assert (await assert_serves(served)).startswith("it was not ready after 2 s")


async def hold_out(ends: trio.Event) -> None:
    """Takes no cancellation for an answer."""
    with trio.CancelScope(shield=True):
        await ends.wait()


@pytest.mark.parametrize("when", ["start", "stop", "task"])
async def test_a_plugin_that_ignores_cancellation_is_abandoned(
    autojump_clock: MockClock, when: str
) -> None:
    ends = trio.Event()

    async def body(_: Any) -> None:
        await hold_out(ends)

    async def start(context: Any) -> None:
        context.nursery.start_soon(hold_out, ends, name="greedy")

    bad_plugin = bad(*{"start": (body, None), "stop": (None, body), "task": (start, None)}[when])
    settings = {"plugin.bad.start.ms": "2000", "plugin.bad.drain.ms": "2000"}
    async with served_broker(simulated_world(), settings, plugins=[bad_plugin, echo]) as served:
        hosted = served.broker.plugins.find("bad")
        if when != "start":
            hosted.current.fail("somebody said so")
            await trio.sleep(10)
        abandoned = served.broker.plugins.abandoned
        ends.set()
        await trio.sleep(1)
        left_later = served.broker.plugins.abandoned
        error = await assert_serves(served)

    assert abandoned == [f"bad ({'greedy' if when == 'task' else 'its block'})"]
    assert left_later == []
    assert "it did not end 2 s after it was asked to" in error


@pytest.mark.slow
async def test_a_task_that_swallows_cancellations_is_abandoned_and_not_cancelled_again() -> None:
    """In real time: virtual time stands still while a task is busy."""
    swallowed = 0
    ends = trio.Event()

    async def swallow() -> None:
        nonlocal swallowed
        while not ends.is_set():
            try:
                await ends.wait()
            except BaseException:
                swallowed += 1

    async def start(context: Any) -> None:
        context.nursery.start_soon(swallow)

    settings = {"plugin.bad.drain.ms": "50"}
    async with served_broker(simulated_world(), settings, plugins=[bad(start), echo]) as served:
        hosted = served.broker.plugins.find("bad")
        hosted.current.fail("somebody said so")
        with trio.move_on_after(10):
            while hosted.state is not State.FAILED:
                await trio.sleep(0.01)
        before = swallowed
        error = await assert_serves(served)
        after = swallowed
        ends.set()

    assert "it did not end" in error
    assert before > 100
    assert after <= before + 2  # the one that was on its way


async def test_a_plugin_that_does_not_stop_in_time_is_cancelled_and_failed(
    autojump_clock: MockClock,
) -> None:
    async def stop(_: Any) -> None:
        await trio.sleep_forever()

    settings = {"plugin.bad.drain.ms": "2000"}
    async with served_broker(simulated_world(), settings, plugins=[bad(stop=stop), echo]) as served:
        hosted = served.broker.plugins.find("bad")
        before = trio.current_time()

    assert trio.current_time() - before < 3
    assert (hosted.state, hosted.error) == (
        State.FAILED,
        "it did not end in time and was cancelled",
    )


async def test_a_plugin_that_leaves_a_task_in_the_host_nursery_fails(
    autojump_clock: MockClock,
) -> None:
    async def start(_: Any) -> None:
        nursery = trio.lowlevel.current_task().parent_nursery
        assert nursery is not None
        nursery.start_soon(trio.sleep_forever, name="stray")

    async with served_broker(simulated_world(), plugins=[bad(start), echo]) as served:
        hosted = served.broker.plugins.find("bad")

    assert hosted.state is State.FAILED
    assert hosted.error == "it left tasks in a nursery of the host: stray"


async def test_a_stray_task_that_raises_fails_the_plugin_alone(autojump_clock: MockClock) -> None:
    async def start(_: Any) -> None:
        nursery = trio.lowlevel.current_task().parent_nursery
        assert nursery is not None
        nursery.start_soon(raises_later, ValueError("astray"))

    async with served_broker(simulated_world(), plugins=[bad(start), echo]) as served:
        await trio.sleep(5)
        assert await assert_serves(served) == "ValueError: astray"


async def test_a_plugin_reported_as_blocking_the_loop_fails(autojump_clock: MockClock) -> None:
    async with served_broker(simulated_world(), plugins=[bad(), echo]) as served:
        served.broker.plugins.blocking("bad", 2.5)
        await trio.sleep(1)

        assert await assert_serves(served) == "it blocked the loop for 2.5 s"


@pytest.mark.parametrize("waits", [False, True])
@pytest.mark.parametrize(("error", "text"), ERRORS, ids=IDS)
async def test_an_exception_fails_the_request_and_a_base_exception_fails_the_plugin(
    autojump_clock: MockClock, error: BaseException, text: str, waits: bool
) -> None:
    @api(EchoRequest)
    def plain(request: EchoRequest, _: Context) -> EchoResponse:
        raise error

    @api(EchoRequest)
    async def waiting(request: EchoRequest, _: Context) -> EchoResponse:
        await raises(error)
        return EchoResponse()

    async def start(context: Any) -> None:
        context.add_api(waiting if waits else plain)

    async with served_broker(simulated_world(), plugins=[bad(start)]) as served:
        first = await served.ask(EchoRequest("a"))
        await trio.sleep(1)
        second = await served.ask(EchoRequest("b"))
        hosted = served.broker.plugins.find("bad")

        assert first.error_code == second.error_code == UNKNOWN_SERVER_ERROR
        assert not (await served.ask(ApiVersionsRequest(), 0)).error_code
        if isinstance(error, Exception):
            assert (hosted.state, hosted.current.failures) == (State.READY, 2)
        else:
            assert hosted.state is State.FAILED
            assert text in hosted.error
            assert second.error_message == "plugin bad has failed"


async def test_a_handler_that_raises_its_own_cancelled_fails_the_plugin(
    autojump_clock: MockClock,
) -> None:
    error = own_cancelled()

    @api(EchoRequest)
    async def waiting(request: EchoRequest, _: Context) -> EchoResponse:
        await raises(error)
        return EchoResponse()

    async def start(context: Any) -> None:
        context.add_api(waiting)

    async with served_broker(simulated_world(), plugins=[bad(start)]) as served:
        assert (await served.ask(EchoRequest("a"))).error_code == UNKNOWN_SERVER_ERROR
        await trio.sleep(1)
        hosted = served.broker.plugins.find("bad")
        assert hosted.error == "API Echo: it raised a Cancelled that nothing requested"


async def test_too_many_failed_requests_in_a_minute_fail_the_plugin(
    autojump_clock: MockClock,
) -> None:
    @api(EchoRequest)
    def plain(request: EchoRequest, _: Context) -> EchoResponse:
        raise ValueError("no")

    async def start(context: Any) -> None:
        context.add_api(plain)

    settings = {"plugin.bad.failures": "3"}
    async with served_broker(simulated_world(), settings, plugins=[bad(start)]) as served:
        for _ in range(2):
            await served.ask(EchoRequest("a"))
            await trio.sleep(61)
            await served.ask(EchoRequest("a"))
        hosted = served.broker.plugins.find("bad")
        assert hosted.state is State.READY

        for _ in range(3):
            await served.ask(EchoRequest("a"))
        await trio.sleep(1)
        assert hosted.error == "3 requests failed in a minute; API Echo: ValueError: no"


@pytest.mark.leaves("the plugin keeps its failure, whose traceback keeps the operation in flight")
async def test_a_delayed_response_that_raises_system_exit_fails_the_plugin(
    autojump_clock: MockClock,
) -> None:
    async def start(context: Any) -> None:
        from trio_kafka.purgatory import Timers

        timers = Timers(context.node)
        purgatory = Purgatory("Bad", timers, context.node)
        context.nursery.start_soon(timers.run)

        @api(EchoRequest)
        def parked(request: EchoRequest, _: Context) -> Delayed:
            def complete(timed_out: bool) -> Any:
                raise SystemExit("parked")

            return Delayed((), trio.current_time() + 1, complete, purgatory=purgatory)

        context.add_api(parked)

    async with served_broker(simulated_world(), plugins=[bad(start)]) as served:
        assert (await served.ask(EchoRequest("a"))).error_code == UNKNOWN_SERVER_ERROR
        await trio.sleep(1)
        assert served.broker.plugins.find("bad").error == "API Echo: SystemExit: parked"


async def test_the_later_of_two_plugins_with_the_same_api_key_fails(
    autojump_clock: MockClock,
) -> None:
    @api(EchoRequest)
    def other(request: EchoRequest, _: Context) -> EchoResponse:
        return EchoResponse(text="other")

    async def start(context: Any) -> None:
        context.add_api(other)

    late = bad(start, order=200)
    async with served_broker(simulated_world(), plugins=[late, echo]) as served:
        error = await assert_serves(served)
        assert "API key 10200 (Echo) has two handlers" in error
        assert "test_hostile" in error


async def test_the_second_of_two_plugins_with_the_same_name_fails(
    autojump_clock: MockClock,
) -> None:
    async with served_broker(simulated_world(), plugins=[echo, bad(), bad()]) as served:
        await assert_serves(served, State.READY)
        [second] = [hosted for hosted in served.broker.plugins.plugins if "(" in hosted.name]
        assert second.state is State.FAILED
        assert "the name bad is taken by" in second.error


async def app(scope: Any, receive: Any, send: Any) -> None:
    await trio.lowlevel.checkpoint()


@pytest.mark.parametrize(
    ("path", "why"),
    [("/here", "path /here is already mounted by plugin first"), ("here/", "want /name")],
)
async def test_a_plugin_with_an_invalid_or_taken_mount_path_fails(
    autojump_clock: MockClock, path: str, why: str
) -> None:
    @plugin("first", order=10)
    @asynccontextmanager
    async def first(context: Any) -> AsyncIterator[None]:
        context.mount("/here", app)
        yield

    async def start(context: Any) -> None:
        context.mount(path, app)

    async with served_broker(simulated_world(), plugins=[bad(start), first, echo]) as served:
        assert why in await assert_serves(served)
        assert [mount.path for mount in served.broker.plugins.dependencies.mounts] == ["/here"]


@pytest.mark.parametrize(
    ("settings", "why"),
    [
        ({"plugin.echo.prefx": "x"}, "plugin.echo.prefx: plugin echo has no such setting: did you"),
        (
            {"plugin.echo.max.length": "0"},
            "plugin.echo.max.length: 0 is too small: want at least 1",
        ),
        ({"plugin.echo.limit": "many"}, "plugin.echo.limit: 'many' is not a whole number"),
        ({"plugin.echo.policy": "hope"}, "plugin.echo.policy: 'hope' is not one of isolate"),
    ],
)
async def test_invalid_settings_fail_only_their_plugin(
    autojump_clock: MockClock, settings: dict[str, str], why: str
) -> None:
    async with served_broker(simulated_world(), settings, plugins=[echo]) as served:
        hosted = served.broker.plugins.find("echo")
        assert hosted.state is State.FAILED
        assert why in hosted.error
        assert not (await served.ask(ApiVersionsRequest(), 0)).error_code


async def test_a_plugin_that_is_not_an_async_context_manager_fails_with_a_hint(
    autojump_clock: MockClock,
) -> None:
    @plugin("bad")
    async def run(context: Any) -> None:
        await trio.lowlevel.checkpoint()

    async with served_broker(simulated_world(), plugins=[run, echo]) as served:
        error = await assert_serves(served)

    assert (
        error == "TypeError: want an async context manager, found a coroutine: "
        "decorate it with @asynccontextmanager"
    )


@pytest.mark.parametrize("policy", ["isolate", "restart"])
async def test_only_the_restart_policy_retries_a_failed_start(
    autojump_clock: MockClock, policy: str
) -> None:
    tries: list[float] = []

    async def start(_: Any) -> None:
        tries.append(trio.current_time())
        await raises(ValueError("not yet"))

    settings = {"plugin.bad.policy": policy}
    async with served_broker(simulated_world(), settings, plugins=[bad(start), echo]) as served:
        await trio.sleep(500)  # less than connections.max.idle.ms
        await assert_serves(served)

    pauses = [round(later - sooner) for sooner, later in pairwise(tries)]
    assert pauses == ([1, 2, 5, 10, 30, 60] if policy == "restart" else [])


async def test_a_failed_start_of_a_fatal_plugin_prevents_the_broker_start(
    autojump_clock: MockClock,
) -> None:
    async def start(_: Any) -> None:
        await raises(ValueError("not yet"))

    with pytest.raises(StartError, match="plugin bad: ValueError: not yet"):
        async with served_broker(simulated_world(), plugins=[bad(start, policy="fatal")]):
            pass


async def test_a_plugin_restarted_after_a_failure_serves_its_api_again(
    autojump_clock: MockClock,
) -> None:
    lives = 0

    async def start(context: Any) -> None:
        nonlocal lives
        lives += 1

        @api(EchoRequest)
        def answer(request: EchoRequest, _: Context) -> EchoResponse:
            return EchoResponse(text=f"life {lives}")

        context.add_api(answer)
        if lives == 1:
            context.nursery.start_soon(raises_later, ValueError("once"))

    bad_plugin = bad(start, policy="restart")
    async with served_broker(simulated_world(), plugins=[bad_plugin]) as served:
        before = await served.ask(EchoRequest(""))
        await trio.sleep(1.5)
        between = await served.ask(EchoRequest(""))
        await trio.sleep(5)
        after = await served.ask(EchoRequest(""))
        hosted = served.broker.plugins.find("bad")

        assert (before.text, after.text) == ("life 1", "life 2")
        assert (between.error_code, between.error_message) == (-1, "plugin bad has failed")
        assert (hosted.state, hosted.generation, hosted.failures) == (State.READY, 2, 1)


async def test_a_fatal_failure_stops_the_broker_in_order(autojump_clock: MockClock) -> None:
    events: list[str] = []

    @plugin("witness", order=1)
    @asynccontextmanager
    async def witness(context: Any) -> AsyncIterator[None]:
        yield
        events.append("in order")

    async def start(context: Any) -> None:
        context.nursery.start_soon(raises_later, ValueError("fatal"))

    world = simulated_world()
    with pytest.raises(PluginError, match="plugin bad: ValueError: fatal"):
        async with served_broker(world, plugins=[bad(start, policy="fatal"), witness]):
            await trio.sleep_forever()

    assert events == ["in order"]
    assert world.directory(DATA).exists(".kafka_cleanshutdown")


async def test_requests_intercepted_by_a_failed_closed_plugin_are_refused(
    autojump_clock: MockClock,
) -> None:
    async def start(context: Any) -> None:
        context.before(EchoRequest, lambda request, _: None)

    bad_plugin = bad(start, closed=True)
    async with served_broker(simulated_world(), plugins=[bad_plugin, echo]) as served:
        assert (await served.ask(EchoRequest("a"))).text == "a"

        served.broker.plugins.find("bad").current.fail("somebody said so")
        await trio.sleep(1)
        refused = await served.ask(EchoRequest("a"))

        assert refused.error_code == UNKNOWN_SERVER_ERROR
        assert refused.error_message == "plugin bad has failed"


@pytest.mark.parametrize("policy", ["isolate", "restart"])
async def test_a_failed_start_of_a_closed_plugin_prevents_the_broker_start(
    autojump_clock: MockClock, policy: str
) -> None:
    async def start(context: Any) -> None:
        await raises(ValueError("no"))

    with pytest.raises(StartError, match="plugin bad: ValueError: no"):
        async with served_broker(
            simulated_world(), plugins=[bad(start, closed=True, policy=policy)]
        ):
            pass


async def test_requests_are_refused_until_a_closed_plugin_has_been_restarted(
    autojump_clock: MockClock,
) -> None:
    starts: list[int] = []

    async def start(context: Any) -> None:
        starts.append(len(starts))
        context.before(EchoRequest, lambda request, _: None)
        if len(starts) == 2:
            await raises(ValueError("not yet"))

    bad_plugin = bad(start, closed=True, policy="restart")
    async with served_broker(simulated_world(), plugins=[bad_plugin, echo]) as served:
        served.broker.plugins.find("bad").current.fail("somebody said so")
        codes = []
        for _ in range(3):  # before the first restart, which fails, and between it and the second
            await trio.sleep(0.9)
            codes.append((await served.ask(EchoRequest("a"))).error_code)
        await trio.sleep(2)
        answer = await served.ask(EchoRequest("a"))

    assert codes == [UNKNOWN_SERVER_ERROR] * 3
    assert (answer.error_code, len(starts)) == (0, 3)


async def test_plugins_start_in_their_order_and_stop_in_reverse_order(
    autojump_clock: MockClock,
) -> None:
    seen: list[str] = []

    def new_plugin(name: str, order: int) -> Plugin:
        @plugin(name, order=order)
        @asynccontextmanager
        async def run(context: Any) -> AsyncIterator[None]:
            seen.append(f"+{name}")
            yield
            seen.append(f"-{name}")

        return run

    plugins = [new_plugin("b", 2), new_plugin("a", 3), new_plugin("c", 1)]
    settings = {"plugin.c.order": "4"}
    async with served_broker(simulated_world(), settings, plugins=plugins):
        assert seen == ["+b", "+a", "+c"]

    assert seen[3:] == ["-c", "-a", "-b"]
