"""Records of a run, one by one: collect their keys, and find those that survive.

Two loops make up nearly all of the time, 1.1 and 1.3 µs a record. So they read numbers of one and
two bytes in place. With calls of `read_varint` instead, a run cleans 0.21 M records/s for 0.30
(batches of 16 KiB), 0.17 for 0.27 (lz4): see `tests.benchmarks.bench_compaction`. The second loop
looks into the tables of the key map itself.
Records are hostile. A batch is unreadable if one of its records ends outside of it, or does not
follow the record before: then none of its keys counts, and all of it stays.
"""

from collections.abc import Sequence
from typing import Final, NamedTuple, Protocol

from attrs import field

from trio_kafka.attributes import define
from trio_kafka.errors import KafkaError
from trio_kafka.log.cleaner.batches import Batch, unpack
from trio_kafka.log.cleaner.job import Work
from trio_kafka.log.cleaner.key_map import LONG, MASK, KeyMap
from trio_kafka.log.cleaner.pace import Pace
from trio_kafka.log.cleaner.rebuilding import wrapped
from trio_kafka.records.compression import TooLargeError
from trio_kafka.records.header import LOG_APPEND_TIME, NO_TIMESTAMP, BatchHeader
from trio_kafka.records.varint import read_varint
from trio_kafka.scheduling.chunked_work import in_slices
from trio_kafka.world.protocols import Buffer

_STEP: Final = 256  # records
_KEY_US: Final = 1.1
_RECORD_US: Final = 1.3
_BATCH_US: Final = 3.0
_PUT_US: Final = 0.15
_FREE_US: Final = 0.1
# Errors of malformed records.
MALFORMED: Final = (KafkaError, IndexError, ValueError)
MOST_HELD: Final = 4 << 20  # bytes of content in one answer of `filter`, or one batch
_SMALLEST: Final = 6  # bytes after the length
_NEVER: Final = 1 << 63
# Keys of one batch, which are held beside the map until all of its records were read: 13 MiB. A
# batch of more keys is compacted in several runs.
MOST_KEYS: Final = 1 << 17


class Survivors(NamedTuple):
    """Records of a batch that stay. kept: their number.

    invalid: removed ones without a key. tombstones: whether any of the kept has no value.
    max_timestamp: of the kept, as in the records. content: the kept records as they were encoded;
    None: all are kept, and the batch may stay as it is.
    unreadable: why the records cannot be read, so that none was judged; "" if they can.
    malformed: they cannot be read by any client either.
    """

    kept: int
    invalid: int
    tombstones: bool
    max_timestamp: int
    content: Buffer | None
    unreadable: str = ""
    malformed: bool = False


class IndexResult(NamedTuple):
    """Result of `Records.index`. batches: number of batches that were added whole.

    part_end: offset up to which the next one was added, in the middle of it; None: not at all.
    """

    batches: int
    part_end: int | None = None


class Records(Protocol):
    """Strategy of both passes over the records: see `Rows`, and `columns.Columns`."""

    @property
    def keys(self) -> int:
        """Keys in the map."""

    @property
    def utilization(self) -> float:
        """Used part of the map, 0 to 1."""

    def index(self, batches: Sequence[Batch], start: int) -> Work[IndexResult]:
        """Add the keys of records from offset `start` on. Unreadable batches have none.

        Fewer than all batches: the map is full. A batch is added in part only to an empty map.
        """

    def filter(
        self, batches: Sequence[Batch], last_indexed: int, now_ms: int
    ) -> Work[list[Survivors]]:
        """Find the survivors of the first batch and of some that follow, in bounded memory.

        Records after `last_indexed` stay.
        """

    def release(self) -> Work[None]:
        """Free the map, which is not used any more."""


