"""Filter of the second pass: what becomes of each batch.

Source: Kafka's cleaner and `MemoryRecords.filterTo`, KIP-98, KIP-534.
"""

from collections import deque
from collections.abc import Sequence
from functools import partial
from typing import Final

from attrs import field

from trio_kafka.attributes import define
from trio_kafka.errors import KafkaError
from trio_kafka.log.cleaner.batches import Batch, unpack
from trio_kafka.log.cleaner.job import (
    MOST_UNREADABLE,
    CleaningError,
    CleaningRules,
    Compute,
    UnreadableBatch,
    Work,
)
from trio_kafka.log.cleaner.new_segment import NewSegment
from trio_kafka.log.cleaner.pace import Pace
from trio_kafka.log.cleaner.rebuilding import STEP, emptied, horizon_after, rebuilt, shifted
from trio_kafka.log.cleaner.rows import Records, Survivors
from trio_kafka.log.cleaner.transactions import Transactions
from trio_kafka.records.batch import decode_records
from trio_kafka.records.compression import Codec, compress
from trio_kafka.records.control import ControlType, control_type
from trio_kafka.records.header import BatchHeader
from trio_kafka.scheduling.chunked_work import step
from trio_kafka.world.protocols import Buffer

_LARGE: Final = 32 << 10
_SHIFT_US: Final = 1.1
_PLAN_US: Final = 2.0
_BATCH_US: Final = 3.0


def control_kind(batch: Batch) -> Work[ControlType | None]:
    """Return the type of the first record of a control batch; None also without a record.

    Raises KafkaError(CORRUPT_MESSAGE).
    """
    if not batch.header.count:
        return None
    data = yield from unpack(batch)
    return control_type(next(decode_records(data, batch.header, batch.position)))


