"""Producers of a run: each sends records, some cancelled, and ends in one of several ways."""

from contextlib import suppress
from typing import Any, Final

import trio
from attrs import frozen

from tests.clients.producer.kit import producer_of, record
from tests.clients.simulation.ledger import Ledger
from tests.clients.simulation.plan import BLOCK_S, DELIVERY_S, Plan, producer_options
from trio_kafka.clients import BulkReceipt, Producer, RecordMetadata
from trio_kafka.clients.errors import (
    AbortableError,
    BufferExhaustedError,
    ClientError,
    ClosedError,
    RetriableError,
    TopicError,
)
from trio_kafka.clients.producer.receipt import Receipt
from trio_kafka.testing.checkers import NotedTransaction
from trio_kafka.testing.simulate import Simulation

TOPIC: Final = "orders"
PARTITIONS: Final = 2
RECORDS: Final = 8
SOON_S: Final = 0.3  # clean-up that waits for nothing
_NOT_QUEUED: Final = (RetriableError, BufferExhaustedError, TopicError, ClosedError, AbortableError)


class LeavingError(Exception):
    """An exception of a user's block."""


async def write(sim: Simulation, ledger: Ledger, plan: Plan, name: str) -> None:
    """Live several lives of a producer."""
    for life in range(sim.chance.randint(1, 2)):
        uses_transactions = plan.transactional and sim.chance.random() < 0.6
        writer = Writer(sim, ledger, f"{name}/{life}")
        await (writer.run_transactions(name) if uses_transactions else writer.run())


@frozen
class OfMany:
    """Receipt of one record of many, as `Receipt`. Places and failures tell of each record once."""

    receipt: BulkReceipt
    position: int

    async def wait(self) -> object:
        return await self.receipt

    @property
    def is_done(self) -> bool:
        return self.receipt.is_done

    @property
    def may_be_stored(self) -> bool:
        try:
            self.result()
        except ClientError as error:
            return error.sent
        return True

    def result(self) -> RecordMetadata:
        failures = [row for row in self.receipt.failures() if self.position in row.positions]
        stored = [row for row in self.receipt.stored() if self.position in row.positions]
        assert len(failures) + len(stored) == 1
        if failures:
            raise failures[0].error
        (row,) = stored
        offset = row.base_offset
        if offset >= 0:
            offset += list(row.positions).index(self.position)
        return RecordMetadata(
            topic=row.topic, partition=row.partition, offset=offset, timestamp_ms=0
        )


