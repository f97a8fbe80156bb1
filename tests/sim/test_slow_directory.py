"""The lives of a broker whose disk stalls now and then: what was acknowledged is there again.

The stalls are longer than what makes a directory slow, so appends are queued while clients come and
go, topics are deleted, segments roll, and the power fails.
"""

from collections.abc import Callable

import pytest

from tests.sim.ledger import Ledger
from tests.sim.lives import live_and_die
from trio_kafka.replication.slow_appends import SlowAppends
from trio_kafka.testing.simulation import run_simulated
from trio_kafka.world.simulated import Universe

Size = Callable[[int, int], int]

pytestmark = [pytest.mark.slow, pytest.mark.timeout(600)]


async def stall_live_and_die(universe: Universe) -> Ledger:
    """As `live_and_die`; one append in ten to a partition, and one new file, takes 6 to 60 ms."""
    chance = universe.chance("stalls")

    def stall(machine: str, call: str, place: str) -> float | None:
        is_slow = call == "create" or (call == "append" and place.endswith(".log"))
        if machine == "broker" and is_slow and "metadata" not in place and chance.random() < 0.1:
            return chance.uniform(0.006, 0.06)
        return None

    universe.fault = stall
    return await live_and_die(universe)


def test_what_was_acknowledged_outlives_every_power_loss(
    size: Size, monkeypatch: pytest.MonkeyPatch
) -> None:
    seeds, queued = size(6, 50), []
    join = SlowAppends.join

    def count(*arguments: object) -> object:
        item = join(*arguments)
        queued.append(item is not None)
        return item

    monkeypatch.setattr(SlowAppends, "join", count)

    ledgers = [
        run_simulated(stall_live_and_die, seed, moody=bool(seed % 2)) for seed in range(seeds)
    ]

    assert sum(ledger.acknowledged for ledger in ledgers) > 50 * seeds
    assert sum(queued) > 50 * seeds