@define(eq=False)
class Rows:
    """Strategy that needs nothing but Python."""

    _map: KeyMap
    _pace: Pace
    _room: int = field(default=0, init=False)  # at least so many keys fit

    @property
    def keys(self) -> int:
        return len(self._map)

    @property
    def utilization(self) -> float:
        return self._map.utilization

    def index(self, batches: Sequence[Batch], start: int) -> Work[IndexResult]:
        """See `Records`."""
        for number, batch in enumerate(batches):
            try:
                end = yield from self._index_batch(batch, start)
            except MALFORMED:
                continue  # `filter` says why
            next_offset = batch.header.next_offset
            if end is None or end < next_offset:
                return IndexResult(number, end)
            self._pace.offset = next_offset
        return IndexResult(len(batches))

    def _index_batch(self, batch: Batch, start: int) -> Work[int | None]:
        """Add the keys of a batch when all of its records were read. Return the end of those that
        were added; None: there was no room.
        """
        header = batch.header
        data = yield from unpack(batch)
        cursor = _Cursor(data, header)
        keys: dict[bytes | int, int] = {}
        if self._room < header.count:  # counting the keys of all tables takes 5 µs
            self._room = self._map.capacity - len(self._map)
        limit = min(self._room, MOST_KEYS)
        remaining, end = header.count, header.next_offset
        while remaining:
            number = min(remaining, _STEP)
            if end == header.next_offset:
                number = min(number, limit - len(keys))
                if not number:  # the rest must be sound, too
                    end, start = header.base_offset + cursor.delta + 1, _NEVER
                    number = min(remaining, _STEP)
            _collect_keys(cursor, number, start, keys=keys, map_of=self._map)
            remaining -= number
            if self._pace.due(_BATCH_US + number * _KEY_US):
                yield self._pace.pause()
        cursor.check_end()
        if end < header.next_offset and (len(self._map) or not keys):
            return None
        self._room -= len(keys)
        tables = self._map.tables
        for chunk in (keys.items(),) if len(keys) <= _STEP else in_slices(keys.items(), _STEP):
            for key, offset in chunk:
                tables[hash(key) & MASK][key] = offset
            if self._pace.due(len(chunk) * _PUT_US):
                yield self._pace.pause()
        return end

    def filter(
        self, batches: Sequence[Batch], last_indexed: int, now_ms: int
    ) -> Work[list[Survivors]]:
        """See `Records`."""
        results: list[Survivors] = []
        held = 0
        for batch in batches:
            try:
                survivors = yield from self._filter_batch(batch, last_indexed, now_ms)
            except MALFORMED as error:
                survivors = all_of(batch, error)
            results.append(survivors)
            held += len(survivors.content or b"")
            if held > MOST_HELD:
                break
        return results

    def _filter_batch(self, batch: Batch, last_indexed: int, now_ms: int) -> Work[Survivors]:
        header = batch.header
        data = yield from unpack(batch)
        sieve = _Sieve(
            data, header, last_indexed, keeps_tombstones=keeps_tombstones(header, now_ms)
        )
        remaining = header.count
        while remaining:
            number = min(remaining, _STEP)
            _sift(sieve, number, self._map)
            remaining -= number
            if self._pace.due(_BATCH_US + number * _RECORD_US):
                yield self._pace.pause()
        sieve.check_end()
        return sieve.survivors()

    def release(self) -> Work[None]:
        """See `Records`. Freeing a million keys at once would take 50 ms."""
        tables = self._map.tables
        while tables:
            if self._pace.due(len(tables.pop()) * _FREE_US):
                yield self._pace.pause()


def keeps_tombstones(header: BatchHeader, now_ms: int) -> bool:
    """Return whether the tombstones of a batch stay: their time has not begun or not ended."""
    horizon = header.delete_horizon
    return horizon is None or now_ms < horizon


def all_of(batch: Batch, error: Exception) -> Survivors:
    """Return the survivors of a batch whose records cannot be read: all of them."""
    if isinstance(error, IndexError):
        reason = "the records end early"
    else:
        reason = str(error.message if isinstance(error, KafkaError) else error)
    header = batch.header
    malformed = not isinstance(error, TooLargeError)
    return Survivors(header.count, 0, False, header.max_timestamp, None, reason, malformed)


class _Cursor:
    """Place in the decompressed records of a batch. delta: offset delta of the record before."""

    __slots__ = ("at", "base", "data", "delta", "most")

    def __init__(self, data: bytes, header: BatchHeader) -> None:
        if header.count * (_SMALLEST + 1) > len(data):
            raise ValueError(f"{header.count} records in {len(data)} bytes")
        self.data = data
        self.at = 0
        self.base = header.base_offset
        self.delta = -1
        self.most = header.last_offset_delta

    def check_end(self) -> None:
        if self.at != len(self.data):
            raise ValueError(f"{len(self.data) - self.at} bytes after the last record")


