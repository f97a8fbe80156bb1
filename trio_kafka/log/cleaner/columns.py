"""Records of a run as vectors, where numpy and pyarrow are installed: several times faster.

Each step treats some hundred kilobytes of records and takes milliseconds, so it belongs into a
worker process.
"""

from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING, Final

from attrs import field

from trio_kafka.attributes import define
from trio_kafka.errors import KafkaError
from trio_kafka.log.cleaner.batches import Batch, unpack
from trio_kafka.log.cleaner.job import CleaningRules, Work
from trio_kafka.log.cleaner.pace import Pace
from trio_kafka.log.cleaner.rows import MALFORMED, MOST_HELD, IndexResult, Survivors, all_of
from trio_kafka.records.header import BatchHeader
from trio_kafka.records.record_scan import scan_records

if TYPE_CHECKING:
    from trio_kafka.records.columnar.compaction import Compaction

_RECORD_US: Final = 0.5


@define(eq=False, kw_only=True)
class _Window:
    """Batches that are treated at once. blocks: decompressed records of the readable ones.

    readable: their numbers. survivors: of the unreadable ones, by number.
    """

    batches: list[Batch] = field(factory=list)
    blocks: list[bytes] = field(factory=list)
    readable: list[int] = field(factory=list)
    survivors: dict[int, Survivors] = field(factory=dict)

    @property
    def headers(self) -> list[BatchHeader]:
        return [self.batches[number].header for number in self.readable]

    def without_malformed(self, compaction: "Compaction") -> "_Window":
        """Return the window with malformed batches as unreadable ones."""
        window = _Window(batches=self.batches, survivors=self.survivors)
        for number, block in zip(self.readable, self.blocks, strict=True):
            batch = self.batches[number]
            try:
                compaction.check(batch.header, block)
            except ValueError as error:
                window.survivors[number] = all_of(batch, _reason(batch, block, error))
            else:
                window.readable.append(number)
                window.blocks.append(block)
        return window


@define(eq=False)
class Columns:
    """Strategy with numpy, see `rows.Records`."""

    _compaction: "Compaction"
    _pace: Pace

    @classmethod
    def make(cls, rules: CleaningRules, salt: bytes, pace: Pace) -> "Columns":
        """Import the libraries. ModuleNotFoundError."""
        from trio_kafka.records.columnar.compaction import Compaction  # noqa: PLC0415 - on use

        return cls(Compaction(rules.dedupe_buffer_bytes, rules.load_factor, salt), pace)

    @property
    def keys(self) -> int:
        return self._compaction.keys

    @property
    def utilization(self) -> float:
        return self._compaction.utilization

    def index(self, batches: Sequence[Batch], start: int) -> Work[IndexResult]:
        """See `rows.Records`."""
        done = 0
        while done < len(batches):
            window = yield from self._fill(batches[done:])
            try:
                count = self._compaction.index(window.headers, window.blocks, start)
            except ValueError:
                window = window.without_malformed(self._compaction)
                count = self._compaction.index(window.headers, window.blocks, start)
            if count < len(window.readable):
                number = window.readable[count]
                header, block = window.batches[number].header, window.blocks[count]
                part = (
                    None
                    if self._compaction.keys
                    else (self._compaction.index_part(header, block, start))
                )
                return IndexResult(done + number, part)
            done += len(window.batches)
            yield from self._rest(window.batches)
        return IndexResult(done)

    def filter(
        self, batches: Sequence[Batch], last_indexed: int, now_ms: int
    ) -> Work[list[Survivors]]:
        """See `rows.Records`."""
        window = yield from self._fill(batches)
        find = partial(self._compaction.filter, last_indexed=last_indexed, now_ms=now_ms)
        try:
            results = find(window.headers, window.blocks)
        except ValueError:
            window = window.without_malformed(self._compaction)
            results = find(window.headers, window.blocks)
        yield from self._rest(window.batches)
        survivors = window.survivors | {
            number: Survivors(*result)
            for number, result in zip(window.readable, results, strict=True)
        }
        return [survivors[number] for number in range(len(window.batches))]

    def release(self) -> Work[None]:
        """See `rows.Records`. One array needs no steps."""
        yield self._pace.pause()

    def _fill(self, batches: Sequence[Batch]) -> Work[_Window]:
        """Decompress the first batches, at least one."""
        window = _Window()
        held = 0
        for number, batch in enumerate(batches):
            window.batches.append(batch)
            try:
                block = yield from unpack(batch)
            except MALFORMED as error:
                window.survivors[number] = all_of(batch, error)
                continue
            window.readable.append(number)
            window.blocks.append(block)
            held += len(block)
            if held > MOST_HELD:
                break
        return window

    def _rest(self, batches: Sequence[Batch]) -> Work[None]:
        self._pace.offset = batches[-1].header.next_offset
        if self._pace.due(sum(batch.header.count for batch in batches) * _RECORD_US):
            yield self._pace.pause()


def _reason(batch: Batch, block: bytes, error: Exception) -> Exception:
    """Return the error that says what is wrong in a malformed batch."""
    try:
        for _ in scan_records(block, batch.header):
            pass
    except KafkaError as reason:
        return reason
    return error
