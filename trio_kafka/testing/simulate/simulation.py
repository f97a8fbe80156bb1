"""Simulation: the broker, clients, faults and history of one run, all decided by one seed."""

from collections.abc import AsyncIterator, Collection, Mapping, Sequence
from contextlib import asynccontextmanager
from random import Random
from typing import Any

import trio
from attrs import field

from trio_kafka.attributes import define
from trio_kafka.model import TopicPartition
from trio_kafka.testing.checkers import History, check_history
from trio_kafka.testing.clients import (
    Consumer,
    Fetched,
    Producer,
    TransactionalProducer,
    read_log,
)
from trio_kafka.testing.kafka.in_loop import KafkaInLoop
from trio_kafka.testing.simulate.lives import CLIENTS, SimulatedLives
from trio_kafka.testing.simulate.schedule import Fault, Schedule, check_schedule, draw_schedule
from trio_kafka.testing.simulate.striking import Chaos
from trio_kafka.world.simulated import SimulatedWorld, Universe


@define(eq=False)
class Simulation:
    """One run of a test.

    kafka: the broker, which serves when the test begins. lives: its lives, with its machine.
    history: of all clients of this run.
    chance: random numbers for the test itself. clients: the machine of the clients.
    schedules: faults of the `chaos` blocks so far.
    """

    universe: Universe
    lives: SimulatedLives
    kafka: KafkaInLoop = field(init=False)
    history: History = field(factory=History, init=False)
    chance: Random = field(init=False)
    clients: SimulatedWorld = field(init=False)
    schedules: list[Schedule] = field(factory=list, init=False)
    _names: dict[str, int] = field(factory=dict, init=False)

    def __attrs_post_init__(self) -> None:
        self.kafka = KafkaInLoop(self.lives)
        self.lives.on_start = self.kafka.controls.attach  # a life may also begin by itself
        self.chance = self.universe.chance("test")
        self.clients = self.universe.machines[CLIENTS]

    @property
    def seed(self) -> object:
        return self.universe.seed

    def producer(self, name: str | None = None, **options: Any) -> Producer:
        """Return a producer on the machine of the clients. options: fields of `Producer`."""
        return Producer(
            world=self.clients,
            bootstrap=self.lives.address,
            name=name or self._name("producer"),
            history=self.history,
            **options,
        )

    def transactional_producer(
        self, transactional_id: str, name: str | None = None, **options: Any
    ) -> TransactionalProducer:
        """Return a producer with transactions. options: fields of `TransactionalProducer`."""
        return TransactionalProducer(
            world=self.clients,
            bootstrap=self.lives.address,
            transactional_id=transactional_id,
            name=name or self._name("producer"),
            history=self.history,
            **options,
        )

    def consumer(self, *topics: str, name: str | None = None, **options: Any) -> Consumer:
        """Return a consumer on the machine of the clients. options: fields of `Consumer`."""
        return Consumer(
            world=self.clients,
            bootstrap=self.lives.address,
            name=name or self._name("consumer"),
            topics=topics,
            history=self.history,
            **options,
        )

    def _name(self, kind: str) -> str:
        number = self._names[kind] = self._names.get(kind, 0) + 1
        return f"{kind}-{number}"

    @asynccontextmanager
    async def chaos(
        self,
        schedule: Sequence[Fault] | None = None,
        *,
        links: bool = False,
        crashes: bool = False,
        disks: bool = False,
        clocks: bool = False,
        within_s: float = 10.0,
        most: int = 5,
    ) -> AsyncIterator[Schedule]:
        """Let faults happen during the block, and heal them at its end.

        schedule: the faults; None: up to `most` faults within `within_s` of the kinds that are
            true (all if none is), which the seed chooses.
        Gives the schedule: it replays the faults, whatever the seed.
        """
        kinds = {"links": links, "crashes": crashes, "disks": disks, "clocks": clocks}
        chosen = {name for name, enabled in kinds.items() if enabled} or set(kinds)
        if schedule is None:
            chance = self.universe.chance("chaos")
            planned = draw_schedule(chance, chosen, within_s=within_s, most=most)
        else:
            planned = check_schedule(schedule)
        self.schedules.append(planned)
        chaos = Chaos(self.universe, self.lives)
        async with trio.open_nursery() as nursery:
            nursery.start_soon(chaos.run, planned, name="chaos")
            yield planned
            nursery.cancel_scope.cancel()
        await chaos.heal()

    async def heal(self) -> None:
        """End all faults of links, disks and clocks, and start the broker if it is down."""
        await Chaos(self.universe, self.lives).heal()

    async def log(
        self, *topics: str, committed: bool = False
    ) -> dict[TopicPartition, dict[int, Fetched]]:
        """Read topics from start to end, as a client does; without names all but internal ones.

        committed: as a read_committed consumer; waits for the end of open transactions.
        """
        return await read_log(self.clients, self.lives.address, topics or None, committed=committed)

    async def values(self, topic: str) -> list[bytes | None]:
        """Return the values of a topic as a client reads them, partition by partition."""
        log = await self.log(topic)
        return [record.value for records in log.values() for record in records.values()]

    async def check(
        self,
        topics: Collection[str] = (),
        starts: Mapping[TopicPartition, int] | None = None,
    ) -> dict[TopicPartition, dict[int, Fetched]]:
        """Hold the history of this run against the log of committed records, and return the log.

        Stop the clients before. topics: only these; none: all. starts: see `lost_records`.
        Raises BrokenGuaranteeError.
        """
        await self.heal()
        log = await self.log(*topics, committed=True)
        values = {at: {n: record.value for n, record in rows.items()} for at, rows in log.items()}
        check_history(self.history, values, starts or {})
        return log


async def set_up(
    universe: Universe, nursery: trio.Nursery, settings: Mapping[str, str]
) -> Simulation:
    """Start the broker of a run in a nursery."""
    universe.machine(CLIENTS)
    lives = SimulatedLives(universe, nursery, settings=settings)
    await lives.start()
    return Simulation(universe, lives)
