"""Run of `bench produce`: records as fast as they are taken, or at a rate."""

import time
from collections import deque
from collections.abc import Mapping
from functools import partial
from typing import Final

import trio
from attrs import field

from trio_kafka.attributes import define, frozen
from trio_kafka.cli.bench.measurement import Measurement
from trio_kafka.cli.bench.options import show_progress
from trio_kafka.cli.bench.payloads import payloads
from trio_kafka.clients.errors import ClientError
from trio_kafka.clients.producer.opening import open_producer
from trio_kafka.clients.producer.producer import Producer
from trio_kafka.clients.producer.receipt import Receipt
from trio_kafka.clients.producer.record import ProducerRecord

_PROGRESS_S: Final = 1.0


@frozen(kw_only=True)
class ProducePlan:
    """Load of a producer. size: bytes of a value. rate: records/s; None: as fast as possible."""

    settings: Mapping[str, object]
    topic: str
    records: int
    size: int
    rate: float | None


async def produce_records(plan: ProducePlan) -> Measurement:
    """Send the records, wait until all are stored, and return the figures.

    The latency of a record is the time from its call of `send` until its batch is answered. Raises
    the ClientError of the first record that failed.
    """
    measurement = Measurement(records=plan.records, bytes=plan.records * plan.size)
    async with open_producer(plan.settings) as producer:
        await producer.partitions(plan.topic)  # connect before the clock starts
        sent = Sent(measurement)
        began, cpu = time.perf_counter(), time.process_time()
        async with trio.open_nursery() as nursery:
            nursery.start_soon(sent.settle, plan.records, nursery.cancel_scope)
            await _send(producer, plan, sent)
        if sent.failure is not None:
            raise sent.failure
        measurement.seconds = time.perf_counter() - began
        measurement.cpu_seconds = time.process_time() - cpu
    return measurement


async def _send(producer: Producer[bytes, bytes | None], plan: ProducePlan, sent: "Sent") -> None:
    values = payloads(plan.size)
    began = reported = time.perf_counter()
    for number in range(plan.records):
        now = time.perf_counter()
        if plan.rate is not None:
            due = began + number / plan.rate
            if due > now:
                await trio.sleep(due - now)
                now = time.perf_counter()
        if now - reported >= _PROGRESS_S:
            show_progress(number, plan.records, now - began)
            reported = now
        record = ProducerRecord[bytes, bytes | None](plan.topic, values[number % len(values)])
        sent.add(await producer.send(record), now)
    await producer.flush()


@define(eq=False)
class Sent:
    """Records that were sent and are not known to be stored, with the time of each.

    failure: error of the first record that was not stored.
    """

    _measurement: Measurement
    _receipts: deque[tuple[Receipt, float]] = field(factory=deque, init=False)
    _more: trio.Event = field(factory=trio.Event, init=False)
    failure: ClientError | None = field(default=None, init=False)

    def add(self, receipt: Receipt, now: float) -> None:
        """Take a receipt; now: of `send`, by time.perf_counter."""
        if not self._receipts:
            self._more.set()
        self._receipts.append((receipt, now))

    async def settle(self, records: int, scope: trio.CancelScope) -> None:
        """Wait until so many records are stored, and keep their latencies.

        The first record that fails ends the wait, and cancels the scope.
        """
        try:
            while len(self._measurement.latencies_ms) < records:
                if not self._receipts:
                    self._more = trio.Event()
                    await self._more.wait()
                await self._receipts[0][0].wait()
                self._take_done(time.perf_counter())
        except ClientError as error:
            self.failure = error
            scope.cancel()

    def _take_done(self, now: float) -> None:
        receipts, latencies = self._receipts, self._measurement.latencies_ms
        while receipts and receipts[0][0].is_done:
            receipt, began = receipts.popleft()
            receipt.result()  # raises what has failed
            latencies.append((now - began) * 1e3)


def runner(plan: ProducePlan) -> Measurement:
    """Run in a loop of its own."""
    return trio.run(partial(produce_records, plan))
