"""Records of a compacted log as vectors: their keys, and those that survive.

The rules are those of the log cleaner's loops over single records, which tests compare: a record
stays if no later one has its key, and a record without a value only for some time.
"""

from collections.abc import Sequence
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from trio_kafka.attributes import frozen
from trio_kafka.records.columnar.errors import MalformedRecordsError
from trio_kafka.records.columnar.key_hash import PADDING, KeyHasher, Words
from trio_kafka.records.columnar.key_table import KeyTable
from trio_kafka.records.columnar.locate import locate_records
from trio_kafka.records.columnar.parse import Records, parse_records
from trio_kafka.records.columnar.varints import Bytes, Longs
from trio_kafka.records.header import LOG_APPEND_TIME, NO_TIMESTAMP, BatchHeader
from trio_kafka.world.protocols import Buffer

_SMALLEST_RECORD: Final = 7
_NEVER: Final = -(1 << 63)


class KeptRecords(NamedTuple):
    """Records of a batch that stay: their number, invalid ones, whether a tombstone is among them,
    the largest timestamp, and their bytes; None: all of them, and the batch may stay as it is.
    """

    kept: int
    invalid: int
    tombstones: bool
    max_timestamp: int
    content: bytes | None


@frozen(kw_only=True)
class _ParsedBatches:
    """Records of some batches, none of them empty. firsts: number of each batch's first record."""

    content: bytes
    data: Bytes
    starts: Longs
    ends: Longs
    counts: Longs
    firsts: Longs
    records: Records
    offsets: Longs


class Compaction:
    """Key table of a run, and both passes over the records."""

    def __init__(self, buffer_bytes: int, load_factor: float, salt: bytes = b"") -> None:
        self._table = KeyTable(buffer_bytes, load_factor)
        self._hasher = KeyHasher(salt)

    @property
    def keys(self) -> int:
        return self._table.keys

    @property
    def utilization(self) -> float:
        return self._table.keys / self._table.most_slots

    def index(self, headers: Sequence[BatchHeader], blocks: Sequence[Buffer], start: int) -> int:
        """Add the keys of records from offset `start` on. Return how many batches were added.

        headers, blocks: of batches, and their decompressed records.
        Fewer than all: the table is full. Raises ValueError for malformed records.
        """
        parsed = _parse(headers, blocks)
        if parsed is None:
            return len(headers)
        keys = parsed.records.keys
        keyed = np.flatnonzero((keys.length >= 0) & (parsed.offsets >= start))
        first, second = self._hash(parsed, keyed)
        offsets = parsed.offsets[keyed]
        if self._has_room(first, second):
            self._table.put(first, second, offsets)
            return len(headers)
        # One batch after the other: where each batch begins among the wanted records.
        bounds = np.searchsorted(keyed, np.append(parsed.firsts, len(parsed.offsets))).tolist()
        place = 0
        for number, header in enumerate(headers):
            if not header.count:
                continue
            rows = slice(bounds[place], bounds[place + 1])
            if not self._has_room(first[rows], second[rows]):
                return number
            self._table.put(first[rows], second[rows], offsets[rows])
            place += 1
        return len(headers)

    def index_part(self, header: BatchHeader, block: Buffer, start: int) -> int:
        """Add as many keys of one batch as fit into an empty table.

        Return the offset after the last record whose key was added. Raises ValueError.
        """
        parsed = _parse([header], [block])
        if parsed is None:
            return header.next_offset
        keys = parsed.records.keys
        keyed = np.flatnonzero((keys.length >= 0) & (parsed.offsets >= start))
        part = keyed[: self._table.capacity]
        self._table.put(*self._hash(parsed, part), parsed.offsets[part])
        return header.next_offset if len(part) == len(keyed) else int(parsed.offsets[part[-1]]) + 1

    @staticmethod
    def check(header: BatchHeader, block: Buffer) -> None:
        """Check the records of one batch. Raises ValueError for malformed ones."""
        _parse([header], [block])

    def _hash(self, parsed: _ParsedBatches, rows: NDArray[np.intp]) -> tuple[Words, Words]:
        keys = parsed.records.keys
        return self._hasher.hashes(parsed.data, keys.begin[rows], keys.length[rows])

    def _has_room(self, first: Words, second: Words) -> bool:
        """Return whether the new ones of these keys fit into the table."""
        room = self._table.capacity - self._table.keys
        if len(first) <= room:
            return True
        new = self._table.get(first, second) < 0
        pairs = np.stack((first[new], second[new]), axis=1)
        return len(np.unique(pairs, axis=0)) <= room

    def filter(
        self,
        headers: Sequence[BatchHeader],
        blocks: Sequence[Buffer],
        last_indexed: int,
        *,
        now_ms: int,
    ) -> list[KeptRecords]:
        """Find the survivors of each batch. Records after `last_indexed` stay. ValueError."""
        parsed = _parse(headers, blocks)
        if parsed is None:
            return [KeptRecords(0, 0, False, NO_TIMESTAMP, None) for _ in headers]
        full = [header for header in headers if header.count]
        records, offsets = parsed.records, parsed.offsets
        keyed = records.keys.length >= 0
        covered = offsets <= last_indexed
        candidates = np.flatnonzero(keyed & covered)
        latest = np.full(len(offsets), -1, np.int64)
        latest[candidates] = self._table.get(*self._hash(parsed, candidates))
        lasting = np.array([_keeps_tombstones(header, now_ms) for header in full])
        dead = records.values.length < 0
        keep = keyed & (offsets >= latest)
        if dead.any():
            keep &= ~dead | np.repeat(lasting, parsed.counts)
        keep |= ~covered
        return _survived(headers, parsed, keep, invalid=covered & ~keyed, tombstones=keep & dead)


