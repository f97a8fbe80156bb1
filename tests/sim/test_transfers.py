"""Transactions over power losses, kills and crashes of producers: seeded runs of a whole broker."""

from collections.abc import Callable

import pytest

from tests.lanes import Seeds
from tests.sim.transfers import SETTINGS, transfers
from trio_kafka.testing.simulate import run_seed

Size = Callable[[int, int], int]

pytestmark = [pytest.mark.slow, pytest.mark.timeout(1800)]


def test_transactions_are_atomic_and_end_whatever_fails(seeds: Seeds, size: Size) -> None:
    runs = [run_seed(transfers, seed, settings=SETTINGS) for seed in seeds(8, 200)]

    committed = sum(run.committed for run in runs)
    aborted, crashed = sum(run.aborted for run in runs), sum(run.crashed for run in runs)
    unknown, read = sum(run.unknown for run in runs), sum(run.read for run in runs)
    print(f"{committed} committed, {aborted} aborted, {crashed} crashed, {unknown} unknown; {read}")
    assert committed > 5 * len(runs)
    assert aborted > len(runs) // 2
    # A few seeds alone may have none.
    assert crashed > size(-1, len(runs))
    assert unknown > size(-1, len(runs) // 2)
    assert read > 10 * len(runs)
