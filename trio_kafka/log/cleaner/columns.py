"""Records of a run as vectors, where numpy and pyarrow are installed: several times faster.

Each step treats some hundred kilobytes of records and takes milliseconds, so it belongs into a
worker process.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

from attrs import field

from trio_kafka.attributes import define
from trio_kafka.errors import KafkaError
from trio_kafka.log.cleaner.batches import Batch, unpack
from trio_kafka.log.cleaner.job import CleaningError, CleaningRules, Work
from trio_kafka.log.cleaner.pace import Pace
from trio_kafka.log.cleaner.rows import MOST_HELD, Survivors, damaged
from trio_kafka.records.record_scan import scan_records

if TYPE_CHECKING:
    from trio_kafka.records.columnar.compaction import Compaction

_RECORD_US: Final = 0.5


@define(eq=False)
class Columns:
    """Strategy with numpy, see `rows.Records`."""

    _compaction: "Compaction"
    _pace: Pace
    # Decompressed records of the window that is being filled.
    _blocks: list[bytes] = field(factory=list, init=False)

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

    def index(self, path: str, batches: Sequence[Batch], start: int) -> Work[int]:
        """See `rows.Records`."""
        done = 0
        while done < len(batches):
            window = yield from self._fill(path, batches[done:])
            headers = [batch.header for batch in window]
            try:
                count = self._compaction.index(headers, self._blocks, start)
            except ValueError:
                raise self._find_damage(path, window) from None
            done += count
            if count < len(window):
                break
            yield from self._rest(window)
        return done

    def filter(
        self, path: str, batches: Sequence[Batch], last_indexed: int, now_ms: int
    ) -> Work[list[Survivors]]:
        """See `rows.Records`."""
        window = yield from self._fill(path, batches)
        headers = [batch.header for batch in window]
        try:
            found = self._compaction.filter(headers, self._blocks, last_indexed, now_ms)
        except ValueError:
            raise self._find_damage(path, window) from None
        yield from self._rest(window)
        return [Survivors(*one) for one in found]

    def release(self) -> Work[None]:
        """See `rows.Records`. One array needs no steps."""
        yield self._pace.pause()

    def _fill(self, path: str, batches: Sequence[Batch]) -> Work[list[Batch]]:
        """Decompress the first batches, at least one, into `_blocks`."""
        window: list[Batch] = []
        self._blocks.clear()
        held = 0
        for batch in batches:
            try:
                block = yield from unpack(batch)
            except KafkaError as error:
                raise damaged(path, batch, error) from None
            window.append(batch)
            self._blocks.append(block)
            held += len(block)
            if held > MOST_HELD:
                break
        return window

    def _rest(self, window: Sequence[Batch]) -> Work[None]:
        self._blocks.clear()
        header = window[-1].header
        self._pace.offset = header.next_offset
        if self._pace.due(sum(batch.header.count for batch in window) * _RECORD_US):
            yield self._pace.pause()

    def _find_damage(self, path: str, window: Sequence[Batch]) -> CleaningError:
        """Return the error for the first malformed batch."""
        for batch, block in zip(window, self._blocks, strict=True):
            try:
                for _ in scan_records(block, batch.header):
                    pass
            except KafkaError as error:
                return damaged(path, batch, error)
        return CleaningError(path, window[0].position, "malformed records")
