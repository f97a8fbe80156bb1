"""Plain lines in blocks: thousands of values, and perhaps keys, without an object for each record.

For lines that are values, or keys and values, and nothing else. They are cut and encoded in C: a
tenth of the CPU time of `run`, which sends records one by one and knows all forms.
"""

import math
from collections import deque
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import ExitStack
from typing import Final

from attrs import field

from trio_kafka.attributes import define, frozen
from trio_kafka.cli import FAILED, CommandFailedError
from trio_kafka.cli.produce.lines import LineForm, Lines
from trio_kafka.cli.produce.plan import WritePlan, open_input, source_name
from trio_kafka.cli.records.streams import read_some
from trio_kafka.clients.producer.bulk_receipt import BulkReceipt
from trio_kafka.clients.producer.producer import Producer

Bytes = bytes | None
_MOST_LINES: Final = 8192  # that are sent together: 2 ms


def is_plain(plan: WritePlan) -> bool:
    """Return whether the records of a plan can be sent in blocks."""
    form = plan.form
    return (
        form is not None
        and form.header_separator is None
        and not (plan.headers or plan.whole_files or plan.reports)
        and plan.rate is None
    )


@frozen
class Block:
    """Lines of one input. number: of the first one, from 1."""

    source: str
    number: int
    lines: list[bytes]

    def cut(self, most: float) -> "tuple[Block, Block | None]":
        """Return the first lines, `most` at most, and the others, if any."""
        if len(self.lines) <= most:
            return self, None
        at = int(most)
        head = Block(self.source, self.number, self.lines[:at])
        return head, Block(self.source, self.number + at, self.lines[at:])

    def columns(self, form: LineForm) -> tuple[list[Bytes], list[Bytes] | None]:
        """Return values and keys. Raises CommandFailedError, which names the line."""
        keys: list[Bytes] | None = None
        values: list[Bytes] = list(self.lines)
        separator = form.key_separator
        if separator is not None and self.lines:
            cut = [line.partition(separator) for line in self.lines]
            before, between, after = zip(*cut, strict=True)
            if not all(between):
                where = f"{self.source}: line {self.number + between.index(b'')}"
                reason = f"no key separator {separator!r} in the line"
                raise CommandFailedError(f"{where}: {reason}", FAILED)
            keys, values = list(before), list(after)
        if form.null is not None:
            values = [None if value == form.null else value for value in values]
            keys = keys and [None if key == form.null else key for key in keys]
        return values, keys


@define(eq=False, kw_only=True)
class BlockWrite:
    """A write in blocks that runs. stored: records that are surely in the log."""

    plan: WritePlan
    producer: Producer[bytes, Bytes]
    stored: int = field(default=0, init=False)
    count: int = field(default=0, init=False)
    is_ended: bool = field(default=False, init=False)
    _rest: Block | None = field(default=None, init=False)
    _receipts: deque[BulkReceipt] = field(factory=deque, init=False)

    async def pieces(self) -> AsyncGenerator[Block, None]:
        """Yield the blocks of all inputs."""
        for name in self.plan.inputs:
            lines = Lines(source=source_name(name), delimiter=self.plan.delimiter)
            with ExitStack() as stack:
                stream = open_input(name, stack)
                read_now = getattr(stream, "read1", stream.read)
                while data := await read_some(read_now):
                    yield _block(lines, lines.split(data))
                yield _block(lines, lines.end())

    async def send_all(self, pieces: AsyncIterator[Block], most: int | None = None) -> None:
        """Send records, `most` at most."""
        end = math.inf if most is None else self.count + most
        end = min(end, math.inf if self.plan.most is None else self.plan.most)
        while self.count < end:
            block = self._rest or await anext(pieces, None)
            if block is None:
                self.is_ended = True
                return
            part, self._rest = block.cut(min(end - self.count, _MOST_LINES))
            await self._send(part)
            while self._receipts and self._receipts[0].is_done:
                await self.settle(len(self._receipts) - 1)
        self.is_ended = self.plan.most is not None and self.count >= self.plan.most

    async def settle(self, most: int = 0) -> None:
        """Wait until at most so many blocks are in flight. Raises ClientError for a failed one."""
        while len(self._receipts) > most:
            receipt = self._receipts.popleft()
            await receipt.wait()
            self.stored += receipt.count

    async def _send(self, block: Block) -> None:
        plan = self.plan
        if plan.topic is None or plan.form is None:
            raise ValueError("blocks are for lines, whose topic is that of the command")
        values, keys = block.columns(plan.form)
        if plan.key is not None:
            keys = [plan.key if key is None else key for key in keys or [None] * len(values)]
        receipt = BulkReceipt(first=self.count + 1)  # errors count records from 1, as lines
        self._receipts.append(receipt)
        await self.producer.send_many(
            plan.topic,
            values,
            keys,
            partition=plan.partition,
            timestamp_ms=plan.timestamp_ms,
            receipt=receipt,
        )
        self.count += len(values)


def _block(lines: Lines, texts: list[bytes]) -> Block:
    block = Block(lines.source, lines.number + 1, texts)
    lines.number += len(texts)
    return block
