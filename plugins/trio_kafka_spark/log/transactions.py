"""Aborted and open transactions of a partition, for readers with isolation=read_committed.

Everything comes from the batches: their producer ids and the markers between them. `.txnindex`
files are not read: a running broker may not have written them yet. Costs a walk over all headers.
Source: KIP-98: a marker ends the producer's transaction in the partition.
"""

import os
from collections.abc import Callable

from trio_kafka.attributes import define, frozen
from trio_kafka.errors import KafkaError
from trio_kafka.records.batch import read_records
from trio_kafka.records.control import read_marker
from trio_kafka.records.header import BatchHeader
from trio_kafka.log.scan.whole_batch_search import WholeBatchSearch
from trio_kafka_spark.log.splits import Piece
from trio_kafka_spark.log.walk import DamageError, find_whole, read_bytes, walk_headers
from trio_kafka_spark.log.windows import BadBytes, OnBad


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

    def see(self, header: BatchHeader, read: Callable[[], bytes]) -> None:
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

    Damage goes to `on_bad`, and the walk goes on behind it unless that raises. Raises OSError.
    """
    state = _State(open={}, aborted=[])
    for piece in pieces:
        try:
            file = os.open(piece.path, os.O_RDONLY)
        except FileNotFoundError:
            continue
        try:
            _walk(file, piece, state, on_bad)
        finally:
            os.close(file)
    return Transactions(
        aborted=tuple(state.aborted), stable_offset=min(state.open.values(), default=None)
    )


def _walk(file: int, piece: Piece, state: _State, on_bad: OnBad) -> None:
    at, least = piece.begin, piece.least
    search = WholeBatchSearch(piece.end)
    while at < piece.end:
        try:
            for position, header in walk_headers(file, at, piece.end, least):
                at = position
                state.see(header, lambda: read_bytes(file, at, header.size))  # noqa: B023
                at, least = position + header.size, header.next_offset
        except (DamageError, KafkaError) as error:
            position = error.damage.position if isinstance(error, DamageError) else at
            reason = error.damage.reason if isinstance(error, DamageError) else str(error)
            resumed = find_whole(file, position + 1, least, search)
            after = piece.end if resumed is None else resumed
            bad = BadBytes(
                at=piece.at,
                path=piece.path,
                position=position,
                size=after - position,
                reason=reason,
            )
            on_bad(bad)
            at = after
