"""Lives of the broker of a simulation: it may crash at any time, also while it starts or stops."""

from collections.abc import Callable, Mapping
from typing import Final

import trio
from attrs import field

from trio_kafka.attributes import define
from trio_kafka.broker import RunningBroker, StartError
from trio_kafka.config.broker import BrokerConfig
from trio_kafka.config.load import broker_config
from trio_kafka.errors import LogDirError, leaves
from trio_kafka.model import Endpoint
from trio_kafka.testing.kafka.life import QUICK, LifeSettings, NotRunningError, broker_of
from trio_kafka.world.simulated import SimulatedWorld, Universe
from trio_kafka.world.world import Crashed

NAME: Final = "kafka"
ADDRESS: Final = Endpoint(NAME, 9092)
CLIENTS: Final = "clients"  # the machine of the clients
_AGAIN_S: Final = 0.5  # a supervisor starts a failed broker again after so long
# An acknowledged record is on the disk; segments and snapshots are small.
SETTINGS: Final = {
    **QUICK,
    "listeners": f"PLAINTEXT://{ADDRESS}",
    "log.dirs": "/data",
    "log.flush.interval.messages": "1",
    "log.roll.ms": "1000",
    "log.index.interval.bytes": "100",
    "log.segment.delete.delay.ms": "300",
    "log.initial.task.delay.ms": "100",
    "log.flush.offset.checkpoint.interval.ms": "400",
    "metadata.log.max.record.bytes.between.snapshots": "2000",
    "auto.create.topics.enable": "false",
}


@define(eq=False, kw_only=True)
class _Life:
    """One life of the broker: its machine, and when it is ready and over."""

    world: SimulatedWorld
    scope: trio.CancelScope = field(factory=trio.CancelScope)
    ready: trio.Event = field(factory=trio.Event)
    stop: trio.Event = field(factory=trio.Event)
    over: trio.Event = field(factory=trio.Event)


@define(eq=False)
class SimulatedLives:
    """Broker on the machine `kafka` of a universe, one life after the other, on one disk.

    settings: texts by Kafka's names, above `SETTINGS`. starts: lives so far.
    on_start: called with the broker of each later life, as soon as it serves.
    supervised: start a broker again that fails because of its disk; otherwise its failure ends the
        run, as every other failure of a broker does.
    """

    universe: Universe
    _nursery: trio.Nursery
    settings: Mapping[str, str] = field(factory=dict, kw_only=True)
    supervised: bool = field(default=False, init=False)
    starts: int = field(default=0, init=False)
    on_start: Callable[[RunningBroker], None] | None = field(default=None, init=False)
    address: Endpoint = field(default=ADDRESS, init=False)
    how: LifeSettings = field(init=False)
    _config: BrokerConfig = field(init=False)
    _life: _Life | None = field(default=None, init=False)
    _broker: RunningBroker | None = field(default=None, init=False)

    def __attrs_post_init__(self) -> None:
        self.how = LifeSettings(stop_s=5.0, seed=self.universe.seed)
        self._config = broker_config({**SETTINGS, **self.settings})

    @property
    def is_running(self) -> bool:
        """True while the broker serves."""
        return self._broker is not None

    @property
    def broker(self) -> RunningBroker:
        """The running broker. Raises NotRunningError."""
        if self._broker is None:
            raise NotRunningError("the broker is down: call start() first")
        return self._broker

    @property
    def world(self) -> SimulatedWorld:
        """The machine in its present life."""
        return self.universe.machines[NAME]

    def start_soon(self) -> None:
        """Begin a life, if there is none."""
        if self._life is None:
            self._life = _Life(world=self.universe.machine(NAME))
            self.starts += 1
            self._nursery.start_soon(self._run, self._life, name=f"{NAME}/{self.starts}")

    async def wait_down(self) -> None:
        """Wait until nothing of a life that has crashed is left."""
        await trio.lowlevel.checkpoint()
        life = self._life
        if life is not None and not life.world.alive:
            await life.over.wait()

    async def start(self) -> None:
        """Start, and wait until the broker serves, in this life or in a later one."""
        await trio.lowlevel.checkpoint()
        while not self.is_running:
            self.start_soon()
            if self._life is not None:
                await self._life.ready.wait()
            if not self.is_running:
                await trio.sleep(_AGAIN_S)

    async def stop(self) -> None:
        """Stop in order."""
        await trio.lowlevel.checkpoint()
        life = self._life
        if life is not None:
            life.stop.set()
            await life.over.wait()

    async def kill(self, *, power: bool = False, kept: float = 0.5) -> None:
        """End it as `kill -9` does, or by a power loss.

        kept: probability that a write that was not synced survives a power loss.
        """
        await trio.lowlevel.checkpoint()
        life = self._life
        if life is not None:
            life.world.crash(power=power, kept=kept)
            life.scope.cancel()
            await life.over.wait()

    async def _run(self, life: _Life) -> None:
        failed = False
        try:
            with life.scope:
                await self._serve(life)
        except* Crashed:
            pass
        except* (LogDirError, StartError, OSError) as error:
            if not self.supervised:
                raise
            failed = True
            life.world.crash(power=False)
            self.universe.note(NAME, "failed", ", ".join(str(leaf) for leaf in leaves(error)))
        finally:
            self._broker = self._life = None
            life.ready.set()
            life.over.set()
        if failed:
            await trio.sleep(_AGAIN_S)
            self.start_soon()

    async def _serve(self, life: _Life) -> None:
        async with (
            trio.open_nursery(),  # so that all failures come out in a group
            broker_of(self.how, self._config, life.world) as broker,
        ):
            self._broker = broker
            if self.on_start is not None:
                self.on_start(broker)
            life.ready.set()
            await life.stop.wait()
            self._broker = None
        life.world.crash(power=False)  # the machine is free for the next life
