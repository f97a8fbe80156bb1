"""A pipeline is run, restarted and stopped as its definition says."""

from collections.abc import Awaitable, Callable
from itertools import pairwise

import pytest
import trio
from trio.testing import MockClock

from tests.trio_kafka_builtin.pipelines.kit import running_pipelines
from trio_kafka.world.simulated.child import SimulatedProcess
from trio_kafka_builtin.pipelines.pipeline import MOST_BYTES_PER_S

Program = Callable[[SimulatedProcess], Awaitable[int]]


async def last(process: SimulatedProcess) -> int:
    """Runs until it is told to end, which it does in a second."""
    process.catches_terminate = True
    await process.write(b"ready\n")
    await process.terminated.wait()
    await trio.sleep(1)
    await process.write(b"bye\n")
    return 0


async def stubborn(process: SimulatedProcess) -> int:
    process.catches_terminate = True
    await trio.sleep_forever()
    return 0


def ending(status: int, after_s: float = 0.5, starts: list[float] | None = None) -> Program:
    async def program(process: SimulatedProcess) -> int:
        if starts is not None:
            starts.append(trio.current_time())
        await process.write(b"once\n")
        await trio.sleep(after_s)
        return status

    return program


async def test_a_child_process_gets_the_broker_address_and_its_own_token(
    autojump_clock: MockClock,
) -> None:
    seen = list[SimulatedProcess]()

    async def program(process: SimulatedProcess) -> int:
        seen.append(process)
        return await last(process)

    text = 'command = ["run", "x"]\nenvironment = {WORD = "w"}\ndirectory = "/jobs"'
    async with running_pipelines({"run": program}, {"a.toml": text, "b.toml": text}) as pipelines:
        await pipelines.until("b", "running")
        await pipelines.until("a", "running")
        child = seen[0]
        assert child.command == ("run", "x")
        assert child.directory == "/jobs"
        assert child.environment["WORD"] == "w"
        assert {child.environment["TRIO_KAFKA_PIPELINE"], "a"} <= {"a", "b"}
        endpoint = pipelines.served.broker.endpoint
        assert child.environment["TRIO_KAFKA_BOOTSTRAP"] == f"127.0.0.1:{endpoint.port}"
        assert child.environment["TRIO_KAFKA_PIPELINE_URL"].startswith("http://127.0.0.1:")
        tokens = {process.environment["TRIO_KAFKA_PIPELINE_TOKEN"] for process in seen}
        assert {len(token) for token in tokens} == {64}
        assert len(tokens) == 2
        figures = [node.figures() for _, node in pipelines.served.broker.node.walk()]
        shown = f"{await pipelines.page()}{figures}"
        assert not [token for token in tokens if token in shown]


async def test_a_successful_command_is_finished_and_not_restarted(
    autojump_clock: MockClock,
) -> None:
    starts = list[float]()
    async with running_pipelines(
        {"run": ending(0, starts=starts)}, {"a.toml": 'command = ["run"]'}
    ) as pipelines:
        row = await pipelines.until("a", "finished")
        await trio.sleep(1000)

    assert (row["status"], row["error"], row["restarts"], row["pid"]) == (0, "", 0, None)
    assert row["lines"][1:] == ["once", "[trio-kafka] ended with status 0"]
    assert len(starts) == 1


async def test_a_failing_command_is_restarted_after_growing_pauses(
    autojump_clock: MockClock,
) -> None:
    starts = list[float]()
    text = 'command = ["run"]\npause_s = 1\nlongest_pause_s = 5'
    async with running_pipelines({"run": ending(3, 0.5, starts)}, {"a.toml": text}) as pipelines:
        row = await pipelines.until("a", "paused")
        assert (row["status"], row["error"]) == (3, "ended with status 3")
        assert row["next_start"] == pytest.approx(row["since"] + 1)
        await trio.sleep(30)
        assert pipelines.served.broker.counters.total("pipeline_restarts") == len(starts) - 1
        assert (await pipelines.row("a"))["restarts"] == len(starts) - 1

    pauses = [later - earlier - 0.5 for earlier, later in pairwise(starts)]
    assert pauses[:5] == pytest.approx([1, 2, 4, 5, 5], abs=0.01)


async def test_a_healthy_run_resets_the_pause_before_the_next_restart(
    autojump_clock: MockClock,
) -> None:
    starts = list[float]()
    text = 'command = ["run"]\npause_s = 1\nhealthy_s = 0.4'
    async with running_pipelines({"run": ending(3, 0.5, starts)}, {"a.toml": text}):
        await trio.sleep(10)

    pauses = [later - earlier - 0.5 for earlier, later in pairwise(starts)]
    assert pauses == pytest.approx([1] * len(pauses), abs=0.01)


@pytest.mark.parametrize(
    ("restart", "status", "state"),
    [
        ("always", 0, "paused"),
        ("always", 1, "paused"),
        ("never", 0, "finished"),
        ("never", 1, "failed"),
    ],
)
async def test_the_restart_policy_decides_the_state_after_the_command_ends(
    autojump_clock: MockClock, restart: str, status: int, state: str
) -> None:
    text = f'command = ["run"]\nrestart = "{restart}"'
    async with running_pipelines({"run": ending(status)}, {"a.toml": text}) as pipelines:
        await pipelines.until("a", state)


