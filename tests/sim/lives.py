"""The lives of one broker, each ended by a power loss at some time, the last one in order."""

from random import Random
from typing import Any, Final, Protocol

import pytest
import trio
from attrs import frozen

from tests.sim.clients import Clients
from tests.sim.ledger import Ledger
from trio_kafka.replication.leader.queued_appends import QueuedAppends
from trio_kafka.testing.simulate import Simulation
from trio_kafka.testing.simulate.lives import NAME, SimulatedLives
from trio_kafka.world.simulated import Universe

LIVES: Final = 5
SERVED_S: Final = 2.5
SETTINGS: Final = {
    "log.dirs": "/a,/b",
    "log.roll.ms": "150",
    "log.roll.jitter.ms": "50",
}

COMPACTED: Final = ("t0", "t1")
DIRECTORIES: Final = ("/a", "/b")
# The cleaner works all the time.
CLEANER: Final = {
    "log.cleaner.backoff.ms": "50",
    "log.cleaner.min.cleanable.ratio": "0.01",
    "log.segment.delete.delay.ms": "200",
    "log.initial.task.delay.ms": "50",
}


@frozen(kw_only=True)
class End:
    """When a life ends: so long after this phase has begun; None: in order."""

    phase: str | None
    after_s: float
    kept: float


def choose_end(chance: Random) -> End:
    phase = chance.choices(("start", "serve", "stop", None), (3, 5, 2, 1))[0]
    longest = {"start": 0.4, "serve": SERVED_S, "stop": 0.3, None: 0}[phase]
    return End(
        phase=phase,
        after_s=chance.uniform(0, longest),
        kept=chance.choice((0.0, 0.5, 0.9)),
    )


class Load(Protocol):
    """Load on a broker, life after life."""

    async def settle(self) -> None:
        """It serves again: hold it to what is known."""

    async def run(self) -> None:
        """Until cancelled."""


async def live(lives: SimulatedLives, clients: Load, end: End) -> None:
    """One life; returns when nothing of it is left."""
    async with trio.open_nursery() as nursery:

        async def strike() -> None:
            await trio.sleep(end.after_s)
            await lives.kill(power=True, kept=end.kept)
            nursery.cancel_scope.cancel()

        def enter(phase: str) -> None:
            if phase == end.phase:
                nursery.start_soon(strike, name="fate")

        enter("start")
        await lives.start()
        await clients.settle()
        nursery.start_soon(clients.run, name="clients")
        enter("serve")
        await trio.sleep(SERVED_S)
        enter("stop")
        await lives.stop()
        nursery.cancel_scope.cancel()


async def live_on(sim: Simulation, clients: Load, lives: int = LIVES) -> None:
    """Some lives at the mercy of chance, one that ends in order, one that looks at what is left."""
    chance = sim.universe.chance("fate")
    in_order = End(phase=None, after_s=0.0, kept=0.0)
    await sim.lives.kill()
    for end in [*(choose_end(chance) for _ in range(lives)), in_order, in_order]:
        await live(sim.lives, clients, end)


async def live_and_die(sim: Simulation, lives: int = LIVES) -> Ledger:
    """Lives of a broker whose clients create and delete topics, produce and read."""
    ledger = Ledger()
    chance = sim.universe.chance("clients")
    await live_on(sim, Clients(world=sim.clients, ledger=ledger, chance=chance), lives)
    return ledger


async def live_with_all(sim: Simulation) -> Ledger:
    """Lives with compacted topics, deleted records and moves between directories as well."""
    ledger = Ledger()
    clients = Clients(
        world=sim.clients,
        ledger=ledger,
        chance=sim.universe.chance("clients"),
        compacted=COMPACTED,
        cuts=True,
        directories=DIRECTORIES,
    )
    await live_on(sim, clients)
    return ledger


def stall_now_and_then(universe: Universe) -> None:
    """One append in ten to a partition of the broker, and one new file, takes 6 to 60 ms."""
    chance = universe.chance("stalls")

    def stall(machine: str, call: str, place: str) -> float | None:
        is_slow = call == "create" or (call == "append" and place.endswith(".log"))
        if machine == NAME and is_slow and "metadata" not in place and chance.random() < 0.1:
            return chance.uniform(0.006, 0.06)
        return None

    universe.fault = stall


def count_queued(monkeypatch: pytest.MonkeyPatch) -> list[bool]:
    """Of each append from now on, in their order, whether it was queued."""
    queued: list[bool] = []
    join = QueuedAppends.join

    def count(*arguments: Any) -> Any:
        item = join(*arguments)
        queued.append(item is not None)
        return item

    monkeypatch.setattr(QueuedAppends, "join", count)
    return queued
