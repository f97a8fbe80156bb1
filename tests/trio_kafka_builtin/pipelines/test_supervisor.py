"""All pipelines of a broker."""

import pytest
import trio
from trio.testing import MockClock

from tests.trio_kafka_builtin.pipelines.kit import running_pipelines
from trio_kafka.introspect.tree import Node
from trio_kafka.testing.simulation import simulated_world
from trio_kafka.world.simulated.child import SimulatedProcess
from trio_kafka_builtin.pipelines.supervisor import http_url


async def wait(process: SimulatedProcess) -> int:
    await trio.sleep_forever()
    return 0


async def test_child_processes_run_while_the_broker_serves_and_end_as_its_stop_begins(
    autojump_clock: MockClock,
) -> None:
    seen = list[tuple[str, str]]()
    world, entered = simulated_world(), trio.Event()

    async def look(process: SimulatedProcess) -> int:
        process.catches_terminate = True
        await entered.wait()
        seen.append(states())
        await process.terminated.wait()
        seen.append(states())
        return 0

    def states() -> tuple[str, str]:
        return pipelines.served.broker.parts.lifecycle.state, pipelines.hosted.state.value

    files = {"a.toml": 'command = ["look"]'}
    async with running_pipelines({"look": look}, files, world) as pipelines:
        entered.set()
        await pipelines.until("a", "running")

    assert seen == [("running", "ready"), ("shutting down", "ready")]


async def test_each_pipeline_is_a_task_and_a_node_while_the_plugin_runs(
    autojump_clock: MockClock,
) -> None:
    async with running_pipelines({"wait": wait}, {"a.toml": 'command = ["wait"]'}) as pipelines:
        await pipelines.until("a", "running")
        figures = pipelines.node("pipeline a").figures()
        assert (figures["state"], figures["restarts"], figures["lag"]) == ("running", 0, None)
        assert "pipeline a" in pipelines.hosted.current.tasks
        assert pipelines.node("posts").kind == "channel"
        broker = pipelines.served.broker
    assert [node.name for _, node in broker.node.walk() if node.name == "pipeline a"] == []


async def test_the_end_of_one_pipeline_does_not_affect_the_others(
    autojump_clock: MockClock,
) -> None:
    async def end(process: SimulatedProcess) -> int:
        await trio.lowlevel.checkpoint()
        return 0

    files = {"a.toml": 'command = ["end"]', "b.toml": 'command = ["wait"]'}
    async with running_pipelines({"end": end, "wait": wait}, files) as pipelines:
        await pipelines.until("a", "finished")
        await trio.sleep(100)
        assert (await pipelines.row("b"))["state"] == "running"
        assert pipelines.hosted.state.value == "ready"


async def test_pipelines_run_when_their_log_files_cannot_be_created(
    autojump_clock: MockClock, caplog: pytest.LogCaptureFixture
) -> None:
    async with running_pipelines(
        {"wait": wait}, {"a.toml": 'command = ["wait"]'}, log_directory="/etc/pipelines/a.toml/x"
    ) as pipelines:
        await pipelines.until("a", "running")

    assert "pipeline log files disabled" in caplog.messages


@pytest.mark.parametrize(
    ("address", "url"),
    [
        ("http://127.0.0.1:80", "http://127.0.0.1:80"),
        ("http://0.0.0.0:8083", "http://127.0.0.1:8083"),
        ("http://[::]:8083", "http://127.0.0.1:8083"),
        ("http://plane.example:8083", "http://plane.example:8083"),
    ],
)
def test_the_http_url_for_child_processes_uses_a_reachable_local_address(
    address: str, url: str
) -> None:
    plugins = Node("plugins", "nursery")
    ours = plugins.add("pipelines", "plugin").add("generation-1", "nursery")
    assert http_url(ours) is None
    plane = plugins.add("http", "plugin").add("generation-1", "nursery")
    assert http_url(ours) is None
    plane.add(address, "listener")

    assert http_url(ours) == url
    assert http_url(Node("alone", "nursery")) is None
