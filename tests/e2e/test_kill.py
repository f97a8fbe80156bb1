"""kill -9 of a broker under load, and in the middle of its start: nothing acknowledged is lost.

The page cache survives a kill, so nothing is flushed here; the clients and their ledger are those
of the simulated power losses.
"""

import subprocess
import time
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from random import Random

import pytest
import trio
from confluent_kafka import Producer

from tests.conftest import BRIEF_REBALANCE
from tests.e2e.clients import new_topic, read, settings, values_of
from tests.sim.clients import Clients
from tests.sim.committers import Committers
from tests.sim.ledger import Ledger
from tests.sim.lives import CLEANER, COMPACTED
from trio_kafka.model import Endpoint
from trio_kafka.testing.ports import LOOPBACK, unused_port
from trio_kafka.testing.processes import (
    BrokerProcess,
    child_process,
    trio_kafka_command,
    wait_until_serving,
)
from trio_kafka.world.clock import SkippingClock
from trio_kafka.world.real import RealWorld

Size = Callable[[int, int], int]

pytestmark = [pytest.mark.slow, pytest.mark.timeout(600)]

SETTINGS = (
    "log.roll.ms=150",
    "log.index.interval.bytes=200",
    "log.segment.delete.delay.ms=200",
    "log.initial.task.delay.ms=50",
    "log.flush.offset.checkpoint.interval.ms=200",
    "metadata.log.max.record.bytes.between.snapshots=2000",
    "auto.create.topics.enable=false",
)


@contextmanager
def serving(directory: Path, port: int, *more: str) -> Iterator[BrokerProcess]:
    """A broker on this port and on what its lives before have left."""
    data, log = directory / "data", directory / "broker.log"
    data.mkdir(exist_ok=True)
    began = time.perf_counter()
    command = trio_kafka_command(port, data, (BRIEF_REBALANCE, *more))
    with child_process(command, log) as process:
        address = (LOOPBACK, port)
        wait_until_serving(address, process, log, timeout_s=60)
        took = time.perf_counter() - began
        yield BrokerProcess(process=process, address=address, data=data, log=log, start_s=took)


@asynccontextmanager
async def a_life(
    directory: Path, clients: Clients | Committers, *more: str
) -> AsyncIterator[BrokerProcess]:
    """A broker that was held to the ledger."""
    manager = serving(directory, unused_port(), *SETTINGS, *more)
    broker = await trio.to_thread.run_sync(manager.__enter__)
    try:
        clients.address = Endpoint(*broker.address)
        await clients.settle()
        yield broker
    finally:
        with trio.CancelScope(shield=True):
            await trio.to_thread.run_sync(manager.__exit__, None, None, None)


async def load_until_killed(
    broker: BrokerProcess, clients: Clients | Committers, after_s: float
) -> None:
    async with trio.open_nursery() as nursery:
        nursery.start_soon(clients.run)
        await trio.sleep(after_s)
        broker.process.kill()
        nursery.cancel_scope.cancel()


def new_clients(seed: int) -> Clients:
    return Clients(
        world=RealWorld(SkippingClock()), ledger=Ledger(), chance=Random(seed), pause_s=0.003
    )


async def test_acknowledged_records_survive_kills_of_the_broker_under_load(
    tmp_path: Path, size: Size
) -> None:
    clients, kills = new_clients(1), size(1, 20)

    for _ in range(kills):
        async with a_life(tmp_path, clients) as broker:
            await load_until_killed(broker, clients, clients.chance.uniform(0.1, 1.0))

    async with a_life(tmp_path, clients):
        assert clients.ledger.acknowledged > size(0, 50 * kills)  # one life may be short
    print(f"{clients.ledger.acknowledged} records, {clients.ledger.created} topics, {kills} kills")


