"""The lives of a broker whose disk stalls now and then: what was acknowledged is there again.

The stalls are longer than what makes a directory slow, so appends are queued while clients come and
go, topics are deleted, segments roll, and the power fails.
"""

from collections.abc import Callable

import pytest

from tests.sim.ledger import Ledger
from tests.sim.lives import SETTINGS, count_queued, live_and_die, stall_now_and_then
from trio_kafka.testing.simulate import Simulation, run_seed

Size = Callable[[int, int], int]

pytestmark = [pytest.mark.slow, pytest.mark.timeout(600)]


async def stall_live_and_die(sim: Simulation) -> Ledger:
    stall_now_and_then(sim.universe)
    return await live_and_die(sim)


def test_acknowledged_records_survive_power_losses_with_a_stalling_disk(
    size: Size, monkeypatch: pytest.MonkeyPatch
) -> None:
    seeds, queued = size(1, 50), count_queued(monkeypatch)

    ledgers = [run_seed(stall_live_and_die, seed, settings=SETTINGS) for seed in range(seeds)]

    assert sum(ledger.acknowledged for ledger in ledgers) > 50 * seeds
    assert sum(queued) > 50 * seeds
