"""Sending of records by a producer, as fast as they are read or at a rate.

The end of the command waits until each record is stored, or names the first that is not. With a
transactional id, all records are one transaction, or each `commit_every` of them.
"""

import sys
from collections import deque
from collections.abc import AsyncGenerator, AsyncIterator, Mapping, Sequence
from contextlib import ExitStack, aclosing
from typing import BinaryIO, Final

import trio
from attrs import field

from trio_kafka.attributes import define, frozen
from trio_kafka.cli import FAILED, CommandFailedError
from trio_kafka.cli.produce.lines import LineForm, Lines
from trio_kafka.cli.records.interrupts import interruptible
from trio_kafka.cli.records.record_json import Headers, RecordLine, read_record
from trio_kafka.cli.records.streams import read_some
from trio_kafka.clients.producer.opening import open_producer
from trio_kafka.clients.producer.producer import Producer
from trio_kafka.clients.producer.receipt import Receipt
from trio_kafka.clients.producer.record import ProducerRecord

_MOST_RECEIPTS: Final = 10_000
STDIN: Final = "-"


@frozen(kw_only=True)
class WritePlan:
    """What to write. topic: None: that of each JSON line. form: None: JSON lines.

    whole_files: each input is one value. key, headers, partition, timestamp_ms: of records that
    have none of their own. keeps_partitions: the partition of a JSON line is used.
    rate: records/s, None: as fast as possible. most: records in all.
    """

    settings: Mapping[str, object]
    topic: str | None
    inputs: Sequence[str]
    form: LineForm | None
    delimiter: bytes
    whole_files: bool
    key: bytes | None
    headers: Headers
    partition: int | None
    keeps_partitions: bool
    timestamp_ms: int | None
    rate: float | None
    most: int | None
    commit_every: int | None
    reports: bool


async def write_records(plan: WritePlan) -> int:
    """Write the records of a plan; return their number. Raises ClientError, CommandFailedError."""
    async with open_producer(plan.settings) as producer:
        write = Write(plan=plan, producer=producer)
        with interruptible() as interrupts:
            async with aclosing(write.records()) as records:
                if producer.transactions is None:
                    await write.send_all(records)
                    await write.settle(0)
                else:
                    await write.send_in_transactions(records)
        if interrupts.is_set:
            await write.settle(0)
            if producer.transactions is not None:
                reason = "the open transaction is aborted"
                raise CommandFailedError(f"interrupted: {reason}", FAILED)
            raise CommandFailedError(f"interrupted: {write.stored} records are stored", FAILED)
    return write.stored


@define(eq=False, kw_only=True)
class Write:
    """A write that runs. stored: records that are surely in the log."""

    plan: WritePlan
    producer: Producer[bytes, bytes | None]
    stored: int = field(default=0, init=False)
    _count: int = field(default=0, init=False)
    _began: float = field(factory=trio.current_time, init=False)
    _receipts: deque[Receipt] = field(factory=deque, init=False)
    _is_ended: bool = field(default=False, init=False)

    # --- records

    async def records(self) -> AsyncGenerator[RecordLine, None]:
        """Yield the records of all inputs."""
        for name in self.plan.inputs:
            with ExitStack() as stack:
                stream = _open(name, stack)
                async with aclosing(self._records_of(name, stream)) as records:
                    async for record in records:
                        yield record

    async def _records_of(self, name: str, stream: BinaryIO) -> AsyncGenerator[RecordLine, None]:
        plan = self.plan
        source = "standard input" if name == STDIN else name
        if plan.whole_files:
            parts = []
            while data := await read_some(stream.read):
                parts.append(data)
            yield RecordLine(value=b"".join(parts))
            return
        lines = Lines(source=source, delimiter=plan.delimiter)
        read = read_record if plan.form is None else plan.form.read
        read_now = getattr(stream, "read1", stream.read)
        while data := await read_some(read_now):
            for record in lines.records(lines.split(data), read):
                yield record
        for record in lines.records(lines.end(), read):
            yield record

    # --- sending

    async def send_in_transactions(self, records: AsyncIterator[RecordLine]) -> None:
        """Send all records, in one transaction or in several."""
        while not self._is_ended:
            async with self.producer.transaction():
                await self.send_all(records, self.plan.commit_every)
                await self.settle(0)

    async def send_all(self, records: AsyncIterator[RecordLine], most: int | None = None) -> None:
        """Send records, `most` at most."""
        sent = 0
        while not self._is_done() and (most is None or sent < most):
            record = await anext(records, None)
            if record is None:
                self._is_ended = True
                return
            await self._keep_rate()
            await self._send(record)
            sent += 1
            if len(self._receipts) > _MOST_RECEIPTS:
                await self.settle(_MOST_RECEIPTS // 2)
        self._is_ended = self._is_done()

    async def settle(self, most: int) -> None:
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


def _open(name: str, stack: ExitStack) -> BinaryIO:
    """Return an open file, or standard input. Raises CommandFailedError."""
    if name == STDIN:
        return sys.stdin.buffer
    try:
        return stack.enter_context(open(name, "rb"))
    except OSError as error:
        raise CommandFailedError(f"{name}: {error.strerror}") from error
