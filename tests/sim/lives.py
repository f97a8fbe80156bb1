"""The lives of one broker, each ended by a power loss at some time, the last one in order."""

from functools import partial
from random import Random
from typing import Any, Final, Protocol

import pytest
import trio
from attrs import frozen

from tests.sim.clients import BROKER, Clients
from tests.sim.ledger import Ledger
from trio_kafka.broker import Broker
from trio_kafka.config.broker import BrokerConfig
from trio_kafka.config.load import broker_config
from trio_kafka.replication.queued_appends import QueuedAppends
from trio_kafka.testing.simulation import run_simulated
from trio_kafka.world.simulated import SimulatedWorld, Universe
from trio_kafka.world.world import Crashed

LIVES: Final = 5
SERVED_S: Final = 2.5
SETTINGS: Final = {
    "listeners": f"PLAINTEXT://{BROKER}",
    "log.dirs": "/a,/b",
    "log.flush.interval.messages": "1",
    "log.roll.ms": "150",
    "log.roll.jitter.ms": "50",
    "log.index.interval.bytes": "100",
    "log.segment.delete.delay.ms": "300",
    "log.initial.task.delay.ms": "100",
    "log.flush.offset.checkpoint.interval.ms": "400",
    "metadata.log.max.record.bytes.between.snapshots": "2000",
    "auto.create.topics.enable": "false",
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
    """What is done to a broker, life after life."""

    async def settle(self) -> None:
        """It serves again: hold it to what is known."""

    async def run(self) -> None:
        """Until cancelled."""


async def live(world: SimulatedWorld, clients: Load, end: End, config: BrokerConfig) -> None:
    """One life; returns when nothing of it is left."""
    doom = trio.Event()

    async def lurk() -> None:
        await trio.sleep(end.after_s)
        doom.set()

    async def act(nursery: trio.Nursery) -> None:
        def enter(phase: str) -> None:
            if phase == end.phase:
                nursery.start_soon(lurk, name="fate")

        enter("start")
        async with Broker(config, world, format_if_empty=True, stop_s=5.0):
            await clients.settle()
            nursery.start_soon(clients.run, name="clients")
            enter("serve")
            await trio.sleep(SERVED_S)
            enter("stop")
        doom.set()

    try:
        async with trio.open_nursery() as nursery:
            nursery.start_soon(act, nursery, name="broker")
            await doom.wait()
            world.crash(power=True, kept=end.kept)
            nursery.cancel_scope.cancel()
    except* Crashed:
        pass


async def live_and_die(universe: Universe) -> Ledger:
    """Some lives at the mercy of chance, one that ends in order, one that looks at what is left."""
    chance = universe.chance("fate")
    config = broker_config(SETTINGS)
    ledger = Ledger()
    clients = Clients(
        world=universe.machine("clients"), ledger=ledger, chance=universe.chance("clients")
    )
    in_order = End(phase=None, after_s=0.0, kept=0.0)
    for end in [*(choose_end(chance) for _ in range(LIVES)), in_order, in_order]:
        await live(universe.machine("broker"), clients, end, config)
    return ledger


def stall_now_and_then(universe: Universe) -> None:
    """One append in ten to a partition of the broker, and one new file, takes 6 to 60 ms."""
    chance = universe.chance("stalls")

    def stall(machine: str, call: str, place: str) -> float | None:
        is_slow = call == "create" or (call == "append" and place.endswith(".log"))
        if machine == "broker" and is_slow and "metadata" not in place and chance.random() < 0.1:
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


run_lives = partial(run_simulated, live_and_die)