@define(eq=False, kw_only=True)
class Filter:
    """Second pass over the batches of one run.

    last_indexed: last offset that the key map covers. upper_bound: first uncleanable offset.
    changed: whether any batch was dropped or encoded anew; reset by the caller.
    unreadable: first batches of the segment that stay unread; emptied by the caller.
    """

    _rules: CleaningRules
    _records: Records
    _transactions: Transactions
    _pace: Pace
    _last_indexed: int
    _upper_bound: int
    changed: bool = field(default=False, init=False)
    messages_read: int = field(default=0, init=False)
    messages_written: int = field(default=0, init=False)
    invalid: int = field(default=0, init=False)
    unreadable: list[UnreadableBatch] = field(factory=list, init=False)
    unreadable_batches: int = field(default=0, init=False)

    def run(self, path: str, batches: Sequence[Batch], new: NewSegment) -> Work[None]:
        """Add what remains of some batches to the new segment. Raises CleaningError, OSError."""
        data: list[Batch] = []  # whose records must be looked at
        actions: list[Work[None] | None] = []  # of each batch; None: the next one of `data`
        for batch in batches:
            header = batch.header
            if batch.is_old:
                actions.append(self._copy(batch, new))
            elif header.is_control:
                try:
                    kind = yield from control_kind(batch)
                except KafkaError as error:
                    raise CleaningError(path, batch.position, str(error.message)) from None
                may_go = self._transactions.see_control(header, kind)
                actions.append(self._treat_control(batch, new, may_go=may_go))
            elif self._transactions.see_data(header):
                actions.append(self._drop_records(batch, new))
            else:
                data.append(batch)
                actions.append(None)
            if self._pace.due(_PLAN_US):
                yield self._pace.pause()
        rest: deque[tuple[Batch, Survivors]] = deque()
        for action in actions:
            if action is not None:
                yield from action
                continue
            if not rest:
                results = yield from self._records.filter(
                    data, self._last_indexed, self._rules.now_ms
                )
                rest.extend(zip(data, results, strict=False))
                del data[: len(results)]
            batch, survivors = rest.popleft()
            if survivors.kept and survivors.content is not None:
                yield from self._rebuild(batch, survivors, new, begins=survivors.tombstones)
            self._note(batch, survivors, new)
            if self._pace.due(_BATCH_US):
                yield self._pace.pause()

    def _copy(self, batch: Batch, new: NewSegment) -> Work[None]:
        """Keep a message of an old format."""
        self.messages_read += batch.header.count
        self._keep(batch, new)
        if self._pace.due(_BATCH_US):
            yield self._pace.pause()

    def _note(self, batch: Batch, survivors: Survivors, new: NewSegment) -> None:
        """Count the records of a batch of data, and keep it unless it was rebuilt."""
        header = batch.header
        self.messages_read += header.count
        self.invalid += survivors.invalid
        self._pace.offset = header.next_offset
        if survivors.unreadable:
            self._note_unreadable(batch, survivors, new)
        elif not survivors.kept:
            self._keep_empty(header, new)
        elif survivors.content is None:
            self._keep(batch, new)

    def _treat_control(self, batch: Batch, new: NewSegment, *, may_go: bool) -> Work[None]:
        """Keep a control batch. If it may go, let its time begin, and remove it afterwards."""
        header = batch.header
        horizon = header.delete_horizon
        if may_go and horizon is not None and horizon <= self._rules.now_ms:
            yield from self._drop_records(batch, new)
            return
        self.messages_read += header.count
        if not header.count:
            self._keep_empty(header, new)
        elif may_go and horizon is None:
            data = yield from unpack(batch)
            survivors = Survivors(header.count, 0, False, header.max_timestamp, data)
            yield from self._rebuild(batch, survivors, new, begins=True)
        else:
            self._keep(batch, new)
        if self._pace.due(_BATCH_US):
            yield self._pace.pause()

    def _drop_records(self, batch: Batch, new: NewSegment) -> Work[None]:
        """Remove a batch whose records need not be looked at."""
        if self._must_stay(batch.header):
            self.messages_read += batch.header.count
        self._keep_empty(batch.header, new)
        if self._pace.due(_BATCH_US):
            yield self._pace.pause()

    def _must_stay(self, header: BatchHeader) -> bool:
        """Return whether a batch stays even without records.

        The last one of an active producer holds its sequence and epoch. The last one of the run
        holds the end of the log if no other follows.
        """
        if header.next_offset == self._upper_bound:
            return True
        last = self._rules.active_producers.get(header.producer_id)
        if last is None:
            return False
        if last.last_data_offset is None:
            return header.is_control and header.producer_epoch == last.epoch
        return header.last_offset == last.last_data_offset

    def _keep(self, batch: Batch, new: NewSegment) -> None:
        new.add(batch.header, batch.data)
        self.messages_written += batch.header.count

    def _note_unreadable(self, batch: Batch, survivors: Survivors, new: NewSegment) -> None:
        """Keep a batch that cannot be read; a malformed one as long as a tombstone."""
        header, now_ms = batch.header, self._rules.now_ms
        horizon = header.delete_horizon
        removed = survivors.malformed and horizon is not None and horizon <= now_ms
        self.unreadable_batches += 1
        if len(self.unreadable) < MOST_UNREADABLE:
            self.unreadable.append(
                UnreadableBatch(
                    base_offset=header.base_offset,
                    last_offset=header.last_offset,
                    reason=survivors.unreadable,
                    malformed=survivors.malformed,
                    removed=removed,
                )
            )
        if removed:
            self._keep_empty(header, new)
        elif survivors.malformed and horizon is None:
            new.add(
                *rebuilt(
                    header,
                    batch.block,
                    count=header.count,
                    max_timestamp=header.max_timestamp,
                    delete_horizon=horizon_after(now_ms, self._rules.delete_retention_ms),
                )
            )
            self.changed = True
            self.messages_written += header.count
        else:
            self._keep(batch, new)

    def _keep_empty(self, header: BatchHeader, new: NewSegment) -> None:
        """Keep the header of a batch without records if it must stay."""
        if self._must_stay(header):
            new.add(*emptied(header))
            self.changed |= header.count > 0
        else:
            self.changed = True

    def _rebuild(
        self,
        batch: Batch,
        survivors: Survivors,
        new: NewSegment,
        *,
        begins: bool,
    ) -> Work[None]:
        """Encode a batch anew with its survivors.

        begins: let the time of its tombstones or its marker begin, unless it has begun.
        """
        header, rules = batch.header, self._rules
        content: Buffer = survivors.content or b""
        horizon = None
        if begins and header.delete_horizon is None:
            horizon = horizon_after(rules.now_ms, rules.delete_retention_ms)
            steps = shifted(content, survivors.kept, header, base_timestamp=horizon)
            while (done := step(steps)) is None:
                if self._pace.due(STEP * _SHIFT_US):
                    yield self._pace.pause()
            content = done.value
        codec = header.codec
        if codec is not Codec.NONE:
            call = partial(compress, codec, content)
            content = call() if len(content) <= _LARGE else (yield Compute(call))
        new.add(
            *rebuilt(
                header,
                content,
                count=survivors.kept,
                max_timestamp=survivors.max_timestamp,
                delete_horizon=horizon,
            )
        )
        self.changed = True
        self.messages_written += survivors.kept