class _Sieve(_Cursor):
    """Survivors found so far. run: start of the last run of kept records. parts: the earlier ones.

    last: last offset that the key map covers, as a delta.
    """

    __slots__ = (
        "base_timestamp",
        "count",
        "header",
        "invalid",
        "keeps_tombstones",
        "kept",
        "last",
        "max_timestamp",
        "parts",
        "run",
        "tombstones",
    )

    def __init__(
        self, data: bytes, header: BatchHeader, last_indexed: int, *, keeps_tombstones: bool
    ) -> None:
        super().__init__(data, header)
        self.header = header
        self.last = last_indexed - header.base_offset
        self.keeps_tombstones = keeps_tombstones
        self.base_timestamp = header.base_timestamp
        self.kept = self.invalid = self.run = 0
        self.tombstones = False
        self.max_timestamp = -(1 << 63)
        self.parts: list[bytes] = []

    def survivors(self) -> Survivors:
        header, content = self.header, None
        if self.kept < header.count or (self.tombstones and header.delete_horizon is None):
            self.parts.append(self.data[self.run :])
            content = self.parts[0] if len(self.parts) == 1 else b"".join(self.parts)
        if header.attributes & LOG_APPEND_TIME:
            latest = header.max_timestamp
        else:
            latest = wrapped(self.max_timestamp) if self.kept else NO_TIMESTAMP
        return Survivors(self.kept, self.invalid, self.tombstones, latest, content)


def _collect_keys(  # noqa: C901, PLR0912, PLR0915 - calls would double its time
    cursor: _Cursor, number: int, start: int, *, keys: dict[bytes | int, int], map_of: KeyMap
) -> None:
    """Collect the keys of the next records. IndexError, ValueError for malformed ones."""
    data, at, delta, most = cursor.data, cursor.at, cursor.delta, cursor.most
    base, size = cursor.base, len(cursor.data)
    first = start - base
    for _ in range(number):
        byte = data[at]
        if byte < 128:
            length = (byte >> 1) ^ -(byte & 1)
            at += 1
        elif data[at + 1] < 128:
            byte = byte & 127 | data[at + 1] << 7
            length = (byte >> 1) ^ -(byte & 1)
            at += 2
        else:
            length, at = read_varint(data, at)
        end = at + length
        if end > size or length < _SMALLEST:
            raise ValueError(f"record of {length} bytes, {size - at} are left")
        at += 1  # no bit of the attributes is in use
        if data[at] < 128:
            at += 1
        elif data[at + 1] < 128:
            at += 2
        else:
            _, at = read_varint(data, at)
        byte = data[at]
        if byte < 128:
            later = (byte >> 1) ^ -(byte & 1)
            at += 1
        elif data[at + 1] < 128:
            byte = byte & 127 | data[at + 1] << 7
            later = (byte >> 1) ^ -(byte & 1)
            at += 2
        else:
            later, at = read_varint(data, at)
        if not delta < later <= most:
            raise ValueError(f"offset delta {later} after {delta}, want at most {most}")
        delta = later
        byte = data[at]
        if byte < 128:
            length = (byte >> 1) ^ -(byte & 1)
            at += 1
        elif data[at + 1] < 128:
            byte = byte & 127 | data[at + 1] << 7
            length = (byte >> 1) ^ -(byte & 1)
            at += 2
        else:
            length, at = read_varint(data, at)
        key_at, key_length = at, length
        if length > 0:
            at += length
        byte = data[at]
        if byte < 128:
            length = (byte >> 1) ^ -(byte & 1)
            at += 1
        elif data[at + 1] < 128:
            byte = byte & 127 | data[at + 1] << 7
            length = (byte >> 1) ^ -(byte & 1)
            at += 2
        else:
            length, at = read_varint(data, at)
        if length > 0:
            at += length
        if at + 1 != end or data[at] or key_length < -1 or length < -1:
            _check_rest(data, at, end, key_length=key_length, value=length)
        at = end
        if key_length >= 0 and delta >= first:
            key: bytes | int = data[key_at : key_at + key_length]
            if key_length > LONG:
                key = map_of.hashed(data[key_at : key_at + key_length])
            keys[key] = base + delta
    cursor.at, cursor.delta = at, delta


