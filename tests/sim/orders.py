"""The scenario of the seeded tests: orders are produced and consumed while the broker fails.

Producers, some idempotent, send to two partitions. Members of a group read and commit. Meanwhile a
schedule of faults runs. Then two readers must learn of a new record at once, and the history must
hold against the log.
"""

from collections.abc import Sequence
from contextlib import suppress
from random import Random
from typing import Final

import trio

from trio_kafka.clients.errors import ClientError
from trio_kafka.clients.settings.reset import EARLIEST, LATEST
from trio_kafka.model import TopicPartition
from trio_kafka.testing.clients import Consumer, Producer
from trio_kafka.testing.clients.link import Link
from trio_kafka.testing.clients.reading import fetch, offset_for
from trio_kafka.testing.simulate import Simulation
from trio_kafka.testing.simulate.schedule import KINDS, Fault, Schedule, draw_schedule

TOPIC: Final = "orders"
PARTITIONS: Final = 2
ALL: Final = [TopicPartition(TOPIC, number) for number in range(PARTITIONS)]
BATCHES: Final = 6
SOON_S: Final = 1.5  # a calm broker answers sooner
SETTINGS: Final = {
    "log.roll.ms": "150",
    "num.io.threads": "2",
    "num.network.threads": "1",
    "queued.max.requests": "1",
    "producer.id.expiration.check.interval.ms": "300",
}


class LateError(AssertionError):
    """A calm broker did not answer in time."""


async def orders(
    sim: Simulation,
    schedule: Sequence[Fault] | None = None,
) -> Schedule:
    """Run the scenario and return the schedule. schedule: None: the seed chooses."""
    await sim.kafka.create_topic(TOPIC, PARTITIONS)
    done = trio.Event()
    chaos = sim.chaos(draw_faults(sim.chance) if schedule is None else schedule)
    async with trio.open_nursery() as readers:
        for _ in range(2):
            member = sim.consumer(TOPIC, group="billing", session_s=6.0)
            readers.start_soon(consume, sim, member, done, name=member.name)
        readers.start_soon(audit, sim, done)
        async with chaos as planned, trio.open_nursery() as writers:
            for idempotent in (True, sim.chance.random() < 0.7):
                producer = sim.producer(idempotent=idempotent, request_s=2.0)
                writers.start_soon(produce, sim, producer, name=producer.name)
            writers.start_soon(pour, sim)
        done.set()
    await sim.heal()
    await be_prompt(sim)
    end = sim.chance.choice(("serve on", "kill", "restart"))
    if end == "kill":
        await sim.kafka.kill()
        await sim.kafka.start()
    elif end == "restart":
        await sim.kafka.restart()
    await read_anywhere(sim, everywhere=end == "restart")
    log = await sim.check()
    for at, records in log.items():
        # A new log may lose the name of its first segment and keep that of the second.
        first = min(records, default=0)
        assert list(records) == list(range(first, first + len(records))), f"{at} has gaps"
    return planned


def draw_faults(chance: Random) -> Schedule:
    """Return some faults of all kinds, and a power loss while batches are being written."""
    faults = draw_schedule(chance, KINDS, within_s=2.0, most=3)
    if chance.random() < 0.5:
        faults.append((0.0, "slow_disk", 0.2, 2.0))
    for begin_s in (0.0, 1.0)[: chance.randint(1, 2)]:
        kept, down_s = chance.choice((0.0, 0.3, 0.7)), chance.uniform(0.05, 0.5)
        after = chance.randrange(12)
        faults.append((begin_s, "lose_power_at", "sync", f"*/{TOPIC}-*", after, kept, down_s))
    return faults


async def produce(sim: Simulation, producer: Producer) -> None:
    """Send batches to partitions at random."""
    chance = sim.chance
    async with producer:
        for number in range(BATCHES):
            size = chance.choice((10, 300, 1500))
            values = [
                f"{producer.name} {number}.{place} ".encode().ljust(size, b".")
                for place in range(chance.choice((1, 1, 3)))
            ]
            await producer.send(TOPIC, *values, partition=chance.randrange(PARTITIONS))
            await trio.sleep(chance.uniform(0, 0.3))


