"""Reading of records by a consumer, up to an end, and their way to standard output.

Each partition has an end, unless new records are followed: its own end when the read begins. With a
group, positions are committed as far as records were written, so that an interrupted read repeats
records, and loses none.
"""

import math
from collections.abc import Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Final

import trio
from attrs import field

from trio_kafka.attributes import define, frozen
from trio_kafka.cli import FAILED, CommandFailedError
from trio_kafka.cli.consume.columns import LinesOf, lines_of
from trio_kafka.cli.consume.places import Start
from trio_kafka.cli.records.interrupts import interruptible
from trio_kafka.cli.records.record_json import RecordBytes
from trio_kafka.cli.records.streams import Output
from trio_kafka.clients.consumer.batch import PartitionBatch
from trio_kafka.clients.consumer.consumer import Consumer
from trio_kafka.clients.consumer.opening import open_consumer
from trio_kafka.clients.consumer.values import ConsumerRecord
from trio_kafka.model import TopicPartition

if TYPE_CHECKING:
    from trio_kafka.cli.consume.filters import Filter

Bytes = bytes | None
_LOOK_S: Final = 0.2  # between two looks whether a group's partitions are at their ends


@frozen(kw_only=True)
class ReadPlan:
    """Records to read, and the form to print them in.

    partitions: of each topic. until_ms: end of each partition, None: its end now. most: records in
    all. has_group: the group of `settings` assigns partitions. is_values: `render` is the value and
    a newline. timeout_s: longest wait for the next records, and in a group for partitions; not for
    new records that are followed.
    """

    settings: Mapping[str, object]
    partitions: Mapping[str, Sequence[int]]
    start: Start
    until_ms: int | None
    follows: bool
    most: int | None
    has_group: bool
    render: RecordBytes
    is_values: bool
    passes: "Filter | None"
    timeout_s: float

    @property
    def places(self) -> list[TopicPartition]:
        """All partitions."""
        return [
            TopicPartition(topic, number)
            for topic, numbers in self.partitions.items()
            for number in numbers
        ]


async def read_records(plan: ReadPlan) -> int:
    """Print the records of a plan; return their number.

    Raises ClientError, ConfigError, BrokenPipeError; CommandFailedError if it was interrupted
    before the end.
    """
    output = Output()
    async with open_consumer(plan.settings) as consumer:
        run = Read(plan=plan, consumer=consumer, output=output)
        with interruptible() as interrupts:
            await run.begin()
            await run.run()
        if interrupts.is_set:
            run.take_back()
            if not (plan.follows or plan.has_group):
                raise CommandFailedError(f"interrupted after {run.count} records", FAILED)
    return run.count


