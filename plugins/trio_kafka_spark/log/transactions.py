"""Aborted and open transactions of a partition, for readers with isolation=read_committed.

Everything comes from the batches: their producer ids and the markers between them. `.txnindex`
files are not read: a running broker may not have written them yet. Costs a walk over all headers.
Source: KIP-98: a marker ends the producer's transaction in the partition.
"""

from collections.abc import Callable
from functools import partial

from trio_kafka.attributes import define, frozen
from trio_kafka.errors import KafkaError
from trio_kafka.log.scan.batches import HEADERS, Gap, batches_of
from trio_kafka.records.batch import read_records
from trio_kafka.records.control import read_marker
from trio_kafka.records.header import BatchHeader
from trio_kafka.world.blocking_file import FileReader
from trio_kafka_spark.log.splits import Piece
from trio_kafka_spark.log.walk import header_scan, reason_of
from trio_kafka_spark.log.windows import OnBad, bad_bytes, opened


@frozen(kw_only=True)
class Transactions:
    """aborted: (producer id, first offset, offset of the marker), in order of the markers.

    stable_offset: first offset of the oldest open transaction; None: no transaction is open.
    """

    aborted: tuple[tuple[int, int, int], ...]
    stable_offset: int | None


@define
class _State:
    open: dict[int, int]
    aborted: list[tuple[int, int, int]]

    def see(self, header: BatchHeader, read: Callable[[], memoryview]) -> None:
        if not header.is_transactional:
            return
        if not header.is_control:
            self.open.setdefault(header.producer_id, header.base_offset)
            return
        first = self.open.pop(header.producer_id, None)
        for record in read_records(read(), 0, header):
            marker = read_marker(record)
            if marker is not None and not marker.committed and first is not None:
                self.aborted.append((header.producer_id, first, record.offset))


def transactions(pieces: list[Piece], on_bad: OnBad) -> Transactions:
    """Return the transactions in all pieces of a partition, from its first segment on.

    Damage goes to `on_bad`, and the walk goes on behind it unless that raises. Raises OSError;
    FileNotFoundError if a file was replaced or deleted, as its markers are elsewhere, or lost.
    """
    state = _State(open={}, aborted=[])
    for piece in pieces:
        with opened(piece, HEADERS) as file:
            _walk(file, piece, state=state, on_bad=on_bad)
    return Transactions(
        aborted=tuple(state.aborted), stable_offset=min(state.open.values(), default=None)
    )


def _walk(file: FileReader, piece: Piece, *, state: _State, on_bad: OnBad) -> None:
    scan = header_scan(piece.begin, piece.end, piece.least)
    unreadable = ""  # why the records of the last batch cannot be read
    for step in batches_of(file, scan):
        if isinstance(step, Gap):
            on_bad(bad_bytes(piece, step, unreadable or reason_of(step.damage)))
            unreadable = ""
            continue
        try:
            state.see(step.header, partial(file.read, step.position, step.header.size))
        except KafkaError as error:
            unreadable = str(error)
            scan.reject()
