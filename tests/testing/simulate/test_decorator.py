"""`@simulate`: seeds, failures and how they are replayed, traces, deadlocks."""

import inspect
import os
import subprocess
import sys
from pathlib import Path

import pytest
import trio

from tests.project.tree import ROOT
from trio_kafka.testing.simulate import run_seed, simulate
from trio_kafka.testing.simulate.decorator import SEED, SEEDS
from trio_kafka.world.clock import Deadlock


@pytest.fixture(autouse=True)
def _no_replay(monkeypatch):
    for name in (SEED, SEEDS):
        monkeypatch.delenv(name, raising=False)


@simulate(seeds=2)
async def test_simulated_test_can_use_fixtures(sim, tmp_path):
    assert sim.kafka.is_running
    assert isinstance(tmp_path, Path)


@pytest.mark.parametrize("number", [1, 2])
@simulate(seeds=[7])
async def test_simulated_test_can_have_parameters_and_a_list_of_seeds(sim, number):
    assert sim.seed == 7
    assert number in (1, 2)


def test_decorated_test_is_a_plain_function_without_the_simulation_parameter():
    @simulate(seeds=1)
    async def example(sim, tmp_path):
        """Doc."""

    assert not inspect.iscoroutinefunction(example)
    assert list(inspect.signature(example).parameters) == ["tmp_path"]
    assert (example.__name__, example.__doc__) == ("example", "Doc.")


def test_function_that_is_not_async_is_refused():
    with pytest.raises(TypeError, match="not an async function: want `async def test"):
        simulate(seeds=1)(print)


def test_every_other_seed_is_moody_by_default():
    seen = []

    async def look(sim):
        seen.append(sim.universe.moody)

    for options in ({}, {"moody": True}):
        simulate(seeds=2, **options)(look)()

    assert seen == [False, True, True, True]


@simulate(seeds=[3])
async def fails(sim):
    async with sim.chaos([(50.0, "kill", 1.0)]):
        await trio.sleep(1)
        assert sim.seed != 3, "seed three"


def test_a_failure_keeps_its_type_and_says_how_to_replay_it():
    with pytest.raises(AssertionError, match="seed three") as caught:
        fails()

    faults, seed, replay = caught.value.__notes__
    assert faults == "faults: [(50.0, 'kill', 1.0)]"
    assert seed.startswith("simulated run: seed 3 failed after 1.")
    assert replay.startswith("replay it with a log: TRIO_KAFKA_SIMULATE_SEED=3 pytest 'tests/")
    assert "::test_a_failure_keeps_its_type" in replay


def test_replay_of_a_failure_runs_one_seed_and_writes_a_log(monkeypatch, tmp_path, capsys):
    log = tmp_path / "run.log"
    monkeypatch.setenv(SEED, "3")
    monkeypatch.setenv("TRIO_KAFKA_SIMULATE_LOG", str(log))

    with pytest.raises(AssertionError) as caught:
        fails()

    assert caught.value.__notes__[-1] == f"log: {log}"
    assert f"log of the simulated run: {log}" in capsys.readouterr().out
    text = log.read_text()
    assert "INFO trio_kafka.broker.run: broker started" in text
    assert " kafka kafka/1 sync /data/" in text


def test_number_of_seeds_can_be_set_in_the_environment(monkeypatch):
    seeds = []

    async def note(sim):
        seeds.append(sim.seed)

    monkeypatch.setenv(SEEDS, "3")
    simulate(seeds=100)(note)()

    assert seeds == [0, 1, 2]


def test_deadlock_fails_the_test_with_the_tree_of_tasks():
    async def wait(sim):
        async with trio.open_nursery() as nursery:
            nursery.start_soon(trio.Event().wait, name="reader of orders")

    with pytest.raises(Deadlock) as caught:
        run_seed(wait, 0, timeout_s=30.0)

    lines = str(caught.value).splitlines()
    assert lines[0] == "not done after 30 s of virtual time:"
    assert any(line.strip() == "reader of orders" for line in lines)
    assert any("log-sync-0" in line for line in lines)
    assert "seed 0 failed" in "".join(caught.value.__notes__)


def test_failure_of_the_broker_fails_the_test():
    async def break_it(sim):
        sim.kafka.broker.tasks.fail(KeyError("planted"))
        await trio.sleep(10)

    with pytest.raises(KeyError, match="planted"):
        run_seed(break_it, 0)


PROGRAM = """
import sys
from trio_kafka.testing.simulate import run_seed
from tests.sim.orders import SETTINGS, orders

async def trace(sim):
    schedule = await orders(sim)
    return sim.universe.digest, len(sim.universe.trace), schedule

for seed in map(int, sys.argv[1:]):
    print(run_seed(trace, seed, settings=SETTINGS))
"""


def traces(hash_seed: str, *seeds: int) -> list[str]:
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, *map(str, seeds)],
        env={**os.environ, "PYTHONHASHSEED": hash_seed, "PYTHONPATH": str(ROOT)},
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    )
    return done.stdout.splitlines()


@pytest.mark.slow
def test_trace_of_a_seed_is_the_same_in_every_process_and_order():
    first, second = traces("0", 4, 5, 6), traces("12345", 6, 5, 4)

    assert first == second[::-1]
    assert len(set(first)) == 3