async def test_the_error_of_a_killed_command_names_the_signal(autojump_clock: MockClock) -> None:
    async def program(process: SimulatedProcess) -> int:
        process.die(-9)
        await trio.lowlevel.checkpoint()
        return 0

    text = 'command = ["run"]\nrestart = "never"'
    async with running_pipelines({"run": program}, {"a.toml": text}) as pipelines:
        assert (await pipelines.until("a", "failed"))["error"] == "ended by signal 9"


async def test_a_command_that_does_not_exist_is_reported_and_retried(
    autojump_clock: MockClock,
) -> None:
    async with running_pipelines({}, {"a.toml": 'command = ["nothing"]'}) as pipelines:
        row = await pipelines.until("a", "paused")
        assert row["status"] == 127
        assert "cannot run nothing: No such file or directory" in row["lines"]


async def test_a_process_that_cannot_be_created_is_reported_and_retried(
    autojump_clock: MockClock,
) -> None:
    async with running_pipelines({"run": last}, {"a.toml": 'command = ["run"]'}) as pipelines:
        await pipelines.until("a", "running")

        def fault(machine: str, call: str, target: str) -> OSError | None:
            return OSError(11, "no more processes") if call == "start_child" else None

        pipelines.world.universe.fault = fault
        next(iter(pipelines.world.children)).die(-9)
        await pipelines.until("a", "paused")
        await trio.sleep(1.5)
        row = await pipelines.row("a")
        assert "not started: [Errno 11] no more processes" in row["error"]
        pipelines.world.universe.fault = lambda machine, call, target: None
        await pipelines.until("a", "running")


async def test_a_disabled_pipeline_does_not_run(autojump_clock: MockClock) -> None:
    text = 'command = ["run"]\nenabled = false'
    async with running_pipelines({"run": last}, {"a.toml": text}) as pipelines:
        await pipelines.until("a", "disabled")
        assert not pipelines.world.children


async def test_stopping_the_broker_lets_a_child_process_end_orderly(
    autojump_clock: MockClock,
) -> None:
    async with running_pipelines({"run": last}, {"a.toml": 'command = ["run"]'}) as pipelines:
        await pipelines.until("a", "running")
        [child] = pipelines.world.children
        hosted = pipelines.hosted

    assert child.status == 0
    assert hosted.state.value == "stopped"
    file = pipelines.world.directory("/etc/pipelines/logs").open("a.log")
    content = bytearray(file.size)
    await file.read(0, content)
    file.close()
    assert bytes(content).endswith(b"ready\nbye\n[trio-kafka] ended with status 0\n")


async def test_a_child_that_ignores_its_signal_is_killed_after_its_grace(
    autojump_clock: MockClock,
) -> None:
    text = 'command = ["run"]\ngrace_s = 2'
    async with running_pipelines({"run": stubborn}, {"a.toml": text}) as pipelines:
        await pipelines.until("a", "running")
        [child] = pipelines.world.children
        began = trio.current_time()

    assert child.status == -9
    assert 2 <= trio.current_time() - began < 4


async def test_the_grace_period_of_a_child_ends_with_the_stop_of_the_broker(
    autojump_clock: MockClock,
) -> None:
    text = 'command = ["run"]\ngrace_s = 1000'
    async with running_pipelines({"run": stubborn}, {"a.toml": text}) as pipelines:
        await pipelines.until("a", "running")
        [child] = pipelines.world.children
        began = trio.current_time()

    assert child.status == -9
    assert trio.current_time() - began < 11


async def test_stopping_during_a_restart_pause_takes_no_time(autojump_clock: MockClock) -> None:
    text = 'command = ["run"]\npause_s = 1000\nlongest_pause_s = 1000'
    async with running_pipelines({"run": ending(1)}, {"a.toml": text}) as pipelines:
        await pipelines.until("a", "paused")
        began = trio.current_time()

    assert trio.current_time() - began < 1


async def test_the_output_of_an_endlessly_printing_child_is_throttled_and_bounded(
    autojump_clock: MockClock,
) -> None:
    written = 0

    async def chatty(process: SimulatedProcess) -> int:
        nonlocal written
        while True:
            await process.write(b"x" * 99 + b"\n")
            written += 100

    async with running_pipelines(
        {"run": chatty}, {"a.toml": 'command = ["run"]'}, log_lines="50", log_bytes="100000"
    ) as pipelines:
        await pipelines.until("a", "running")
        before = written
        await trio.sleep(1)
        assert written - before < 1.2 * MOST_BYTES_PER_S
        row = (await pipelines.page("?lines=1000"))["pipelines"][0]
        assert len(row["lines"]) <= 51
        assert pipelines.node("pipeline a").figures()["lines"] > 5000

    logs = pipelines.world.directory("/etc/pipelines/logs")
    for name in ("a.log", "a.log.1"):
        file = logs.open(name)
        assert file.size <= 100_000
        file.close()


async def test_a_failed_plugin_generation_kills_its_child_processes(
    autojump_clock: MockClock,
) -> None:
    async with running_pipelines({"run": stubborn}, {"a.toml": 'command = ["run"]'}) as pipelines:
        await pipelines.until("a", "running")
        [child] = pipelines.world.children
        pipelines.hosted.current.fail("enough")
        await trio.sleep(12)
        assert child.status == -9
        assert not pipelines.world.children
