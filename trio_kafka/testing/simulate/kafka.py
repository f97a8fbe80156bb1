"""A broker on a simulated machine, over all its lives."""

from collections.abc import Mapping
from typing import Final

import trio
from attrs import field

from trio_kafka.attributes import define
from trio_kafka.broker import Broker, StartError, running_broker
from trio_kafka.config.broker import BrokerConfig
from trio_kafka.config.load import broker_config
from trio_kafka.errors import ErrorCode, LogDirError, leaves
from trio_kafka.model import Endpoint, TopicPartition
from trio_kafka.protocol.messages.k19_create_topics import (
    CreatableTopic,
    CreatableTopicConfig,
    CreateTopicsRequest,
)
from trio_kafka.testing.clients.errors import check
from trio_kafka.testing.clients.link import Link
from trio_kafka.testing.clients.reading import Fetched, read_log
from trio_kafka.world.simulated import SimulatedWorld, Universe
from trio_kafka.world.world import Crashed

NAME: Final = "kafka"
ADDRESS: Final = Endpoint(NAME, 9092)
CLIENTS: Final = "clients"  # the machine of the clients
_CREATE_TOPICS: Final = 7
_AGAIN_S: Final = 0.5  # a supervisor starts a failed broker again after so long
# An acknowledged record is on the disk, segments and snapshots are small, and groups are quick.
SETTINGS: Final = {
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
    "group.initial.rebalance.delay.ms": "0",
    "offsets.topic.num.partitions": "1",
}


@define(eq=False)
class _Life:
    """One life of the broker: its machine, and when it is ready and over."""

    world: SimulatedWorld
    scope: trio.CancelScope = field(factory=trio.CancelScope)
    ready: trio.Event = field(factory=trio.Event)
    stop: trio.Event = field(factory=trio.Event)
    over: trio.Event = field(factory=trio.Event)


@define(eq=False)
class SimulatedKafka:
    """Broker on the machine `kafka` of a universe. Its disk outlives it.

    settings: texts by Kafka's names, over `SETTINGS`.
    broker: the running one; None while it starts or is down.
    supervised: start a broker again that fails because of its disk; otherwise its failure ends the
        run, as every other failure of a broker does.
    """

    universe: Universe
    _nursery: trio.Nursery
    settings: Mapping[str, str] = field(factory=dict, kw_only=True)
    supervised: bool = field(default=False, init=False)
    broker: Broker | None = field(default=None, init=False)
    starts: int = field(default=0, init=False)
    address: Endpoint = field(default=ADDRESS, init=False)
    _config: BrokerConfig = field(init=False)
    _life: _Life | None = field(default=None, init=False)

    def __attrs_post_init__(self) -> None:
        self._config = broker_config({**SETTINGS, **self.settings})

    @property
    def up(self) -> bool:
        """Return whether a broker serves."""
        return self.broker is not None

    @property
    def world(self) -> SimulatedWorld:
        """The machine in its present life."""
        return self.universe.machines[NAME]

    def start_soon(self) -> None:
        """Begin a life, if there is none."""
        if self._life is None:
            self._life = _Life(self.universe.machine(NAME))
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
        while not self.up:
            self.start_soon()
            if self._life is not None:
                await self._life.ready.wait()
            if not self.up:
                await trio.sleep(_AGAIN_S)

    async def stop(self) -> None:
        """Stop in order."""
        await trio.lowlevel.checkpoint()
        life = self._life
        if life is not None:
            life.stop.set()
            await life.over.wait()
            if self._life is life:  # it had not started when it was asked to stop
                await self.kill()

    async def kill(self) -> None:
        """End it as `kill -9` does: what it has written stays in the page cache."""
        await self._crash(power=False, kept=1.0)

    async def lose_power(self, kept: float = 0.5) -> None:
        """Switch the machine off. kept: probability that a write that was not synced survives."""
        await self._crash(power=True, kept=kept)

    async def restart(self) -> None:
        """Stop in order, and start again."""
        await self.stop()
        await self.start()

    async def _crash(self, *, power: bool, kept: float) -> None:
        await trio.lowlevel.checkpoint()
        life = self._life
        if life is not None:
            life.world.crash(power=power, kept=kept)
            life.scope.cancel()
            await life.over.wait()

    async def create_topic(
        self, name: str, partitions: int = 1, configs: Mapping[str, str] | None = None
    ) -> None:
        """Create a topic; succeeds also if there is one of that name."""
        given = [CreatableTopicConfig(key, value) for key, value in (configs or {}).items()]
        request = CreateTopicsRequest([CreatableTopic(name, partitions, 1, configs=given)])
        link = self._link()

        async def attempt() -> None:
            answer = await link.ask(request, _CREATE_TOPICS)
            if answer.topics[0].error_code != ErrorCode.TOPIC_ALREADY_EXISTS:
                check(answer.topics[0].error_code)

        try:
            await link.retry(attempt, 60.0)
        finally:
            link.close()

    async def log(self, *topics: str) -> dict[TopicPartition, dict[int, Fetched]]:
        """Read topics from start to end; without names all but internal ones."""
        world = self.universe.machines[CLIENTS]
        return await read_log(world, self.address, topics or None)

    async def records(self, topic: str) -> list[bytes | None]:
        """Return the values of a topic, partition by partition."""
        log = await self.log(topic)
        return [one.value for records in log.values() for one in records.values()]

    def _link(self) -> Link:
        world = self.universe.machines[CLIENTS]
        return Link(world=world, bootstrap=self.address, client_id="trio-kafka-testing")

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
            self.universe.note(NAME, "failed", ", ".join(str(one) for one in leaves(error)))
        finally:
            self.broker = self._life = None
            life.ready.set()
            life.over.set()
        if failed:
            await trio.sleep(_AGAIN_S)
            self.start_soon()

    async def _serve(self, life: _Life) -> None:
        async with (
            trio.open_nursery(),  # so that all failures come out in a group
            running_broker(
                self._config, life.world, format_if_empty=True, plugins=(), stop_s=5.0
            ) as broker,
        ):
            self.broker = broker
            life.ready.set()
            await life.stop.wait()
            self.broker = None
        life.world.crash(power=False)  # the machine is free for the next life
