"""A plugin is imported afresh beside its old generation, which is gone afterwards."""

import gc
import importlib
import sys
import threading
import weakref
from collections.abc import Callable
from pathlib import Path
from textwrap import indent

import pytest
import trio
from trio.testing import MockClock

from tests.plugin_host.packages import GREETER, WAIT_AT_IMPORT, Gate, change, write, write_greeter
from trio_kafka.broker import RunningBroker, collector
from trio_kafka.plugin_host.guard import PluginError, TooSoonError
from trio_kafka.plugin_host.lifecycle import State
from trio_kafka.testing.asgi import ask
from trio_kafka.testing.broker import ServedBroker, served_broker
from trio_kafka.testing.planes import until
from trio_kafka.testing.scripted_client import ScriptedClient
from trio_kafka.testing.simulation import simulated_world
from trio_kafka.world.clock import SkippingClock
from trio_kafka.world.real import RealWorld


@pytest.fixture
def site(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A directory of installed packages, with the greeter."""
    monkeypatch.syspath_prepend(str(tmp_path))
    write_greeter(tmp_path)
    yield tmp_path
    for name in [name for name in sys.modules if name.partition(".")[0] == "greeter"]:
        del sys.modules[name]


async def greet(served: ServedBroker | ScriptedClient, name: str = "Ada") -> str:
    request = importlib.import_module("greeter.messages").GreetRequest(name)
    if isinstance(served, ServedBroker):
        answer = await served.ask(request, 0)
    else:
        answer = await served.ask(request, 0)
    assert not answer.error_code, answer
    return answer.text


async def test_a_reload_serves_the_changed_code_of_the_package(
    autojump_clock: MockClock, site: Path
) -> None:
    async with served_broker(simulated_world(), plugins=None) as served:
        host = served.broker.plugins
        before = await greet(served)
        change(site, "greeter/serving.py", '"hello"', '"good day"')

        number = await host.reload("greeter")

        assert before == "hello Ada"
        assert number == 2
        assert await greet(served) == "good day Ada"
        assert served.broker.plugins.find("greeter").state is State.READY


async def test_no_object_of_the_old_generation_survives_a_reload(
    autojump_clock: MockClock, site: Path
) -> None:
    async with served_broker(simulated_world(), plugins=None) as served:
        hosted = served.broker.plugins.find("greeter")
        assert await greet(served) == "hello Ada"
        old = [weakref.ref(thing) for thing in things_of(served.broker)]
        names = private_names()

        await served.broker.plugins.reload("greeter")
        await wait_past(served.broker)
        await greet(served)
        gc.collect()

        assert [ref() for ref in old if ref() is not None] == []
        assert private_names() & names == set()
        assert len(private_names()) == 3
        assert hosted.past == []

    assert private_names() == set()


PAGE = """context.add_api(greet)

    def load():
        from trio_kafka_admin.page import Page

        async def read(asker, query):
            await trio.lowlevel.checkpoint()
            return {"word": WORD}

        def show(data, place):
            yield data["word"]

        about = "Words."
        return Page(
            name="words", title="Words", order=99, about=about, read=read, show=show
        )

    context.add_admin_page("words", load)
"""


async def test_a_reload_replaces_the_admin_page_and_releases_the_old_page(
    autojump_clock: MockClock, site: Path
) -> None:
    change(site, "greeter/serving.py", "context.add_api(greet)", PAGE)
    async with served_broker(simulated_world(), plugins=None) as served:
        host = served.broker.plugins

        async def word() -> str:
            mount = host.dependencies.mounts.find("/admin")
            assert mount is not None
            return (await ask(mount.app, "GET", "/admin/api/words")).json()["word"]

        assert await word() == "hello"
        old = weakref.ref(host.dependencies.pages.find("words").page.read)
        change(site, "greeter/serving.py", '"hello"', '"good day"')
        await host.reload("greeter")
        await wait_past(served.broker)
        gc.collect()

        assert old() is None
        assert await word() == "good day"


@pytest.mark.slow
async def test_reloads_leave_a_bounded_number_of_objects(
    autojump_clock: MockClock,
    site: Path,
    monkeypatch: pytest.MonkeyPatch,
    size: Callable[[int, int], int],
) -> None:
    """Each generation is cyclic garbage that was frozen while it lived."""
    monkeypatch.setattr(collector, "SPARE", 500)
    monkeypatch.setattr(collector, "GROWTH", 1.0)
    now, counts = 0.0, list[int]()
    async with served_broker(simulated_world(), plugins=None) as served:
        await greet(served)
        gc.collect()  # what other tests have left
        with collector.long_lived_frozen(lambda: now) as watching:
            for _ in range(size(20, 100)):
                await served.broker.plugins.reload("greeter")
                await wait_past(served.broker)
                await trio.sleep(collector.COUNT_S)  # Trio keeps scopes until their deadlines
                gc.collect()
                counts.append(gc.get_freeze_count())
                now += collector.COUNT_S
    # What other tests have left goes with the first thaw.
    thawed = counts.index(0) if 0 in counts else 0
    settled = [count for count in counts[thawed:] if count]
    assert watching.thaws > 1
    assert max(settled) - min(settled) < 2000


SECOND = """
    @plugin("second")
    @asynccontextmanager
    async def second(context: PluginContext[None]) -> AsyncIterator[None]:
        yield
"""


async def test_modules_shared_by_plugins_are_removed_with_the_last_plugin(
    autojump_clock: MockClock, site: Path
) -> None:
    files = {"greeter/serving.py": GREETER + SECOND}
    write(site, "greeter", files, {"both": "greeter.serving"})
    async with served_broker(simulated_world(), plugins=None) as served:
        first = private_names()
        await served.broker.plugins.reload("greeter")
        reloaded = private_names() - first

        await served.broker.plugins.reload("greeter")
        await wait_past(served.broker)

        assert first <= private_names()  # those of the other plugin
        assert private_names() & reloaded == set()

    assert private_names() == set()


def things_of(broker: RunningBroker) -> list[object]:
    """The modules of the present generation, and what is in them."""
    hosted = broker.plugins.find("greeter")
    assert hosted.plugin is not None
    module = sys.modules[hosted.plugin.module]
    result = [module, module.State, module.Settings, module.GreetRequest, module.greet]
    return [
        *result,
        hosted.current,
        hosted.plugin,
        hosted.settings.own,
        hosted.current.settings.own,
    ]


def private_names() -> set[str]:
    return {name for name in sys.modules if name.startswith("greeter@")}


async def wait_past(broker: RunningBroker) -> None:
    with trio.fail_after(30):
        while any(
            not generation.ended.is_set() for generation in broker.plugins.find("greeter").past
        ):
            await trio.sleep(0.1)
        await trio.testing.wait_all_tasks_blocked()


async def test_a_request_in_flight_finishes_with_the_old_generation(
    autojump_clock: MockClock, site: Path
) -> None:
    texts = []

    async def ask_slowly(served: ServedBroker) -> None:
        async with served.connect() as client:
            texts.append(await greet(client, "slow"))

    async with (
        served_broker(simulated_world(), plugins=None) as served,
        trio.open_nursery() as nursery,
    ):
        nursery.start_soon(ask_slowly, served)
        await trio.sleep(1)
        change(site, "greeter/serving.py", '"hello"', '"good day"')
        await served.broker.plugins.reload("greeter")
        at_once = await greet(served)
        states = [
            generation.lifecycle.state for generation in served.broker.plugins.find("greeter").past
        ]

    assert at_once == "good day Ada"
    assert states == [State.DRAINING]
    assert texts == ["hello slow"]


@pytest.mark.parametrize(
    ("old", "new", "why"),
    [
        ('WORD = "hello"', "WORD = = 1", "SyntaxError"),
        ('WORD = "hello"', 'raise SystemExit("no")', "SystemExit: no"),
        ("    yield\n", '    raise ValueError("not today")\n    yield\n', "not today"),
        ('@plugin("greeter"', '@plugin("other"', "no longer declares the plugin greeter"),
        ('@plugin("greeter"', '@plugin("greeter", policy="none"', "policy 'none' is unknown"),
        ('mark: str = string("!"', "mark: str = string(1 / 0", "ZeroDivisionError"),
        ('"What ends a greeting.")', '"What ends.", choices=("?",))', "'!' is not one of"),
    ],
)
async def test_the_old_generation_continues_to_serve_after_a_failed_reload(
    autojump_clock: MockClock, site: Path, old: str, new: str, why: str
) -> None:
    settings = {"plugin.greeter.mark": "!"}
    async with served_broker(simulated_world(), settings, plugins=None) as served:
        change(site, "greeter/serving.py", old, new)
        with pytest.raises(PluginError, match=why):
            await served.broker.plugins.reload("greeter")

        hosted = served.broker.plugins.find("greeter")
        assert await greet(served) == "hello Ada"
        assert (hosted.state, hosted.generation) == (State.READY, 1)
        assert len(private_names()) == 3


def restarted(start_s: float = 0.0, end_s: float = 0.0) -> str:
    """Source of a greeter that restarts, counts its lives, and takes some time to start and end."""
    body = f"""
    await trio.sleep({start_s})
    lives = context.counter("greeter_lives")
    lives.value += 1
    try:
        yield
        await trio.sleep({end_s})
    finally:
        lives.value -= 1
"""
    policy = GREETER.replace('@plugin("greeter"', '@plugin("greeter", policy="restart"')
    return policy.replace("\n        yield\n", indent(body, "    "))


async def assert_one_life(served: ServedBroker, generation: int) -> None:
    """Assert that one generation runs, now and when every restart would be over."""
    for wait_s in (0, 400):
        await trio.sleep(wait_s)
        hosted = served.broker.plugins.find("greeter")
        assert await greet(served) == "hello Ada"
        assert (hosted.state, hosted.generation) == (State.READY, generation)
        assert served.broker.counters.value("greeter_lives", plugin="greeter") == 1


async def test_a_reload_while_a_failed_generation_ends_leaves_one_generation(
    autojump_clock: MockClock, site: Path
) -> None:
    write_greeter(site, restarted(end_s=3))
    async with served_broker(simulated_world(), plugins=None) as served:
        served.broker.plugins.find("greeter").current.fail("somebody said so")
        await trio.sleep(0.5)

        assert await served.broker.plugins.reload("greeter") == 2
        await trio.sleep(5)  # the failed generation has ended

        await assert_one_life(served, 2)


async def test_a_reload_while_a_restart_is_under_way_leaves_one_generation(
    autojump_clock: MockClock, site: Path
) -> None:
    write_greeter(site, restarted(start_s=2))
    async with served_broker(simulated_world(), plugins=None) as served:
        served.broker.plugins.find("greeter").current.fail("somebody said so")
        await trio.sleep(2)  # the restart began after one second

        assert await served.broker.plugins.reload("greeter") == 3
        await trio.sleep(1)

        await assert_one_life(served, 3)


async def test_a_plugin_is_restarted_after_a_reload_that_failed_meanwhile(
    autojump_clock: MockClock, site: Path
) -> None:
    write_greeter(site, restarted())
    async with served_broker(simulated_world(), plugins=None) as served:
        served.broker.plugins.find("greeter").current.fail("somebody said so")
        change(site, "greeter/serving.py", "trio.sleep(0.0)", "trio.sleep(5); raise OSError('no')")

        with pytest.raises(PluginError, match="no"):
            await served.broker.plugins.reload("greeter")
        await trio.sleep(1)

        await assert_one_life(served, 3)


async def test_reloads_under_load_drop_no_connection_and_fail_no_request(
    autojump_clock: MockClock, site: Path, size: Callable[[int, int], int]
) -> None:
    """Eight clients ask without a pause, plain, waiting and slow ones, while it is reloaded."""
    texts: list[str] = []
    done = False

    async def ask_on(served: ServedBroker, name: str) -> None:
        async with served.connect() as client:
            while not done:
                texts.append(await greet(client, name))
                await trio.sleep(0.01)

    async with served_broker(simulated_world(), plugins=None) as served:
        hosted = served.broker.plugins.find("greeter")
        closed = closed_connections(served)
        async with trio.open_nursery() as nursery:
            for number in range(8):
                nursery.start_soon(ask_on, served, "slow" if number < 2 else f"client {number}")
            for number in range(size(5, 50)):
                await trio.sleep(0.5)
                write_greeter(site, GREETER.replace('"hello"', f'"word {number}"'))
                assert await served.broker.plugins.reload("greeter") == number + 2
            await trio.sleep(0.5)
            closed_by_then = closed_connections(served) - closed
            done = True
        await wait_past(served.broker)

        assert hosted.past == []
        assert len(private_names()) == 3

    words = {text.rpartition(" client")[0].strip() for text in texts if " client" in text}
    assert {f"word {number}" for number in range(size(5, 50))} <= words
    assert closed_by_then == 0
    assert len(texts) > 100 * size(5, 50)


def closed_connections(served: ServedBroker) -> int:
    return served.broker.counters.total("connections_closed")


@pytest.mark.slow
async def test_requests_are_served_while_a_reload_imports_the_package(
    site: Path, tmp_path: Path
) -> None:
    """The import waits, in a thread, until others have been served."""
    settings = {"log.dirs": str(tmp_path / "data")}
    async with (
        served_broker(RealWorld(SkippingClock()), settings, plugins=None) as served,
        trio.open_nursery() as nursery,
    ):
        host = served.broker.plugins
        with Gate() as gate:
            write_greeter(site, GREETER.replace('WORD = "hello"', f'WORD = "ho"; {WAIT_AT_IMPORT}'))
            nursery.start_soon(host.reload, "greeter")
            await trio.to_thread.run_sync(gate.came.wait, 20)

            texts = [await greet(served) for _ in range(10)]
            generation = host.find("greeter").generation
            gate.open.set()
            await until(lambda: host.find("greeter").generation == 2)

        assert gate.threads[0] is not threading.main_thread()
        assert (texts, generation) == (["hello Ada"] * 10, 1)
        assert await greet(served) == "ho Ada"


@pytest.mark.slow
async def test_a_reload_whose_import_times_out_fails_and_can_be_repeated_later(
    site: Path, tmp_path: Path
) -> None:
    settings = {"log.dirs": str(tmp_path / "data"), "plugin.greeter.start.ms": "50"}
    async with served_broker(RealWorld(SkippingClock()), settings, plugins=None) as served:
        host = served.broker.plugins
        with Gate() as gate:
            write_greeter(site, GREETER.replace('WORD = "hello"', f'WORD = "ho"; {WAIT_AT_IMPORT}'))
            with pytest.raises(PluginError, match=r"its import took longer than 0\.05 s"):
                await host.reload("greeter")
            with pytest.raises(
                PluginError, match="an abandoned import is still running, try again later"
            ):
                await host.reload("greeter")
            assert await greet(served) == "hello Ada"

            gate.open.set()
            importing = host.find("greeter").importing
            await until(lambda: importing.ended)

        write_greeter(site, GREETER.replace('"hello"', '"ho"'))
        assert len(private_names()) == 3
        assert await host.reload("greeter") == 2
        assert await greet(served) == "ho Ada"


async def test_a_second_reload_within_a_second_waits_for_its_turn(
    autojump_clock: MockClock, site: Path
) -> None:
    async with served_broker(simulated_world(), plugins=None) as served:
        host = served.broker.plugins
        began = trio.current_time()
        for reloads in range(1, 4):
            assert await host.reload("greeter") == 1 + reloads
            assert trio.current_time() - began == pytest.approx(reloads - 1, abs=0.3)


async def test_of_concurrent_reloads_only_one_per_second_begins_and_the_others_are_refused(
    autojump_clock: MockClock, site: Path
) -> None:
    async with served_broker(simulated_world(), plugins=None) as served:
        host = served.broker.plugins
        ends: list[int | str] = []

        async def reload_again_and_again() -> None:
            while True:
                try:
                    ends.append(await host.reload("greeter"))
                except TooSoonError as error:
                    ends.append(str(error))

        with trio.move_on_after(4.5):
            async with trio.open_nursery() as nursery:
                for _ in range(8):
                    nursery.start_soon(reload_again_and_again)

        numbers = [end for end in ends if isinstance(end, int)]
        assert numbers == [2, 3, 4, 5, 6]
        assert len(ends) <= 8 * 5  # a loop has an answer a second
        assert host.find("greeter").generation == 6


async def test_a_reload_during_another_reload_is_refused_after_one_second(
    autojump_clock: MockClock, site: Path
) -> None:
    async with served_broker(simulated_world(), plugins=None) as served:
        hosted = served.broker.plugins.find("greeter")
        hosted.reload_over = trio.Event()
        began = trio.current_time()
        with pytest.raises(TooSoonError, match="is being reloaded"):
            await served.broker.plugins.reload("greeter")
        assert trio.current_time() - began == pytest.approx(1.0, abs=0.01)
        assert hosted.generation == 1

        hosted.reload_over = None
        assert await served.broker.plugins.reload("greeter") == 2
