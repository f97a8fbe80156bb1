"""Lives of the kit's broker: it starts, stops in order, is killed, and starts again."""

from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager, contextmanager
from typing import Final, Protocol

import trio
from attrs import field

from trio_kafka.attributes import define
from trio_kafka.broker import Broker, RunningBroker
from trio_kafka.config.broker import BrokerConfig
from trio_kafka.config.load import load, options
from trio_kafka.errors import only_leaf
from trio_kafka.plugin_host.declaration import Plugin
from trio_kafka.requests.registry import Registry, installed_apis
from trio_kafka.testing.kafka.access import Access
from trio_kafka.testing.kafka.machines import Machine
from trio_kafka.testing.kafka.older import OlderFeatures, older_apis
from trio_kafka.testing.kafka.releases import Release
from trio_kafka.world.world import Crashed, World

__tracebackhide__ = True  # pytest ends the traceback of a failed test where it calls the kit

_HOST: Final = "127.0.0.1"
# Settings that make tests quick; all others are Kafka's defaults.
QUICK: Final[Mapping[str, str]] = {
    "group.initial.rebalance.delay.ms": "0",
    "offsets.topic.num.partitions": "1",
    "transaction.state.log.num.partitions": "1",
    "replica.high.watermark.checkpoint.interval.ms": "300000",  # wakes an idle broker
}


class NotRunningError(RuntimeError):
    """The broker is stopped or killed: start it first."""


@define(eq=False, kw_only=True)
class LifeSettings:
    """Start options of a broker of the kit.

    settings: by Kafka's names, above `QUICK`. port: of the first listener; 0: a free one, kept over
        restarts. plugins: only these; None: the installed ones. apis: None: the installed ones.
    release: of Kafka, which the broker acts as; None: the newest. seed: of fault rules.
    access: how clients reach it.
    """

    settings: Mapping[str, str] = field(factory=dict)
    port: int = 0
    plugins: Sequence[Plugin] | None = ()
    apis: Registry | None = None
    release: Release | None = None
    seed: object = 0
    access: Access = field(factory=Access)
    stop_s: float = 10.0


@define(eq=False, kw_only=True)
class Life:
    """One life of the broker, from its start to its end."""

    broker: RunningBroker
    scope: trio.CancelScope
    stopping: trio.Event = field(factory=trio.Event)
    ended: trio.Event = field(factory=trio.Event)


class Lifecycle(Protocol):
    """Start and end of a broker under test; see `Lives`."""

    how: LifeSettings

    @property
    def is_running(self) -> bool: ...
    @property
    def broker(self) -> RunningBroker:
        """The running broker. Raises NotRunningError."""

    async def start(self) -> None: ...
    async def stop(self) -> None: ...
    async def kill(self, *, power: bool = False) -> None: ...


class Lives:
    """A broker on a machine, one life after the other. Use `running_lives`.

    how: what the next life is started with. number: of lives so far.
    """

    def __init__(self, machine: Machine, how: LifeSettings, nursery: trio.Nursery) -> None:
        self.machine = machine
        self.how = how
        self.number = 0
        self.ended = False
        self._port = how.port
        self._nursery = nursery
        self._life: Life | None = None

    @property
    def is_running(self) -> bool:
        return self._life is not None

    @property
    def broker(self) -> RunningBroker:
        """The running broker. Raises NotRunningError."""
        return self._running().broker

    async def start(self) -> None:
        """Start the broker on what its disk has kept, at its port. Raises StartError, ConfigError.

        Raises RuntimeError if it runs.
        """
        if self._life is not None:
            raise RuntimeError("the broker is running already: stop or kill it first")
        self._life = await self._nursery.start(self._live, name="kafka")
        self.number += 1
        self._port = self.broker.endpoint.port

    async def stop(self) -> None:
        """Stop the broker in order. Raises NotRunningError."""
        life = self._running()
        self._life = None
        life.stopping.set()
        await life.ended.wait()

    async def kill(self, *, power: bool = False) -> None:
        """End the broker at once, as `kill -9` does. Raises NotRunningError.

        power: as a power loss does: bytes and names that were not synced are lost. Raises
            ValueError if the machine cannot do that.
        """
        life = self._running()
        self.machine.crash(power=power)
        self._life = None
        life.scope.cancel()
        await life.ended.wait()

    def _running(self) -> Life:
        if self.ended:
            raise NotRunningError("the broker has ended, with its block or its test")
        if self._life is None:
            raise NotRunningError("the broker is not running: call start() first")
        return self._life

    async def _live(self, *, task_status: trio.TaskStatus[Life]) -> None:
        texts = {
            "listeners": f"{self.how.access.protocol}://{_HOST}:{self._port}",
            "log.dirs": self.machine.data,
            **QUICK,
            **self.how.access.broker_settings(),
            **self.how.settings,
        }
        config = load(options(f"{name}={text}" for name, text in texts.items())).config
        life: Life | None = None
        try:
            with trio.CancelScope() as scope:
                async with broker_of(self.how, config, self.machine.boot()) as broker:
                    life = Life(broker=broker, scope=scope)
                    task_status.started(life)
                    await life.stopping.wait()
        except* Crashed:
            pass
        finally:
            if life is not None:
                life.ended.set()


@asynccontextmanager
async def broker_of(
    how: LifeSettings, config: BrokerConfig, world: World
) -> AsyncIterator[RunningBroker]:
    """Run a broker that acts as the release of its settings."""
    release, apis = how.release, how.apis
    if release is not None:
        apis = older_apis(installed_apis() if apis is None else apis, release)
    async with Broker(
        config,
        world,
        format_if_empty=True,
        apis=apis,
        plugins=how.plugins,
        stop_s=how.stop_s,
    ) as broker:
        if release is not None:
            broker.parts.features = OlderFeatures(broker.parts.features, release)
        yield broker


@asynccontextmanager
async def running_lives(machine: Machine, how: LifeSettings) -> AsyncIterator[Lives]:
    """Start a broker for the block, and stop it in order afterwards, if it still runs.

    A failure of the broker cancels the block and is raised.
    """
    with unwrapped():
        async with trio.open_nursery() as nursery:
            lives = Lives(machine, how, nursery)
            await lives.start()
            try:
                yield lives
            finally:
                if lives.is_running:
                    with trio.CancelScope(shield=True):
                        await lives.stop()
                lives.ended = True


@contextmanager
def unwrapped() -> Iterator[None]:
    """Raise a single error without the exception groups of nurseries."""
    try:
        yield
    except ExceptionGroup as group:
        error = only_leaf(group)
        if error is group:
            raise
        raise error from None