def _keeps_tombstones(header: BatchHeader, now_ms: int) -> bool:
    return header.delete_horizon is None or now_ms < header.delete_horizon


def _parse(headers: Sequence[BatchHeader], blocks: Sequence[Buffer]) -> _ParsedBatches | None:
    """Parse the records of all batches; None: there are none. ValueError."""
    try:
        return _parse_sound(headers, blocks)
    except (MalformedRecordsError, IndexError):
        raise ValueError("malformed records") from None


def _parse_sound(headers: Sequence[BatchHeader], blocks: Sequence[Buffer]) -> _ParsedBatches | None:
    for header, block in zip(headers, blocks, strict=True):
        fits = 0 <= header.count * _SMALLEST_RECORD <= len(block)
        if not fits or (not header.count and len(block)):
            raise MalformedRecordsError
    full = [(header, block) for header, block in zip(headers, blocks, strict=True) if header.count]
    if not full:
        return None
    content = b"".join((*(block for _, block in full), bytes(PADDING)))
    data = np.frombuffer(content, np.uint8)
    end = np.cumsum([len(block) for _, block in full])
    begin = np.append(0, end[:-1])
    counts = np.array([header.count for header, _ in full], np.int64)
    starts = locate_records(data, begin, end, counts=counts)
    records = parse_records(
        data,
        starts,
        end=end,
        counts=counts,
        last_deltas=np.array([header.last_offset_delta for header, _ in full], np.int64),
        timestamps=True,
    )
    bases = np.array([header.base_offset for header, _ in full], np.int64)
    firsts = np.cumsum(counts) - counts
    ends = np.append(starts[1:], end[-1])
    return _ParsedBatches(
        content=content,
        data=data,
        starts=starts,
        ends=ends,
        counts=counts,
        firsts=firsts,
        records=records,
        offsets=np.repeat(bases, counts) + records.offset_deltas,
    )


def _survived(
    headers: Sequence[BatchHeader],
    parsed: _ParsedBatches,
    keep: NDArray[np.bool_],
    *,
    invalid: NDArray[np.bool_],
    tombstones: NDArray[np.bool_],
) -> list[KeptRecords]:
    firsts = parsed.firsts
    kept = np.add.reduceat(keep, firsts, dtype=np.int64).tolist()
    unkeyed = np.add.reduceat(invalid, firsts, dtype=np.int64).tolist()
    dead = np.logical_or.reduceat(tombstones, firsts).tolist()
    latest = np.maximum.reduceat(_times(parsed, headers, keep), firsts).tolist()
    survivors: list[KeptRecords] = []
    rows = zip(firsts.tolist(), parsed.counts.tolist(), kept, unkeyed, dead, latest, strict=True)
    for header in headers:
        if not header.count:
            survivors.append(KeptRecords(0, 0, False, NO_TIMESTAMP, None))
            continue
        first, count, number, bad, tombstone, time = next(rows)
        content = None
        if number < count or (tombstone and header.delete_horizon is None):
            content = _join(parsed, keep[first : first + count], first) if number else b""
        if header.attributes & LOG_APPEND_TIME:
            time = header.max_timestamp
        elif not number:
            time = NO_TIMESTAMP
        survivors.append(KeptRecords(number, bad, tombstone, time, content))
    return survivors


def _times(
    parsed: _ParsedBatches, headers: Sequence[BatchHeader], keep: NDArray[np.bool_]
) -> NDArray[np.int64]:
    """Return the timestamps of kept records, and the smallest number for others."""
    deltas = parsed.records.timestamp_deltas
    if deltas is None:
        raise ValueError("parsed without timestamps")
    bases = np.array([header.base_timestamp for header in headers if header.count], np.int64)
    return np.where(keep, np.repeat(bases, parsed.counts) + deltas, _NEVER)


def _join(parsed: _ParsedBatches, keep: NDArray[np.bool_], first: int) -> bytes:
    """Join the bytes of the kept records of a batch, run by run."""
    edges = np.flatnonzero(np.diff(keep.view(np.int8), prepend=0, append=0))
    begins = parsed.starts[first + edges[0::2]].tolist()
    ends = parsed.ends[first + edges[1::2] - 1].tolist()
    content = parsed.content
    return b"".join([content[begin:end] for begin, end in zip(begins, ends, strict=True)])
