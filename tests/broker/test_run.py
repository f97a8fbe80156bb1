"""A broker as a block: whole lives in virtual time."""

import pytest
import trio

from tests.broker.kit import APIS, config_of, live_once, names_below
from tests.lanes import offset_below
from trio_kafka.broker import Broker, RunningBroker, StartError, run
from trio_kafka.requests.registry import InstalledApiError, Registry
from trio_kafka.testing.simulation import simulated_world
from trio_kafka.world.simulated.file import SimulatedFile


@pytest.fixture
def files(monkeypatch: pytest.MonkeyPatch) -> list[SimulatedFile]:
    """Every file that is opened, in whatever world."""
    opened_files: list[SimulatedFile] = []
    make = SimulatedFile.__init__

    def note(file: SimulatedFile, *arguments, **named) -> None:
        make(file, *arguments, **named)
        opened_files.append(file)

    monkeypatch.setattr(SimulatedFile, "__init__", note)
    return opened_files


def lingering(files: list[SimulatedFile]) -> list[str]:
    """The paths of those that nobody closed."""
    return [file._path for file in files if not file._closed]


async def test_broker_serves_during_the_block_and_releases_everything_afterwards(
    world, files, autojump_clock
) -> None:
    async with Broker(config_of(), world, format_if_empty=True, apis=APIS) as broker:
        assert broker.lifecycle.state == "running"
        assert set(broker.tasks.running) >= {"raft", "planes", "replication"}
        assert {"start", "snapshot-generator", "replica-manager"} <= set(names_below(broker))
        assert broker.bootstrap == f"127.0.0.1:{broker.endpoint.port}"

    assert broker.tasks.running == ()
    assert world.locks == {}
    assert world.directory("/data").exists(".kafka_cleanshutdown")
    assert lingering(files) == []


async def test_steps_of_start_and_stop_have_the_designed_order(world, autojump_clock) -> None:
    async with Broker(config_of(), world, format_if_empty=True, apis=APIS) as broker:
        pass

    assert list(broker.start.durations) == [
        "scheduler",
        "log directories",
        "metadata",
        "controller",
        "log manager",
        "network",
        "replication",
        "upkeep",
        "registration",
        "unfence",
        "plugins",
    ]
    assert list(broker.stop.durations) == [
        "controlled shutdown",
        "network",
        "plugins",
        "handlers",
        "scheduler",
        "coordinators",
        "replication",
        "controller",
        "logs",
    ]


STEP = 53  # of the short form: a start takes some hundred steps of the loop


class Steps(trio.abc.Instrument):
    """Cancels a scope after so many steps of the test's own tasks."""

    def __init__(self, scope: trio.CancelScope, limit: int) -> None:
        self.scope = scope
        self.remaining = limit

    def before_task_step(self, task: trio.lowlevel.Task) -> None:
        self.remaining -= 1
        if self.remaining == 0:
            self.scope.cancel()


async def start_cut_off(world, config, steps: int) -> RunningBroker | None:
    """The broker if `steps` were enough to start it."""
    broker = None
    with trio.CancelScope() as scope:
        instrument = Steps(scope, steps)
        trio.lowlevel.add_instrument(instrument)
        try:
            async with Broker(config, world, format_if_empty=True, apis=APIS) as broker:
                pass
        finally:
            trio.lowlevel.remove_instrument(instrument)
    return broker if not scope.cancelled_caught else None


@pytest.mark.slow
@pytest.mark.timeout(300)
@pytest.mark.parametrize("apart", [False, True])
async def test_first_start_cancelled_at_any_step_releases_locks_and_files(
    autojump_clock, files, size, apart: bool
) -> None:
    config = config_of({"log.dirs": "/a,/b"} | ({"metadata.log.dir": "/m"} if apart else {}))
    step = size(STEP, 1)
    broker, steps, lives = None, 1 + offset_below(step), 0
    while broker is None:
        world = simulated_world(seed=steps)
        broker = await start_cut_off(world, config, steps)
        assert (world.locks, lingering(files)) == ({}, []), steps
        # What a start that was cut off has left is good enough for the next one.
        async with Broker(config, world, format_if_empty=True, apis=APIS):
            lives += 1
        steps += step
    assert lives > size(4, 10)


@pytest.mark.slow
@pytest.mark.timeout(300)
@pytest.mark.parametrize("clean", [False, True])
async def test_restart_cancelled_at_any_step_releases_locks_and_files(
    autojump_clock, files, size, clean: bool
) -> None:
    config = config_of({"log.dirs": "/a,/b"})
    step = size(STEP, 1)
    broker, steps, lives = None, 1 + offset_below(step), 0
    while broker is None:
        world = await live_once(simulated_world(seed=steps), config, clean=clean)
        files.clear()
        broker = await start_cut_off(world, config, steps)
        assert (world.locks, lingering(files)) == ({}, []), steps
        lives += 1
        steps += step
    assert lives > size(4, 10)


async def test_unusable_plugin_api_refuses_the_start_before_any_lock_is_taken(
    world, monkeypatch
) -> None:
    def refuse() -> Registry:
        raise InstalledApiError("entry point mine = found_here: why")

    monkeypatch.setattr(run, "installed_apis", refuse)
    with pytest.raises(
        StartError, match="an API of an installed plugin cannot be used: entry point mine"
    ):
        async with Broker(config_of(), world, format_if_empty=True):
            pass
    assert world.locks == {}