def _sift(  # noqa: C901, PLR0912, PLR0915 - calls would double its time
    sieve: _Sieve, number: int, keys: KeyMap
) -> None:
    """Judge the next records. IndexError, ValueError for malformed ones."""
    data, at, delta, most = sieve.data, sieve.at, sieve.delta, sieve.most
    base, size, tables = sieve.base, len(sieve.data), keys.tables
    last, keeps_tombstones = sieve.last, sieve.keeps_tombstones
    run, kept, max_delta = sieve.run, 0, sieve.max_timestamp - sieve.base_timestamp
    for _ in range(number):
        begin = at
        byte = data[at]
        if byte < 128:
            length = (byte >> 1) ^ -(byte & 1)
            at += 1
        elif data[at + 1] < 128:
            byte = byte & 127 | data[at + 1] << 7
            length = (byte >> 1) ^ -(byte & 1)
            at += 2
        else:
            length, at = read_varint(data, at)
        end = at + length
        if end > size or length < _SMALLEST:
            raise ValueError(f"record of {length} bytes, {size - at} are left")
        at += 1  # no bit of the attributes is in use
        byte = data[at]
        if byte < 128:
            time = (byte >> 1) ^ -(byte & 1)
            at += 1
        elif data[at + 1] < 128:
            byte = byte & 127 | data[at + 1] << 7
            time = (byte >> 1) ^ -(byte & 1)
            at += 2
        else:
            time, at = read_varint(data, at)
        byte = data[at]
        if byte < 128:
            later = (byte >> 1) ^ -(byte & 1)
            at += 1
        elif data[at + 1] < 128:
            byte = byte & 127 | data[at + 1] << 7
            later = (byte >> 1) ^ -(byte & 1)
            at += 2
        else:
            later, at = read_varint(data, at)
        if not delta < later <= most:
            raise ValueError(f"offset delta {later} after {delta}, want at most {most}")
        delta = later
        byte = data[at]
        if byte < 128:
            length = (byte >> 1) ^ -(byte & 1)
            at += 1
        elif data[at + 1] < 128:
            byte = byte & 127 | data[at + 1] << 7
            length = (byte >> 1) ^ -(byte & 1)
            at += 2
        else:
            length, at = read_varint(data, at)
        key_at, key_length = at, length
        if length > 0:
            at += length
        byte = data[at]
        if byte < 128:
            value = (byte >> 1) ^ -(byte & 1)
            at += 1
        elif data[at + 1] < 128:
            byte = byte & 127 | data[at + 1] << 7
            value = (byte >> 1) ^ -(byte & 1)
            at += 2
        else:
            value, at = read_varint(data, at)
        if value > 0:
            at += value
        if at + 1 != end or data[at] or key_length < -1 or value < -1:
            _check_rest(data, at, end, key_length=key_length, value=value)
        at = end
        if delta <= last:
            if key_length < 0:
                sieve.invalid += 1
                keep = False
            else:
                key: bytes | int = data[key_at : key_at + key_length]
                if key_length > LONG:
                    key = keys.hashed(data[key_at : key_at + key_length])
                keep = base + delta >= tables[hash(key) & MASK].get(key, -1) and (
                    value >= 0 or keeps_tombstones
                )
        else:
            keep = True
        if keep:
            kept += 1
            max_delta = max(max_delta, time)
            if value < 0:
                sieve.tombstones = True
        else:
            if run < begin:
                sieve.parts.append(data[run:begin])
            run = end
    sieve.at, sieve.delta, sieve.run = at, delta, run
    sieve.kept += kept
    sieve.max_timestamp = sieve.base_timestamp + max_delta


def _check_rest(data: bytes, at: int, end: int, *, key_length: int, value: int) -> None:
    """Check the headers of a record at `at`, or say what else is wrong with it."""
    if key_length < -1 or value < -1:
        raise ValueError(f"key of {key_length} bytes and value of {value} bytes")
    if at >= end:
        raise ValueError("a record ends within its key or its value")
    count, at = read_varint(data, at)
    if not 0 <= count <= (end - at) // 2:
        raise ValueError(f"{count} headers in {end - at} bytes")
    for _ in range(count):
        for least in (0, -1):  # name and value
            length, at = read_varint(data, at)
            if length < least:
                raise ValueError(f"header with a part of {length} bytes")
            at += max(length, 0)
            if at > end:
                raise ValueError("a header ends outside of its record")
    if at != end:
        raise ValueError(f"a record ends {end - at} bytes before its length does")