async def pour(sim: Simulation) -> None:
    """Send batches without waiting for answers, so that some are always being written."""
    async with sim.producer(acks=0, idempotent=False) as producer:
        for number in range(2 * BATCHES):
            with suppress(ClientError):
                value = f"poured {number} ".encode().ljust(sim.chance.choice((10, 2000)), b".")
                await producer.send(TOPIC, value, partition=number % PARTITIONS)
            await trio.sleep(sim.chance.uniform(0, 0.1))


async def consume(sim: Simulation, member: Consumer, done: trio.Event) -> None:
    """Read and commit now and then; leave the group at the end."""
    async with member:
        while not done.is_set():
            if await member.poll(0.3) and sim.chance.random() < 0.7:
                await member.commit()


async def audit(sim: Simulation, done: trio.Event) -> None:
    """Ask for the committed offsets now and then."""
    auditor = sim.consumer(partitions=ALL, group="billing")
    async with auditor:
        while not done.is_set():
            await trio.sleep(sim.chance.uniform(0, 0.8))
            await auditor.committed()


async def read_anywhere(sim: Simulation, *, everywhere: bool) -> None:
    """Read on from some offsets in the middle, or from every offset of one partition."""
    async with sim.consumer(partitions=ALL) as reader:
        ends = await reader.ends()
        at = sim.chance.choice(ALL)
        offsets = range(ends[at])
        for offset in offsets if everywhere else sim.chance.sample(offsets, min(4, len(offsets))):
            await reader.seek(TOPIC, at.partition, offset)
            await reader.poll(SOON_S)


async def be_prompt(sim: Simulation) -> None:
    """Hold a calm broker to its promises of time: polls end when a record or the deadline comes."""
    at = TopicPartition(TOPIC, 0)
    first, second = (sim.consumer(partitions=[at], start=LATEST) for _ in range(2))
    async with first, second:
        await read_promptly(sim, first, second)
    await be_crowded(sim)


async def read_promptly(sim: Simulation, *readers: Consumer) -> None:
    """Hold two readers at the end of a partition to their promises."""
    for reader in readers:
        await reader.poll(0.0)
    result: list[bytes | None] = []

    async def wait(reader: Consumer) -> None:
        result.extend(record.value for record in await reader.poll(4.0))

    try:
        with trio.fail_after(2 * SOON_S):
            async with trio.open_nursery() as nursery:
                for reader in readers:
                    nursery.start_soon(wait, reader)
                await trio.sleep(0.5)
                async with sim.producer() as producer:
                    await producer.send(TOPIC, b"the last one")
    except trio.TooSlowError:
        raise LateError(f"a record reached {len(result)} of 2 waiting readers in time") from None
    assert result == 2 * [b"the last one"]
    try:
        # By a request: a consumer's poll ends by itself, whatever the broker does.
        link = Link(world=sim.clients, bootstrap=sim.lives.address, client_id="deadline")
        with trio.fail_after(0.3 + SOON_S):
            rows = await fetch(link, readers[0].positions, max_wait_s=0.3)
        assert not any(row.records for row in rows.values())
        link.close()
    except trio.TooSlowError:
        raise LateError("a fetch of 0.3 s without a record was not answered in time") from None


async def be_crowded(sim: Simulation) -> None:
    """Ask from many connections in one moment: the request channel is full for a while."""
    sim.universe.latency = 0.0
    links = [Link(world=sim.clients, bootstrap=sim.lives.address, client_id="c") for _ in range(6)]

    async def ask(link: Link) -> None:
        for _ in range(2):
            await offset_for(link, ALL[0], EARLIEST)  # not served by the processor itself
        link.close()

    try:
        with trio.fail_after(SOON_S):
            async with trio.open_nursery() as nursery:
                for link in links:
                    nursery.start_soon(ask, link)
    except trio.TooSlowError:
        raise LateError("requests of six connections at once were not answered in time") from None


__all__ = ["SETTINGS", "LateError", "orders"]
