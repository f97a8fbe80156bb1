"""Joint model of transactions: steps of producers, leaders and readers on one broker.

A plan of steps is drawn by hypothesis and carried out in one run of virtual time. After each step
a reader of committed records reads on. In the end every transaction ends, both readers are at the
end of the log, and each transactional id is still of use.
"""

from collections.abc import Awaitable, Callable, Sequence
from itertools import count
from typing import Final

import trio
from attrs import define, field

from tests.sim.transaction_actors import (
    NAMES,
    NEW,
    OLD,
    PARTITIONS,
    TIMEOUT_S,
    TOPICS,
    Asking,
    Fate,
    Identity,
    Reader,
    Written,
)
from trio_kafka.errors import ErrorCode
from trio_kafka.log.log import Log
from trio_kafka.model import TopicPartition
from trio_kafka.replication.partition import Partition
from trio_kafka.testing.clients.link import Link
from trio_kafka.testing.simulate import Simulation

SETTINGS: Final = {
    "log.roll.ms": "2000",
    "transaction.abort.timed.out.transaction.cleanup.interval.ms": "500",
    "transaction.state.log.num.partitions": "2",
}
ENDS_S: Final = TIMEOUT_S + 8.0  # after which every transaction has ended
LONG_POLL_S: Final = 20.0
WOKEN_S: Final = 3.0  # a long poll ends so soon after a marker
STEP_S: Final = 60.0
ENDED: Final = frozenset({"Empty", "CompleteCommit", "CompleteAbort"})
Step = Callable[["JointModel", int], Awaitable[None]]
"""A step of the plan, given one of two connections."""


