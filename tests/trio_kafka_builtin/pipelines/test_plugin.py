"""The plugin `pipelines`: off by default, light, and never there twice."""

import json
import os
import select
import signal
import subprocess
import sys
from pathlib import Path

import pytest
import trio
from trio.testing import MockClock

from tests.project.tree import ROOT
from tests.trio_kafka_builtin.pipelines.kit import running_pipelines
from trio_kafka.testing.harness import PluginHarness
from trio_kafka.testing.processes import broker_process
from trio_kafka.testing.simulation import simulated_world
from trio_kafka.world.simulated.child import SimulatedProcess
from trio_kafka_builtin.pipelines.plugin import pipelines

LOADED = """
import sys, trio_kafka_builtin.pipelines.plugin
from importlib import import_module
print(*sorted(name for name in sys.modules if name.startswith("trio_kafka_builtin")))
import trio_kafka_builtin.pipelines.app, trio_kafka_builtin.pipelines.page
print(*{"pyspark", "pyarrow", "numpy", "trio_kafka_spark"} & set(sys.modules))
"""


def test_importing_the_plugin_loads_only_plugin_and_settings_and_no_spark_library() -> None:
    done = subprocess.run(
        [sys.executable, "-c", LOADED], cwd=ROOT, capture_output=True, text=True, check=True
    )

    first, second = done.stdout.splitlines()
    assert first.split() == [
        "trio_kafka_builtin",
        "trio_kafka_builtin.pipelines",
        "trio_kafka_builtin.pipelines.plugin",
        "trio_kafka_builtin.pipelines.settings",
    ]
    assert second == ""


def test_the_pipelines_plugin_is_off_by_default() -> None:
    assert not pipelines.enabled


@pytest.mark.parametrize(
    ("directory", "why"), [(None, "plugin.pipelines.directory is not set"), ("/no", "No such file")]
)
async def test_the_pipelines_plugin_needs_an_existing_directory(
    autojump_clock: MockClock, directory: str | None, why: str
) -> None:
    settings = {"enabled": "true", **({"directory": directory} if directory else {})}
    with pytest.raises(Exception, match=why):
        async with PluginHarness(pipelines, settings=settings, world=simulated_world()):
            pass


async def test_a_reload_ends_all_child_processes_before_new_child_processes_start(
    autojump_clock: MockClock,
) -> None:
    running, most = set[int](), 0

    async def run(process: SimulatedProcess) -> int:
        nonlocal most
        running.add(id(process))
        most = max(most, len(running))
        process.catches_terminate = True
        await process.terminated.wait()
        await trio.sleep(1)
        running.discard(id(process))
        return 0

    async with running_pipelines({"run": run}, {"a.toml": 'command = ["run"]'}) as running_broker:
        await running_broker.until("a", "running")
        await running_broker.served.broker.plugins.reload("pipelines")
        await running_broker.until("a", "running")
        assert (await running_broker.row("a"))["restarts"] == 0
        assert running_broker.hosted.generation == 2

    assert most == 1


FAMILY = """
import json, os, signal, subprocess, sys
signal.signal(signal.SIGTERM, signal.SIG_IGN)
sleep = [sys.executable, "-I", "-S", "-c", "import signal; signal.pause()"]
same, apart = subprocess.Popen(sleep), subprocess.Popen(sleep, start_new_session=True)
with open("pids", "w") as file:
    json.dump([os.getpid(), same.pid, apart.pid, os.getppid()], file)
print("ready", flush=True)
os.rename("pids", "ready")
signal.pause()
"""


def wait_for(path: Path, process: subprocess.Popen[bytes]) -> None:
    """Until the child has made the file: it tells nobody else."""
    while not path.exists():
        assert process.poll() is None
        select.select([], [], [], 0.01)


@pytest.mark.slow
@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM])
def test_children_and_grandchildren_end_with_the_broker(tmp_path: Path, number: int) -> None:
    defined = tmp_path / "pipelines"
    defined.mkdir()
    (defined / "family.py").write_text(FAMILY)
    (defined / "family.toml").write_text('command = ["python", "family.py"]\ngrace_s = 0.2\n')
    settings = ["plugin.pipelines.enabled=true", f"plugin.pipelines.directory={defined}"]

    with broker_process(tmp_path, *settings) as broker:
        wait_for(defined / "ready", broker.process)
        pids = json.loads((defined / "ready").read_text())
        handles = [os.pidfd_open(pid) for pid in pids]
        os.kill(broker.process.pid, number)
        broker.process.wait(30)
        for handle in handles:
            ended, _, _ = select.select([handle], [], [], 20)
            os.close(handle)
            assert ended

    if number == signal.SIGTERM:  # a broker that is killed may not have read it yet
        log = (defined / "logs" / "family.log").read_text()
        assert "ready\n" in log
        assert log.splitlines()[-1].startswith("[trio-kafka] ended")