class Writer:
    """One life of a producer."""

    def __init__(self, sim: Simulation, ledger: Ledger, name: str) -> None:
        self.sim = sim
        self.ledger = ledger
        self.name = name
        self.receipts: dict[bytes, tuple[Receipt | OfMany, NotedTransaction | None]] = {}
        self.count = 0

    async def run(self) -> None:
        """Send records without transactions."""
        options = producer_options(self.sim.chance)
        # Without idempotence several batches in flight may change places: no order then.
        if not options["enable_idempotence"]:
            options["max_in_flight_requests_per_connection"] = 1
        end = self.sim.chance.choice(("flush", "leave", "cancel", "raise"))
        with trio.CancelScope() as scope:
            try:
                async with producer_of(self.sim, **options) as producer:
                    for _ in range(self.sim.chance.randint(1, RECORDS)):
                        await self.send(producer, is_idempotent=bool(options["enable_idempotence"]))
                        await trio.sleep(self.sim.chance.choice((0.0, 0.0, 0.05, 0.4)))
                    begin = trio.current_time()
                    if end == "flush":
                        await producer.flush()
                        assert all(receipt.is_done for receipt, _ in self.receipts.values())
                    if end == "cancel":
                        scope.cancel()
                        await trio.sleep_forever()
                    if end == "raise":
                        raise LeavingError
            except LeavingError:
                pass
        spent_s = trio.current_time() - begin
        limit_s = DELIVERY_S if end in {"flush", "leave"} else 0.0
        assert spent_s <= limit_s + SOON_S, f"{self.name}: {end} took {spent_s:.2f} s"
        self.conclude()
        assert producer.accumulator.pool.free == producer.accumulator.pool.total

    async def run_transactions(self, transactional_id: str) -> None:
        """Send records in transactions; some are left by an exception or a cancellation."""
        options = {**producer_options(self.sim.chance), "enable_idempotence": True}
        # A transaction takes all of its steps again for as long as the broker may be down.
        options |= {"transaction_timeout_ms": 5000, "max_block_ms": 10_000}
        try:
            async with producer_of(
                self.sim, transactional_id=transactional_id, **options
            ) as producer:
                for _ in range(self.sim.chance.randint(1, 4)):
                    await self.transaction(producer)
        except ClientError:
            pass  # the broker was down for too long; `conclude` looks at each record
        self.conclude()

    async def transaction(self, producer: Producer[Any, Any]) -> None:
        end = self.sim.chance.choice(("commit", "commit", "raise", "cancel"))
        noted = self.sim.history.transaction(self.name)
        count = self.sim.chance.randint(0, 5)
        with trio.CancelScope() as scope:
            try:
                async with producer.transaction():
                    for _ in range(count):
                        await self.send(producer, noted)
                        await trio.sleep(self.sim.chance.choice((0.0, 0.1)))
                    if end == "raise":
                        raise LeavingError
                    if end == "cancel":
                        scope.cancel()
                        await trio.sleep_forever()
                    noted.committing()
                noted.committed()
            except (LeavingError, AbortableError):
                pass
            except RetriableError as error:
                if not error.sent:
                    return

    async def send(
        self,
        producer: Producer[Any, Any],
        noted: NotedTransaction | None = None,
        *,
        is_idempotent: bool = True,
    ) -> None:
        """Send a record, or a few at once, or cancel that; note what is promised."""
        chance = self.sim.chance
        partition = chance.choice((None, *range(PARTITIONS)))
        values = [self.next_value() for _ in range(chance.choice((1, 1, 1, 4)))]
        patience_s = chance.choice((float("inf"),) * 3 + (0.0, 0.01, 0.5))
        begin = trio.current_time()
        receipts: list[Receipt | OfMany] = []
        many = BulkReceipt()
        try:
            with trio.move_on_after(patience_s):
                if len(values) == 1:
                    sent = record(values[0], TOPIC, partition=partition)
                    receipts.append(await producer.send(sent))
                else:
                    await producer.send_many(TOPIC, values, partition=partition, receipt=many)
        except _NOT_QUEUED as error:
            assert not error.sent  # noqa: PT017 - no test of the error
        assert trio.current_time() - begin <= BLOCK_S + 10.0 * (noted is not None) + SOON_S
        receipts += [OfMany(many, number) for number in range(many.count)]
        self.ledger.unsent.update(values[len(receipts) :])
        for value, receipt in zip(values, receipts, strict=False):
            if noted is None:
                self.sim.history.sent(self.name, TOPIC, value, idempotent=is_idempotent)
            else:
                noted.sent(TOPIC, value)
            self.receipts[value] = receipt, noted
        if receipts and chance.random() < 0.2:
            with trio.move_on_after(chance.choice((0.0, 0.1, 1.0))):
                with suppress(ClientError):
                    await receipts[-1].wait()

    def next_value(self) -> bytes:
        size = self.sim.chance.choice((20, 20, 300))
        self.count += 1
        return f"{self.name} {self.count} ".encode().ljust(size, b".")

    def conclude(self) -> None:
        """Note what the receipts say when the producer is closed: all are done by then."""
        for value, (receipt, noted) in self.receipts.items():
            assert receipt.is_done, f"{value!r} has no outcome"
            try:
                place = receipt.result()
            except ClientError as error:
                assert receipt.may_be_stored == error.sent  # noqa: PT017 - as above
                self.note_failure(value, error)
                continue
            self.ledger.acknowledged.add(value)
            at = (place.topic, place.partition)
            if noted is None:
                self.sim.history.acknowledged(self.name, *at, value, offset=place.offset)
            else:
                noted.acknowledged(*at, value, offset=place.offset)

    def note_failure(self, value: bytes, error: ClientError) -> None:
        """Note what an error says of its record.

        A request that waits for room in its socket when the producer is cancelled may still leave
        while the connection ends: it counts as sent.
        """
        if not error.sent:
            self.ledger.unsent.add(value)
        elif isinstance(error, ClosedError):
            self.ledger.leaving.add(value)
        else:
            self.ledger.unclear.add(value)