@define(eq=False, kw_only=True)
class Read:
    """A read that runs. ends: offsets after the last records; empty while new ones are followed.

    unwritten: partition and offset of what was taken, and is not written yet.
    """

    plan: ReadPlan
    consumer: Consumer[Bytes, Bytes]
    output: Output
    count: int = field(default=0, init=False)
    ends: dict[TopicPartition, int] = field(factory=dict, init=False)
    _lines_of: LinesOf = field(factory=partial(lines_of, 0), init=False)
    _open: set[TopicPartition] = field(factory=set, init=False)
    _unwritten: dict[TopicPartition, int] = field(factory=dict, init=False)

    async def begin(self) -> None:
        """Find ends and beginnings, and assign the partitions or join the group."""
        plan, consumer = self.plan, self.consumer
        if not plan.follows:
            self.ends = await self._find_ends()
        if plan.has_group:
            consumer.subscribe(plan.partitions)
            return
        starts = await self._find_starts()
        self._open = {at for at, start in starts.items() if plan.follows or start < self.ends[at]}
        if not plan.follows:
            self._lines_of = lines_of(sum(self.ends[at] - starts[at] for at in self._open))
        consumer.assign(sorted(self._open))
        for at in self._open:
            consumer.seek(at, starts[at])

    async def run(self) -> None:
        """Print records up to the end."""
        if self.plan.has_group:
            await self._run_in_group()
        while not self._is_done():
            await self._take(await self._next_batch())
        await self._flush()

    async def _run_in_group(self) -> None:
        """Print records of the partitions that the group assigns. Raises CommandFailedError."""
        timeout_s = math.inf if self.plan.follows else self.plan.timeout_s
        deadline = trio.current_time() + timeout_s
        assignment = self.consumer.assignment
        while not self._is_done():
            # With a time: partitions may be at their ends already, and a join goes on meanwhile. A
            # poll that is cancelled instead would disturb a rebalance; `timeout_s` bounds it, too.
            records = await self.consumer.poll(_LOOK_S)
            await self._take_records(records)
            if records or self.consumer.assignment != assignment:
                assignment = self.consumer.assignment
                deadline = trio.current_time() + timeout_s
            elif trio.current_time() >= deadline:
                raise CommandFailedError(self._lateness(), FAILED)

    def _lateness(self) -> str:
        """Return what has not come in time."""
        group, timeout_s = self.plan.settings.get("group.id"), self.plan.timeout_s
        if not self.consumer.assignment:
            return (
                f"group {group} gave no partition within {timeout_s:g} s: see `trio-kafka group"
                f" members {group}`, or give it longer with --timeout"
            )
        places = ", ".join(map(str, sorted(self.consumer.assignment)))
        return f"no records of {places} within {timeout_s:g} s, after {self.count} records"

    async def _next_batch(self) -> PartitionBatch[Bytes, Bytes]:
        """Wait for records. Raises CommandFailedError if a broker does not send those it has."""
        timeout_s = math.inf if self.plan.follows else self.plan.timeout_s
        with trio.move_on_after(timeout_s):
            return await self.consumer.next_batch()
        await self._flush()
        places = ", ".join(map(str, sorted(self._open)))
        raise CommandFailedError(
            f"no records of {places} within {timeout_s:g} s, after {self.count} records", FAILED
        )

    def take_back(self) -> None:
        """Move the positions back to what is not written."""
        for at, offset in self._unwritten.items():
            if at in self.consumer.assignment:
                self.consumer.seek(at, offset)

    # --- ends and beginnings

    async def _find_ends(self) -> dict[TopicPartition, int]:
        places = self.plan.places
        ends = await self.consumer.end_offsets(places)
        if self.plan.until_ms is not None:
            offsets = await self.consumer.offsets_for_times(
                dict.fromkeys(places, self.plan.until_ms)
            )
            for at, offset in offsets.items():
                if offset is not None:
                    ends[at] = min(offset.offset, ends[at])
        return ends

    async def _find_starts(self) -> dict[TopicPartition, int]:
        """Return the first offset to read of each partition. Raises CommandFailedError."""
        places, start = self.plan.places, self.plan.start
        firsts = await self.consumer.beginning_offsets(places)
        if start == Start():
            return firsts
        ends = await self.consumer.end_offsets(places)
        if start.time_ms is not None:
            offsets = await self.consumer.offsets_for_times(dict.fromkeys(places, start.time_ms))
            return {
                at: ends[at] if offset is None else offset.offset for at, offset in offsets.items()
            }
        if start.last is not None:
            return {at: max(ends[at] - start.last, firsts[at]) for at in places}
        offset = start.offset or 0
        for at in places:
            if not firsts[at] <= offset <= ends[at]:
                raise CommandFailedError(
                    f"partition {at}: offset {offset} is out of range, it has {firsts[at]} to"
                    f" {ends[at]}",
                    FAILED,
                )
        return dict.fromkeys(places, offset)

    def _is_done(self) -> bool:
        if self._is_full:
            return True
        if self.plan.follows:
            return False
        if not self.plan.has_group:
            return not self._open
        positions = self.consumer.processed()
        assignment = self.consumer.assignment
        return bool(assignment) and all(
            at in positions and positions[at].offset >= self.ends.get(at, 0) for at in assignment
        )

    # --- records

    async def _take(self, batch: PartitionBatch[Bytes, Bytes]) -> None:
        """Print what a Fetch has brought of a partition."""
        plan = self.plan
        at = TopicPartition(batch.topic, batch.partition)
        end = self.ends.get(at, math.inf)
        is_whole = plan.most is None and batch.next_offset <= end
        if plan.is_values and plan.passes is None and is_whole:
            for count, lines in self._lines_of(batch):
                self.count += count
                self.output.add(lines)
                await self._flush_if_due()
        else:
            for record in batch.records():
                if record.offset >= end or self._is_full:
                    break
                self._print(record)
                await self._flush_if_due()
        if batch.next_offset >= end:
            self._open.discard(at)
            self.consumer.assign(sorted(self._open))
        if plan.follows:
            await self._flush()

    async def _take_records(self, records: Sequence[ConsumerRecord[Bytes, Bytes]]) -> None:
        """Print records of a group; positions stay before those that are not printed."""
        returned: set[TopicPartition] = set()
        for record in records:
            at = TopicPartition(record.topic, record.partition)
            if at in returned:
                continue
            if record.offset >= self.ends.get(at, math.inf) or self._is_full:
                returned.add(at)
                self.consumer.seek(at, record.offset)
                continue
            self._unwritten.setdefault(at, record.offset)
            self._print(record)
        await self._flush()

    def _print(self, record: ConsumerRecord[Bytes, Bytes]) -> None:
        if self.plan.passes is None or self.plan.passes(record):
            self.count += 1
            self.output.add(self.plan.render(record))

    @property
    def _is_full(self) -> bool:
        return self.plan.most is not None and self.count >= self.plan.most

    async def _flush_if_due(self) -> None:
        if self.output.is_due:
            await self.output.flush()

    async def _flush(self) -> None:
        await self.output.flush()
        self._unwritten.clear()
