"""Sending of records by a producer, as fast as they are read or at a rate.

The end of the command waits until each record is stored, or names the first that is not. With a
transactional id, all records are one transaction, or each `commit_every` of them.
"""

from collections import deque
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import ExitStack, aclosing
from typing import BinaryIO, Final, Protocol, TypeVar

import trio
from attrs import field

from trio_kafka.attributes import define
from trio_kafka.cli import FAILED, CommandFailedError
from trio_kafka.cli.produce.blocks import BlockWrite, is_plain
from trio_kafka.cli.produce.lines import Lines
from trio_kafka.cli.produce.plan import WritePlan, open_input, source_name
from trio_kafka.cli.records.interrupts import interruptible
from trio_kafka.cli.records.record_json import RecordLine, read_record
from trio_kafka.cli.records.streams import read_some
from trio_kafka.clients.producer.opening import open_producer
from trio_kafka.clients.producer.producer import Producer
from trio_kafka.clients.producer.receipt import Receipt
from trio_kafka.clients.producer.record import ProducerRecord

_MOST_RECEIPTS: Final = 10_000
P = TypeVar("P")


class Writing(Protocol[P]):
    """A way to write: record by record, or in blocks. stored: records that are surely in the log.

    is_ended: True once there is nothing more to send.
    """

    @property
    def stored(self) -> int: ...

    @property
    def is_ended(self) -> bool: ...

    def pieces(self) -> AsyncGenerator[P, None]:
        """Yield records, or blocks of them, of all inputs."""

    async def send_all(self, pieces: AsyncIterator[P], most: int | None = None) -> None:
        """Send records, `most` at most."""

    async def settle(self, most: int = 0) -> None:
        """Wait until at most so many are in flight. Raises ClientError for a failed one."""


async def write_records(plan: WritePlan) -> int:
    """Write the records of a plan; return their number. Raises ClientError, CommandFailedError."""
    async with open_producer(plan.settings) as producer:
        if is_plain(plan):
            return await _write(BlockWrite(plan=plan, producer=producer), producer, plan)
        return await _write(Write(plan=plan, producer=producer), producer, plan)


async def _write(
    write: Writing[P], producer: Producer[bytes, bytes | None], plan: WritePlan
) -> int:
    with interruptible() as interrupts:
        async with aclosing(write.pieces()) as pieces:
            if producer.transactions is None:
                await write.send_all(pieces)
                await write.settle()
            while producer.transactions is not None and not write.is_ended:
                async with producer.transaction():
                    await write.send_all(pieces, plan.commit_every)
                    await write.settle()
    if interrupts.is_set:
        await write.settle()
        if producer.transactions is not None:
            reason = "the open transaction is aborted"
            raise CommandFailedError(f"interrupted: {reason}", FAILED)
        raise CommandFailedError(f"interrupted: {write.stored} records are stored", FAILED)
    return write.stored


@define(eq=False, kw_only=True)
class Write:
    """A write that runs, record by record. See `Writing`."""

    plan: WritePlan
    producer: Producer[bytes, bytes | None]
    stored: int = field(default=0, init=False)
    _count: int = field(default=0, init=False)
    _began: float = field(factory=trio.current_time, init=False)
    _receipts: deque[Receipt] = field(factory=deque, init=False)
    is_ended: bool = field(default=False, init=False)

    # --- records

    async def pieces(self) -> AsyncGenerator[RecordLine, None]:
        """Yield the records of all inputs."""
        for name in self.plan.inputs:
            with ExitStack() as stack:
                stream = open_input(name, stack)
                async with aclosing(self._records_of(name, stream)) as records:
                    async for record in records:
                        yield record

    async def _records_of(self, name: str, stream: BinaryIO) -> AsyncGenerator[RecordLine, None]:
        plan = self.plan
        if plan.whole_files:
            parts = []
            while data := await read_some(stream.read):
                parts.append(data)
            yield RecordLine(value=b"".join(parts))
            return
        lines = Lines(source=source_name(name), delimiter=plan.delimiter)
        read = read_record if plan.form is None else plan.form.read
        read_now = getattr(stream, "read1", stream.read)
        while data := await read_some(read_now):
            for record in lines.records(lines.split(data), read):
                yield record
        for record in lines.records(lines.end(), read):
            yield record

    # --- sending

    async def send_all(self, pieces: AsyncIterator[RecordLine], most: int | None = None) -> None:
        """Send records, `most` at most."""
        sent = 0
        while not self._is_done() and (most is None or sent < most):
            record = await anext(pieces, None)
            if record is None:
                self.is_ended = True
                return
            await self._keep_rate()
            await self._send(record)
            sent += 1
            if len(self._receipts) > _MOST_RECEIPTS:
                await self.settle(_MOST_RECEIPTS // 2)
        self.is_ended = self._is_done()

    async def settle(self, most: int = 0) -> None:
        """Wait until at most so many records are in flight. Raises ClientError for a failed one."""
        while len(self._receipts) > most:
            receipt = self._receipts.popleft()
            place = receipt.result() if receipt.is_done else await receipt
            self.stored += 1
            if self.plan.reports:
                print(f"{place.topic}-{place.partition} {place.offset}", flush=True)

    def _is_done(self) -> bool:
        return self.plan.most is not None and self._count >= self.plan.most

    async def _keep_rate(self) -> None:
        if self.plan.rate is not None:
            await trio.sleep_until(self._began + self._count / self.plan.rate)

    async def _send(self, record: RecordLine) -> None:
        plan = self.plan
        topic = plan.topic or record.topic
        if topic is None:
            raise CommandFailedError("a line names no `topic`: give TOPIC to the command")
        partition = plan.partition
        if partition is None and plan.keeps_partitions:
            partition = record.partition
        timestamp_ms = record.timestamp_ms
        self._receipts.append(
            await self.producer.send(
                ProducerRecord(
                    topic,
                    record.value,
                    key=plan.key if record.key is None else record.key,
                    partition=partition,
                    timestamp_ms=plan.timestamp_ms if timestamp_ms is None else timestamp_ms,
                    headers=(*plan.headers, *record.headers),
                )
            )
        )
        self._count += 1
