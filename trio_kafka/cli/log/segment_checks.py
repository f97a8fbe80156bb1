"""Checks of the batches and records of a partition's segments, in one pass with their indexes.

A segment that is deleted meanwhile is left out. At the end of the last segment a running broker may
be writing: the file is looked at again while it grows.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Final

from attrs import field

from trio_kafka.attributes import define
from trio_kafka.cli.log.batches import Batch, Gap, Piece, read_batches
from trio_kafka.cli.log.decoders import UndecodableError, decode_control, decoder_of
from trio_kafka.cli.log.findings import Finding, Level, error, warning
from trio_kafka.cli.log.index_checks import OffsetIndexCheck, TimeIndexCheck
from trio_kafka.cli.log.places import Kind, LogFile
from trio_kafka.cli.log.transaction_checks import Transactions
from trio_kafka.errors import KafkaError
from trio_kafka.log.epochs import NO_EPOCH
from trio_kafka.records.header import NO_TIMESTAMP
from trio_kafka.world.blocking_file import open_reader

MOST: Final = 100  # findings about one segment
_LOOKS: Final = 10  # at the end of a file that grows
_LARGEST_RELATIVE: Final = (1 << 31) - 1
_INDEXES: Final = (Kind.OFFSET_INDEX, Kind.TIME_INDEX)

EpochAt = Callable[[int], int]
Indexes = Mapping[Kind, LogFile]


@define(kw_only=True)
class LogCheck:
    """Check of a partition's segments, in the order of their offsets.

    quick: records are not decoded. epoch_at: leader epoch of an offset by the epoch checkpoint, -1
    where it says nothing. last_epoch: its last one. growing: level of damage in the indexes of the
    last segment. compacted: gaps between offsets are expected.
    """

    topic: str | None
    quick: bool = False
    growing: Level = Level.WARNING
    compacted: bool = False
    epoch_at: EpochAt = lambda _: NO_EPOCH
    last_epoch: int = NO_EPOCH
    start_offset: int | None = field(default=None, init=False)
    end_offset: int = field(default=0, init=False)
    batches: int = field(default=0, init=False)
    bytes: int = field(default=0, init=False)
    _epoch: int = field(default=NO_EPOCH, init=False)
    _transactions: Transactions = field(factory=Transactions, init=False)
    _gaps: int = field(default=0, init=False)
    _first_gap: int = field(default=0, init=False)
    _missing: int = field(default=0, init=False)
    _epoch_reported: bool = field(default=False, init=False)

    def check(self, segments: Sequence[tuple[LogFile, Indexes]]) -> Iterator[Finding]:
        """Yield findings about all segments, with their indexes. OSError."""
        for number, (log, indexes) in enumerate(segments):
            last = number == len(segments) - 1
            limit = None if last else segments[number + 1][0].offset
            findings: list[Finding] = []
            left_out = 0
            try:
                for finding in self._check_segment(log, indexes, limit):
                    if len(findings) < MOST:
                        findings.append(finding)
                    else:
                        left_out += 1
            except FileNotFoundError:
                self._transactions.lose()
                self.end_offset = max(self.end_offset, limit or 0)
                continue
            if left_out:
                findings.append(error(log.path, f"{left_out} more findings are left out"))
            if log.path.exists():
                yield from findings

    def _check_segment(
        self, log: LogFile, indexes: Indexes, limit: int | None
    ) -> Iterator[Finding]:
        """Check one segment. limit: base offset of the next one; None: this is the last one."""
        level = self.growing if limit is None else Level.ERROR
        checks: list[OffsetIndexCheck | TimeIndexCheck] = []
        if Kind.OFFSET_INDEX in indexes:
            checks.append(OffsetIndexCheck(indexes[Kind.OFFSET_INDEX], level))
        if Kind.TIME_INDEX in indexes:
            checks.append(TimeIndexCheck(indexes[Kind.TIME_INDEX], level))
        if self.start_offset is None:
            self.start_offset = self.end_offset = log.offset
        self._gaps = self._missing = 0
        self._skip_to(log.offset)
        for piece in _pieces(log, is_last=limit is None):
            if isinstance(piece, Gap):
                self._transactions.lose()
                yield _gap_finding(log, piece, is_last=limit is None)
                continue
            self.batches += 1
            self.bytes += piece.size
            yield from self._check_batch(log, piece, limit)
            for check in checks:
                yield from check.see(piece)
            self._transactions.see(piece)
        for check in checks:
            yield from check.finish()
        yield from self._transactions.check(log, indexes.get(Kind.TRANSACTION_INDEX), level)
        if limit is not None:
            for kind in _INDEXES:
                if kind not in indexes:
                    yield warning(log.path, f"no {kind}: a broker builds it again at its start")
        if self._gaps and not self.compacted:
            yield warning(
                log.path,
                f"{self._missing} offsets are missing, in {self._gaps} gaps: as expected only if"
                " the topic was ever compacted",
                offset=self._first_gap,
            )

    def _check_batch(self, log: LogFile, batch: Batch, limit: int | None) -> Iterator[Finding]:
        def at(text: str) -> Finding:
            return error(log.path, text, batch.position, offset=batch.base_offset)

        if not batch.is_valid:
            yield at(f"crc {batch.crc_found:08x}, the batch has {batch.header.crc:08x}")
        yield from map(at, self._offset_errors(log, batch, limit))
        yield from map(at, self._epoch_errors(batch))
        if batch.is_valid and not self.quick:
            yield from self._check_records(log, batch)
        self.end_offset = max(self.end_offset, batch.last_offset + 1)
        self._epoch = max(self._epoch, batch.header.leader_epoch)

    def _offset_errors(self, log: LogFile, batch: Batch, limit: int | None) -> Iterator[str]:
        if batch.is_message:
            return  # a wrapper names its last offset only
        if batch.base_offset < self.end_offset:
            yield f"offsets go back from {self.end_offset - 1} to {batch.base_offset}"
        self._skip_to(batch.base_offset)
        if limit is not None and batch.last_offset >= limit:
            yield f"it ends with offset {batch.last_offset}, the next segment begins at {limit}"
        if batch.last_offset - log.offset > _LARGEST_RELATIVE:
            yield f"offset {batch.last_offset} is too far from the segment's, {log.offset}"
        span = batch.last_offset - batch.base_offset + 1
        if not 0 <= batch.header.count <= span:
            yield f"{batch.header.count} records for {span} offsets"

    def _skip_to(self, offset: int) -> None:
        """Count the offsets up to this one as missing, if there are any."""
        if offset > self.end_offset:
            if not self._gaps:
                self._first_gap = self.end_offset
            self._gaps += 1
            self._missing += offset - self.end_offset
            self.end_offset = offset

    def _epoch_errors(self, batch: Batch) -> Iterator[str]:
        if batch.is_message:
            return
        if batch.header.leader_epoch < self._epoch:
            yield f"leader epoch {batch.header.leader_epoch} after {self._epoch}"
        epoch = self.epoch_at(batch.base_offset)
        if self._epoch_reported or epoch == NO_EPOCH or batch.header.leader_epoch > self.last_epoch:
            return  # the file of epochs is written later
        if epoch != batch.header.leader_epoch:
            self._epoch_reported = True
            yield f"leader epoch {batch.header.leader_epoch}, leader-epoch-checkpoint says {epoch}"

    def _check_records(self, log: LogFile, batch: Batch) -> Iterator[Finding]:
        decode = decode_control if batch.header.is_control else decoder_of("auto", self.topic)
        latest = NO_TIMESTAMP
        try:
            for record in batch.records():
                latest = max(latest, record.timestamp)
                if decode is None:
                    continue
                try:
                    decode(record)
                except UndecodableError as problem:
                    text = f"not a record of this topic: {problem}"
                    yield warning(log.path, text, batch.position, offset=record.offset)
        except KafkaError as problem:
            yield error(log.path, problem.message or "", batch.position, offset=batch.base_offset)
            return
        is_known = not batch.is_message and batch.header.count > 0
        if is_known and latest != batch.header.max_timestamp:
            text = f"latest time {batch.header.max_timestamp}, its records have {latest}"
            yield warning(log.path, text, batch.position, offset=batch.base_offset)


def _pieces(log: LogFile, *, is_last: bool) -> Iterator[Piece]:
    """Yield the pieces of a segment; those at the end of the last one again if it has grown."""
    position = 0
    for look in range(_LOOKS):
        grown = False
        with open_reader(log.path) as reader:
            for piece in read_batches(reader, position=position):
                grows = is_last and look < _LOOKS - 1 and isinstance(piece, Gap) and piece.tail
                if grows and log.path.stat().st_size != reader.size:
                    position, grown = piece.position, True
                    break
                yield piece
        if not grown:
            return


def _gap_finding(log: LogFile, gap: Gap, *, is_last: bool) -> Finding:
    size = gap.end - gap.position
    if is_last and gap.tail:
        content = (
            "zeros: allocated ahead, or lost in a power loss"
            if gap.zeros
            else f"bytes of an incomplete batch: {gap.reason}"
        )
        text = f"{size} {content}. A broker cuts them off at its start"
        return warning(log.path, text, gap.position)
    content = "zeros" if gap.zeros else "bytes"
    return error(log.path, f"{size} {content} are no batch: {gap.reason}", gap.position)
