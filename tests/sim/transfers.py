"""Transactions of several producers while the broker fails: the scenario of the seeded tests.

Producers of both protocols write transactions to several partitions, commit them, abort them, or
crash and come back under the same id. Readers see committed records only. In the end every
transaction has ended, the last stable offset is the end of each partition, and the history holds.
"""

from collections.abc import Sequence
from contextlib import suppress
from random import Random
from typing import Final

import trio

from trio_kafka.attributes import define
from trio_kafka.testing.clients import Consumer, DeliveryError, TransactionalProducer
from trio_kafka.testing.simulate import Simulation
from trio_kafka.testing.simulate.schedule import Fault, Schedule, draw_schedule

TOPIC: Final = "transfers"
PARTITIONS: Final = 3
TRANSACTIONS: Final = 4  # of each producer
TIMEOUT_S: Final = 8.0  # of a transaction
ENDS_S: Final = 30.0  # after which every transaction has ended
SETTINGS: Final = {
    "log.roll.ms": "300",
    "transaction.abort.timed.out.transaction.cleanup.interval.ms": "500",
    "transaction.state.log.num.partitions": "2",
}
ENDED: Final = frozenset({"Empty", "CompleteCommit", "CompleteAbort"})


class HangingError(AssertionError):
    """A transaction did not end in time."""


@define
class Outcomes:
    """Number of transactions by their ends, as their clients know them."""

    committed: int = 0
    aborted: int = 0
    crashed: int = 0
    unknown: int = 0
    read: int = 0


async def transfers(sim: Simulation, schedule: Sequence[Fault] | None = None) -> Outcomes:
    """Run the scenario. schedule: None: the seed chooses."""
    await sim.kafka.create_topic(TOPIC, PARTITIONS)
    outcomes, done = Outcomes(), trio.Event()
    faults = draw_faults(sim.chance) if schedule is None else schedule
    async with trio.open_nursery() as readers:
        for _ in range(2):
            reader = sim.consumer(TOPIC, read_committed=True, request_s=2.0)
            readers.start_soon(read, reader, done, outcomes, name=reader.name)
        async with sim.chaos(faults), trio.open_nursery() as writers:
            for number in range(4):
                producer = sim.transactional_producer(
                    f"id-{number}",
                    protocol=1 + number % 2,
                    request_s=2.0,
                    timeout_s=TIMEOUT_S,
                )
                writers.start_soon(write, sim, producer, outcomes, name=producer.name)
        await sim.heal()
        await wait_for_ends(sim)
        done.set()
    log = await sim.check([TOPIC])
    await read_to_the_end(sim)
    outcomes.read = sum(len(records) for records in log.values())
    return outcomes


def draw_faults(chance: Random) -> Schedule:
    """Return kills and power losses, some of them while markers or states are being written."""
    kinds = ["crashes"] if chance.random() < 0.7 else ["crashes", "links"]
    faults = draw_schedule(chance, kinds, within_s=3.0, most=3)
    for begin_s in (0.0, 1.5)[: chance.randint(1, 2)]:
        target = chance.choice((f"*/{TOPIC}-*", "*/__transaction_state-*"))
        kept, down_s = chance.choice((0.0, 0.3, 0.7)), chance.uniform(0.05, 0.5)
        after = chance.randrange(20)
        faults.append((begin_s, "lose_power_at", "sync", target, after, kept, down_s))
    return faults


async def write(sim: Simulation, producer: TransactionalProducer, outcomes: Outcomes) -> None:
    """Write transactions; after a failure, abort or crash."""
    chance = sim.chance
    async with producer:
        for number in range(TRANSACTIONS):
            end = chance.choices(("commit", "abort", "crash", "sleep"), (10, 4, 2, 1))[0]
            try:
                await write_one(sim, producer, number, end=end)
            except DeliveryError:
                outcomes.unknown += 1
                if chance.random() < 0.5:
                    producer.give_up()
                else:
                    with suppress(DeliveryError, ValueError):
                        await producer.abort()
            else:
                outcomes.committed += end == "commit"
                outcomes.aborted += end == "abort"
                outcomes.crashed += end == "crash"
            await trio.sleep(chance.uniform(0, 0.3))


async def write_one(
    sim: Simulation, producer: TransactionalProducer, number: int, *, end: str
) -> None:
    """Write one transaction. end: commit, abort, crash; sleep: longer than its timeout."""
    chance = sim.chance
    await producer.begin()
    for count in range(chance.randint(1, 4)):
        value = f"{producer.name} {number}.{count} ".encode().ljust(chance.choice((10, 700)), b".")
        await producer.send(TOPIC, value, partition=chance.randrange(PARTITIONS))
        await trio.sleep(chance.uniform(0, 0.1))
    if end == "sleep":
        await trio.sleep(TIMEOUT_S + 2)
    if end in {"commit", "sleep"}:
        await producer.commit()
    elif end == "abort":
        await producer.abort()
    else:
        producer.give_up()


async def read(reader: Consumer, done: trio.Event, outcomes: Outcomes) -> None:
    """Read what is committed until the producers have ended."""
    async with reader:
        while not done.is_set():
            outcomes.read += len(await reader.poll(0.3))


async def wait_for_ends(sim: Simulation) -> None:
    """Wait until no transaction is open. Raises HangingError."""
    with trio.move_on_after(ENDS_S):
        while any(each.state not in ENDED for each in await sim.kafka.transactions()):
            await trio.sleep(0.2)
        return
    still_open = [each for each in await sim.kafka.transactions() if each.state not in ENDED]
    raise HangingError(f"open after {ENDS_S:g} s: {still_open}")


async def read_to_the_end(sim: Simulation) -> None:
    """Hold a reader of committed records to the end of each partition. Raises HangingError."""
    offsets = (await sim.kafka.topic(TOPIC)).offsets
    ends = {number: end for number, (_, end) in offsets.items()}
    positions: dict[int, int] = {}
    async with sim.consumer(TOPIC, read_committed=True) as reader:
        with trio.move_on_after(ENDS_S):
            while positions != ends:
                await reader.poll(0.1)
                positions = {at.partition: offset for at, offset in reader.positions.items()}
    if positions != ends:
        raise HangingError(f"a reader of committed records is at {positions}, not at {ends}")