async def test_no_data_is_lost_by_kills_during_compaction_deletions_and_moves(
    tmp_path: Path, size: Size
) -> None:
    clients, kills = new_clients(7), size(1, 200)
    directories = [str(tmp_path / name) for name in ("a", "b")]
    clients.compacted, clients.cuts, clients.directories = COMPACTED, True, directories
    more = (f"log.dirs={','.join(directories)}", *(f"{key}={CLEANER[key]}" for key in CLEANER))
    starts_s: list[float] = []

    for _ in range(kills):
        async with a_life(tmp_path, clients, *more) as broker:
            starts_s.append(broker.start_s)
            await load_until_killed(broker, clients, clients.chance.uniform(0.1, 1.5))

    async with a_life(tmp_path, clients, *more):
        ledger = clients.ledger
    if kills > 100:  # fewer lives on a busy machine may be too short for any of it
        assert ledger.acknowledged > 50 * kills
        assert ledger.compacted > 10 * kills
        assert ledger.cut > kills
        assert ledger.moved > kills
    print(
        f"{ledger.acknowledged} records, {ledger.created} topics, {ledger.compacted} compacted,"
        f" {ledger.cut} deletions of records, {ledger.moved} moves, {kills} kills;"
        f" the slowest start took {max(starts_s):.2f} s"
    )


async def test_committed_offsets_never_decrease_when_the_broker_is_killed(
    tmp_path: Path, size: Size
) -> None:
    chance, kills = Random(5), size(1, 50)
    committers = Committers(
        world=RealWorld(SkippingClock()), chance=chance, address=Endpoint("", 0), pause_s=0.003
    )

    for _ in range(kills):
        async with a_life(tmp_path, committers) as broker:
            await load_until_killed(broker, committers, chance.uniform(0.1, 1.0))

    async with a_life(tmp_path, committers):  # holds them to what is known
        assert committers.acknowledged > size(0, 50 * kills)
    print(f"{committers.acknowledged} commits, {kills} kills")


async def test_no_data_is_lost_when_a_start_is_killed_at_any_time(
    tmp_path: Path, size: Size
) -> None:
    clients, kills = new_clients(2), size(1, 40)
    async with a_life(tmp_path, clients) as broker:
        start_s = broker.start_s
        await load_until_killed(broker, clients, 0.6)

    for number in range(kills):
        await trio.to_thread.run_sync(start_and_kill, tmp_path, start_s * (number + 1) / kills)

    async with a_life(tmp_path, clients) as broker:  # loads what nobody has stopped in order
        await load_until_killed(broker, clients, 0.2)
    async with a_life(tmp_path, clients):
        pass


def start_and_kill(directory: Path, after_s: float) -> None:
    command = trio_kafka_command(unused_port(), directory / "data", SETTINGS)
    with child_process(command, directory / "broker.log") as process:
        with pytest.raises(subprocess.TimeoutExpired):
            process.wait(after_s)  # it is still there
        process.kill()
        process.wait()


async def test_broker_starts_after_its_first_start_was_killed_at_any_time(
    tmp_path: Path, size: Size
) -> None:
    clients, kills = new_clients(3), size(1, 20)
    for number in range(kills):
        directory = tmp_path / str(number)
        (directory / "data").mkdir(parents=True)
        await trio.to_thread.run_sync(start_and_kill, directory, 0.3 + 0.5 * number / kills)

        clients.ledger = Ledger()
        async with a_life(directory, clients):
            assert clients.ledger.topics == {}


def test_idempotent_producer_of_librdkafka_writes_each_record_once_despite_kills(
    tmp_path: Path, size: Size
) -> None:
    port, count = unused_port(), size(1, 10)
    written = [b"%07d" % n for n in range(4000 * count)]
    refused: list[object] = []
    with serving(tmp_path, port) as broker:
        topic = new_topic(broker)
        producer = Producer(settings(broker, enable_idempotence=True, linger_ms=1))
        broker.process.kill()

    for n, value in enumerate(written):
        producer.produce(
            topic, value, partition=0, on_delivery=lambda error, _: error and refused.append(error)
        )
        if n % 4000 == 2000:
            with serving(tmp_path, port) as broker:
                producer.poll(0.2)
                broker.process.kill()
    with serving(tmp_path, port) as broker:
        assert producer.flush(60) == 0

        assert refused == []
        assert values_of(read(broker, topic, len(written))) == written
