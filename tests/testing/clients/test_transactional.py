"""The transactional producer in both protocols: commits, aborts, crashes, lost answers."""

from contextlib import suppress
from functools import partial

import pytest
import trio

from trio_kafka.testing.checkers import BrokenGuaranteeError
from trio_kafka.testing.clients import DeliveryError
from trio_kafka.testing.clients.link import Link
from trio_kafka.testing.simulate import Simulation, run_seed, simulate

PROTOCOLS = pytest.mark.parametrize("protocol", [1, 2])


async def committed(sim: Simulation) -> list[bytes | None]:
    log = await sim.log(committed=True)
    return sorted(record.value or b"" for rows in log.values() for record in rows.values())


@PROTOCOLS
def test_committed_records_are_seen_and_aborted_ones_are_not(protocol):
    async def run(sim):
        await sim.kafka.create_topic("t", 2)
        async with sim.transactional_producer("x", protocol=protocol) as producer:
            for number in range(4):
                await producer.begin()
                for partition in (0, 1):
                    await producer.send("t", b"%d" % number, partition=partition)
                await (producer.abort() if number % 2 else producer.commit())

        assert await committed(sim) == [b"0", b"0", b"2", b"2"]
        assert len(await sim.values("t")) == 8
        await sim.check()

    simulate(seeds=2)(run)()


@PROTOCOLS
def test_transaction_of_a_producer_that_crashes_is_aborted_by_its_successor(protocol):
    async def run(sim):
        await sim.kafka.create_topic("t")
        async with sim.transactional_producer("x", protocol=protocol) as producer:
            await producer.begin()
            await producer.send("t", b"crashed")
            producer.give_up()
            await producer.begin()
            await producer.send("t", b"sent", b"sent too")
            await producer.commit()

        assert await committed(sim) == [b"sent", b"sent too"]
        await sim.check()

    simulate(seeds=2)(run)()


@PROTOCOLS
def test_commit_whose_answer_is_lost_is_repeated(protocol):
    async def run(sim):
        await sim.kafka.create_topic("t")
        sim.kafka.fault(api="EndTxn", disconnect="after", times=1)
        async with sim.transactional_producer("x", protocol=protocol) as producer:
            for number in range(2):
                await producer.begin()
                await producer.send("t", b"%d" % number)
                await producer.commit()

        assert await committed(sim) == [b"0", b"1"]
        await sim.check()

    simulate(seeds=2)(run)()


@simulate(seeds=1)
async def test_transaction_with_a_failed_batch_can_only_be_aborted_and_the_next_one_succeeds(sim):
    await sim.kafka.create_topic("t")
    fault = sim.kafka.fault(api="Produce", error="INVALID_TXN_STATE", times=1)
    async with sim.transactional_producer("x") as producer:
        await producer.begin()
        with pytest.raises(DeliveryError, match="INVALID_TXN_STATE"):
            await producer.send("t", b"refused")
        await producer.abort()
        await producer.begin()
        await producer.send("t", b"sent")
        await producer.commit()

    assert fault.hits == 1
    assert await committed(sim) == [b"sent"]


async def delay_an_end(sim: Simulation, protocol: int) -> None:
    """Delay the request of a first commit until the next transaction is open.

    The producer repeats it on another connection and gets an answer. Then it aborts the next
    transaction. The first connection stays open: the broker forgets requests of closed ones.
    """
    await sim.kafka.create_topic("t")
    rule = sim.kafka.fault(api="EndTxn", transactional_id="x", hold=True, times=1)
    producer = sim.transactional_producer("x", protocol=protocol)
    reader = sim.consumer("t", read_committed=True)
    slow = Link(world=sim.clients, bootstrap=sim.lives.address, client_id="slow", request_s=60)
    async with producer, reader, trio.open_nursery() as nursery:
        await producer.begin()
        await producer.send("t", b"first")
        nursery.start_soon(slow.ask, producer.end_request(commits=True), producer.end_version)
        await rule.wait(1)
        await producer.commit()
        await trio.sleep(1)  # its markers are written
        await producer.begin()
        await producer.send("t", b"second")
        rule.release()
        await trio.sleep(1)
        for _ in range(2):  # a fetch ends with its segment
            await reader.poll(1.0)
        with suppress(DeliveryError):
            await producer.abort()
    slow.close()
    await sim.check()


def test_checker_finds_that_the_old_protocol_lets_a_delayed_end_commit_the_next_transaction():
    with pytest.raises(BrokenGuaranteeError, match="read by consumer-1"):
        run_seed(partial(delay_an_end, protocol=1), 1)


def test_new_protocol_refuses_a_delayed_end():
    run_seed(partial(delay_an_end, protocol=2), 1)
