"""Producers that are cancelled at every await of `send`, `flush`, `close` and a transaction.

After each: no memory is missing, no wait is left, and what was said of each record is true.
"""

from contextlib import suppress
from functools import partial

import pytest
import trio

from tests.clients.producer.kit import producer_of, record
from tests.clients.simulation.steps import cancelled_at, each_step
from trio_kafka.clients import BulkReceipt
from trio_kafka.clients.errors import AbortableError, ClientError
from trio_kafka.controls.faults import FaultRule
from trio_kafka.testing.simulate import simulate

pytestmark = pytest.mark.slow
BOTH = pytest.mark.parametrize("release", [None, "3.9"])  # protocols of transactions


class Sends:
    """Records of a test: those without a receipt, and those with one."""

    def __init__(self):
        self.unsent = set()
        self.receipts = {}

    async def send(self, producer, value, topic="t", **fields):
        self.unsent.add(value)
        self.receipts[value] = await producer.send(record(value, topic, **fields))
        self.unsent.remove(value)

    def check(self, stored, *, all_done=True):
        """Hold what receipts say against the values in the log, with aborted ones."""
        assert not self.unsent & stored
        for value, receipt in self.receipts.items():
            assert receipt.is_done or not all_done
            try:
                receipt.result()
            except ClientError as error:
                assert error.sent or value not in stored  # noqa: PT017 - one of two ends
                assert receipt.may_be_stored == error.sent  # noqa: PT017 - as above
            else:
                assert value in stored


def check_idle(producer):
    """Check that a producer without records holds nothing."""
    pool = producer.accumulator.pool
    assert (pool.free, pool.waiting) == (pool.total, 0)
    assert not producer.accumulator.is_active
    assert producer.accumulator.flushes == 0


@simulate(seeds=2)
async def test_send_that_waits_for_metadata_is_cancelled_anywhere(sim):
    sends, steps = Sends(), 0
    async with producer_of(sim) as producer:
        for step in each_step():
            topic = f"t{step}"
            await sim.kafka.create_topic(topic)
            send = partial(sends.send, producer, b"%d" % step, topic)
            if not await cancelled_at(step, send):
                break
            steps = step
            await producer.flush()
            check_idle(producer)
        check_count = len(sends.receipts)

    assert steps >= 2
    assert check_count >= 1
    stored = {row.value for rows in (await sim.log()).values() for row in rows.values()}
    sends.check(stored)


@simulate(seeds=2)
async def test_send_that_waits_for_memory_is_cancelled_anywhere(sim):
    await sim.kafka.create_topic("t")
    sends, steps = Sends(), 0
    async with producer_of(sim, buffer_memory=2000, linger_ms=50, batch_size=4000) as producer:
        for step in each_step():
            await sends.send(producer, b"%d first" % step + bytes(1500))
            value = b"%d second" % step + bytes(1000)
            if not await cancelled_at(step, partial(sends.send, producer, value)):
                break
            steps = step
            await producer.flush()
            check_idle(producer)

    assert steps >= 1
    sends.check(set(await sim.values("t")))


@simulate(seeds=2)
async def test_send_of_many_is_cancelled_anywhere_and_its_receipt_counts_what_is_queued(sim):
    await sim.kafka.create_topic("t")
    queued, steps = [], 0
    async with producer_of(sim, buffer_memory=2000, linger_ms=5, batch_size=700) as producer:
        for step in each_step():
            values = [b"%d %d" % (step, number) + bytes(500) for number in range(8)]
            receipt = BulkReceipt()
            send = partial(producer.send_many, "t", values, receipt=receipt)
            is_cancelled = await cancelled_at(step, send)
            queued += values[: receipt.count]
            if not is_cancelled:
                break
            steps = step
            await producer.flush()
            check_idle(producer)
            assert sum(len(row.positions) for row in receipt.result()) == receipt.count

    assert steps >= 4
    assert await sim.values("t") == queued


@simulate(seeds=2)
async def test_flush_is_cancelled_anywhere_and_its_records_are_stored(sim):
    await sim.kafka.create_topic("t", 3)
    sends, steps = Sends(), 0
    async with producer_of(sim, linger_ms=60_000) as producer:
        for step in each_step():
            for number in range(3):
                await sends.send(producer, b"%d %d" % (step, number), partition=number)
            if not await cancelled_at(step, producer.flush):
                break
            steps = step
            assert producer.accumulator.flushes == 0
            await producer.flush()
            check_idle(producer)

    assert steps >= 2
    assert set(await sim.values("t")) == set(sends.receipts)


@pytest.mark.parametrize("is_answered", [True, False])
def test_close_is_cancelled_anywhere_and_says_what_may_be_stored(is_answered):
    @simulate(seeds=2)
    async def run(sim):
        await sim.kafka.create_topic("t", 2)
        sends, producers, steps = Sends(), [], 0

        async def live(step):
            async with producer_of(sim, linger_ms=20) as producer:
                producers.append(producer)
                for number in range(4):
                    await sends.send(producer, b"%d %d" % (step, number), partition=number % 2)

        for step in each_step():
            api = "Metadata" if is_answered else "Produce"  # whose first answer is lost
            rule = FaultRule(api=api, disconnect="after", times=1)
            with sim.kafka.controls.faults.add(rule):
                if not await cancelled_at(step, partial(live, step)):
                    break
            steps = step
        for producer in producers:
            check_idle(producer)
            assert producer.is_closed

        assert steps >= 5
        sends.check(set(await sim.values("t")))

    run()


@BOTH
@simulate(seeds=1)
async def test_transaction_is_cancelled_anywhere_and_seen_whole_or_not_at_all(sim, release):
    if release is not None:
        await sim.kafka.as_version(release)
    await sim.kafka.create_topic("t", 2)
    sends, ends, steps = Sends(), {}, 0

    async def transact(producer, step):
        async with producer.transaction():
            for number in range(2):
                await sends.send(producer, b"%d %d" % (step, number), partition=number)
        ends[step] = True

    async with producer_of(sim, transactional_id="x") as producer:
        for step in each_step():
            ends[step] = False
            with suppress(AbortableError):
                if not await cancelled_at(step, partial(transact, producer, step)):
                    break
            steps = step
            check_idle(producer)
        is_new = producer.transactions.machine.is_new_protocol

    assert is_new == (release is None)
    assert steps >= 5
    log = await sim.log("t", committed=True)
    committed = {row.value for rows in log.values() for row in rows.values()}
    for step, was_committed in ends.items():
        seen = [b"%d %d" % (step, number) in committed for number in range(2)]
        assert seen == [was_committed] * 2, step
    sends.check(set(await sim.values("t")))


@simulate(seeds=1)
async def test_receipt_that_is_awaited_is_cancelled_anywhere_and_is_done_later(sim):
    await sim.kafka.create_topic("t")
    async with producer_of(sim, linger_ms=10) as producer:
        for step in each_step():
            receipt = await producer.send(record(b"%d" % step))
            if not await cancelled_at(step, receipt.wait):
                break
            assert (await receipt).offset == step - 1
    assert trio.current_time() < 60
