"""Seeded runs of a whole broker with its clients, and proof that they find bugs."""

import time

import pytest
from hypothesis import HealthCheck, given, settings

from tests.lanes import Seeds
from tests.sim.mutations import MUTATIONS, Mutation
from tests.sim.orders import SETTINGS, orders
from trio_kafka.testing.simulate import Simulation, run_seed, simulate
from trio_kafka.testing.simulate.schedule import Schedule
from trio_kafka.testing.simulate.strategies import schedules

pytestmark = [pytest.mark.slow, pytest.mark.timeout(1800)]
SEEDS = 500  # within which all bugs but at most one are found


def test_no_seed_violates_a_guarantee(seeds: Seeds) -> None:
    simulate(seeds(8, 1000), settings=SETTINGS)(orders)()


@settings(suppress_health_check=list(HealthCheck), max_examples=5)
@given(faults=schedules(within_s=2.0))
@simulate(seeds=1, settings=SETTINGS)
async def test_no_schedule_of_faults_violates_a_guarantee(
    sim: Simulation, faults: Schedule
) -> None:
    await orders(sim, faults)


@pytest.mark.parametrize("name", ["show_before_the_sync", "accept_duplicates", "stay_queued"])
def test_a_planted_bug_is_found_within_60_seeds(name: str) -> None:
    """Some of `test_all_planted_bugs_but_one_are_found`, for `make test`."""
    [mutation] = [function for function in MUTATIONS if function.__name__ == name]

    assert find(mutation, 60) is not None


@pytest.mark.long
def test_all_planted_bugs_but_one_are_found() -> None:
    missed = []
    for mutation in MUTATIONS:
        begin = time.process_time()
        result = find(mutation, SEEDS)
        spent_s = time.process_time() - begin
        outcome = "not found" if result is None else f"seed {result[0]}: {result[1]}"
        print(f"{mutation.__name__}: {outcome} ({spent_s:.1f} s)")
        missed += [mutation.__name__] if result is None else []

    print(f"{len(MUTATIONS) - len(missed)} of {len(MUTATIONS)} bugs found; missed: {missed}")
    assert len(missed) <= 1


def find(mutation: Mutation, seeds: int) -> tuple[int, str] | None:
    """Return the first seed that finds a bug, and the first line of what it says."""
    with mutation():
        for seed in range(seeds):
            try:
                run_seed(orders, seed, settings=SETTINGS)
            except Exception as error:
                return seed, f"{type(error).__name__}: {error}".splitlines()[0][:120]
    return None