@define(eq=False)
class JointModel:
    """One run. newest: identity of each transactional id. stale: those that are fenced.

    fates: transaction of every value that may be in the log.
    """

    sim: Simulation
    nursery: trio.Nursery
    newest: dict[str, Identity] = field(factory=dict)
    stale: list[Identity] = field(factory=list)
    transactions: list[Written] = field(factory=list)
    fates: dict[bytes, Written] = field(factory=dict)
    links: list[Link] = field(init=False)
    reader: Reader = field(init=False)
    tail: Reader = field(init=False)
    _numbers: "count[int]" = field(factory=count, init=False)

    def __attrs_post_init__(self) -> None:
        self.links = [self._link(f"producer-{number}") for number in range(2)]
        self.reader = Reader(self._link("reader"), self.fates)
        self.tail = Reader(self._link("tail"), self.fates)

    def _link(self, name: str) -> Link:
        sim = self.sim
        return Link(world=sim.clients, bootstrap=sim.lives.address, client_id=name)

    # Steps of producers

    async def initialize(self, link: int, *, name: str, continues: bool) -> None:
        before = self.newest.get(name)
        asking = Asking(self.links[link])
        identity = await asking.initialize(name, before if continues else None)
        if isinstance(identity, Identity):
            self._replace(before, identity)

    def _replace(self, before: Identity | None, identity: Identity) -> None:
        """Take over a newer identity. The one before is fenced."""
        latest = self.newest.get(identity.name)
        if latest is not None and latest is not before:
            # Two steps were answered at the same time: the higher epoch is the newer one.
            if _age(latest) >= _age(identity):
                if _age(latest) > _age(identity):
                    self.stale.append(identity)
                return
            before = latest
        if before is not None and _age(before) != _age(identity):
            self.stale.append(before)
        self.newest[identity.name] = identity
        self.transactions.append(identity.transaction)

    async def add(self, link: int, *, name: str, at: TopicPartition) -> None:
        identity = self.newest.get(name)
        if identity is not None and identity.protocol == OLD:
            await Asking(self.links[link]).add(identity, at)

    async def produce(self, link: int, *, name: str, at: TopicPartition) -> None:
        identity = self.newest.get(name)
        if identity is not None:
            await self._write(identity, link, at)

    async def _write(self, identity: Identity, link: int, at: TopicPartition) -> ErrorCode:
        value = b"%s-%d" % (identity.name.encode(), next(self._numbers))
        transaction = identity.transaction
        asking = Asking(self.links[link])
        self.fates[value] = transaction
        code = await asking.produce(identity, at, value)
        if code is ErrorCode.NONE:
            transaction.values[value] = True
        elif asking.lost:
            transaction.values[value] = False
        else:
            del self.fates[value]
        return code

    async def end(self, link: int, *, name: str, commits: bool) -> None:
        identity = self.newest.get(name)
        if identity is not None:
            await self._end(identity, link, commits=commits)

    async def _end(self, identity: Identity, link: int, *, commits: bool) -> ErrorCode:
        transaction, asking = identity.transaction, Asking(self.links[link])
        if commits and transaction.fate is Fate.OPEN:
            transaction.fate = Fate.COMMITTING
        answer = await asking.end(identity, commits=commits)
        if isinstance(answer, ErrorCode):
            if transaction.fate is Fate.COMMITTING and not asking.lost:
                transaction.fate = Fate.ABORTED
            return answer
        transaction.fate = Fate.COMMITTED if commits else Fate.ABORTED
        producer_id, epoch = answer
        if identity.protocol == OLD:
            identity.transaction = Written()
            self.transactions.append(identity.transaction)
        else:
            after = Identity(name=identity.name, producer_id=producer_id, epoch=epoch)
            self._replace(identity, after)
        return ErrorCode.NONE

    async def haunt(self, link: int, *, number: int, at: TopicPartition, ends: bool) -> None:
        """Let a fenced producer write, or commit: both are refused."""
        if not self.stale:
            return
        zombie = self.stale[number % len(self.stale)]
        if ends:
            # Under the newer protocol the commit before may be repeated, as its answer may be lost.
            code = await self._haunting_end(zombie, link)
        else:
            code = await self._write(zombie, link, at)
        assert code or ends, f"epoch {zombie.epoch} of {zombie.name} is fenced, and has written"

    async def _haunting_end(self, zombie: Identity, link: int) -> ErrorCode:
        answer = await Asking(self.links[link]).end(zombie, commits=True)
        if isinstance(answer, ErrorCode):
            return answer
        fate = zombie.transaction.fate
        repeats = zombie.protocol == NEW and fate in {Fate.COMMITTING, Fate.COMMITTED}
        assert repeats, f"epoch {zombie.epoch} of {zombie.name} is fenced, and has committed"
        return ErrorCode.NONE

    # Surroundings

    async def wait(self, _link: int, *, seconds: float) -> None:
        await trio.sleep(seconds)

    async def hold(self, _link: int, *, at: TopicPartition, seconds: float) -> None:
        """Let no batch and no marker into a partition for some time, as a slow disk does."""
        log = self.sim.kafka.broker.replicas.partition(at.topic, at.partition).local_log()
        if log.writer.change is None:
            self.nursery.start_soon(_hold, log, seconds)

    async def refuse(self, _link: int, *, at: TopicPartition, seconds: float) -> None:
        """Refuse batches and markers of a partition for some time, for want of replicas."""
        partition = self.sim.kafka.broker.replicas.partition(at.topic, at.partition)
        if partition.isr:
            self.nursery.start_soon(_refuse, partition, seconds)

    async def restart(self, _link: int, *, kills: bool) -> None:
        kafka = self.sim.kafka
        await (kafka.kill() if kills else kafka.stop())
        await kafka.start()

    # A run

    async def run(self, plan: Sequence[tuple[Step, ...]]) -> None:
        """Take the steps, those of a tuple at the same time, and hold what must hold."""
        for topic in TOPICS:
            await self.sim.kafka.create_topic(topic)
        async with trio.open_nursery() as tailing:
            tailing.start_soon(self._tail)
            for name in NAMES:
                await self.initialize(0, name=name, continues=False)
            for steps in plan:
                with trio.fail_after(STEP_S):
                    async with trio.open_nursery() as nursery:
                        for link, step in enumerate(steps):
                            nursery.start_soon(step, self, link)
                    await self.reader.poll()
            await self._wait_for_ends()  # also those that only the time-out ends
            for name in NAMES:
                await self._use(name)
            await self._wait_for_ends()
            tailing.cancel_scope.cancel()
        self._check()

    async def _tail(self) -> None:
        while True:
            await self.tail.poll(LONG_POLL_S)

    async def _use(self, name: str) -> None:
        """Commit one more transaction of a transactional id: it is not stuck."""
        with trio.fail_after(STEP_S):
            await self.initialize(0, name=name, continues=False)
            for at in PARTITIONS:
                await self.add(0, name=name, at=at)
                assert await self._write(self.newest[name], 0, at) is ErrorCode.NONE
            assert await self._end(self.newest[name], 0, commits=True) is ErrorCode.NONE

    async def _wait_for_ends(self) -> None:
        kafka = self.sim.kafka
        with trio.fail_after(ENDS_S):
            while any(each.state not in ENDED for each in await kafka.transactions()):
                await trio.sleep(0.2)
        ends = {at: (await kafka.topic(at.topic)).offsets[0][1] for at in PARTITIONS}
        with trio.fail_after(WOKEN_S):
            while self.tail.positions != ends:
                await trio.sleep(0.1)
        with trio.fail_after(STEP_S):
            while self.reader.positions != ends:
                await self.reader.poll()

    def _check(self) -> None:
        """Hold the values that were read against those that were committed."""
        assert self.reader.seen == self.tail.seen
        seen = [value for values in self.reader.seen.values() for value in values]
        assert len(seen) == len(set(seen)), "read twice"
        for transaction in self.transactions:
            acknowledged = {value for value, is_certain in transaction.values.items() if is_certain}
            read = acknowledged.intersection(seen)
            if transaction.fate is Fate.COMMITTED:
                assert read == acknowledged, "committed, and lost"
            elif transaction.fate is Fate.COMMITTING:
                assert read in (set(), acknowledged), "torn"
            else:
                assert not read, "aborted, and read"


def _age(identity: Identity) -> tuple[int, int]:
    return identity.producer_id, identity.epoch


async def _hold(log: Log, seconds: float) -> None:
    async with log.writer.turn("hold"):
        await log.writer.wait_unblocked()
        with log.blocking_appends("hold"):
            await trio.sleep(seconds)


async def _refuse(partition: Partition, seconds: float) -> None:
    in_sync, partition.isr = partition.isr, ()
    await trio.sleep(seconds)
    partition.isr = in_sync
    partition.advance()
    partition.changed(partition)


async def joint_run(plan: Sequence[tuple[Step, ...]], sim: Simulation) -> None:
    """Carry out a plan."""
    async with trio.open_nursery() as nursery:
        await JointModel(sim, nursery).run(plan)
        nursery.cancel_scope.cancel()
