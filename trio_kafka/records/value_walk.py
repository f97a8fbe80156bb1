"""Values of records and nothing else, by a walk without an object, a call or a tuple for a record.

A third of the time of `decode_records`, which is the plain form. Like the compiled leaf,
the walk never refuses anything: in doubt it stops, and `scan_records` goes on from there, so every
error is written once. It checks what that checks, for the common sizes.
"""

from collections.abc import Iterator
from typing import Final

from trio_kafka.errors import KafkaError
from trio_kafka.records.header import SMALLEST_RECORD, BatchHeader, corrupt
from trio_kafka.records.leaf import ScanState
from trio_kafka.records.record_scan import BEGIN, scan_records
from trio_kafka.records.varint import read_varint

Values = list[bytes | None]
_STEP: Final = 512  # records: 0.3 ms
_MOST_HEADERS: Final = 64  # of a record; more are a pause of the scan
_LONGEST_TIME: Final = 9  # bytes of a varint that has surely at most 64 bits


def decode_values(
    data: bytes, header: BatchHeader, *, start: int = 0, position: int = 0
) -> Iterator[Values]:
    """Yield the values of the records of decompressed `data` from offset `start` on, many at once.

    position: names the batch in errors. Raises as `decode_records`.
    """
    skipped = start - header.base_offset
    state = BEGIN
    if 0 <= header.count * SMALLEST_RECORD <= len(data):
        while state.number < header.count:
            values, state, is_sure = walk_values(data, header, state, _STEP, skipped)
            if values:
                yield values
            if not is_sure:
                break
        if state.number == header.count > 0 and state.at == len(data):
            return
    yield from _scanned(data, header, state, skipped, position)


def walk_values(  # noqa: C901, PLR0912, PLR0915 - one loop without calls is what makes it fast
    data: bytes, header: BatchHeader, state: ScanState, most: int, skipped: int = 0
) -> tuple[Values, ScanState, bool]:
    """Walk over `most` records from `state` on; return their values, the place behind, and True.

    False: the record at that place is in doubt. skipped: values of smaller offset deltas are left
    out.
    """
    at, number, last = state
    values: Values = []
    append = values.append
    size = len(data)
    stop = min(header.count, number + most)
    # Deltas are compared in zig-zag form, where those that are not negative are even.
    largest, last, least = 2 * header.last_offset_delta, 2 * last, 2 * skipped
    record = at
    try:
        while number < stop:
            record = at
            length = data[at]
            if length < 128:
                at += 1
            else:
                high = data[at + 1]
                if high > 127:
                    break
                length += (high << 7) - 128
                at += 2
            end = at + (length >> 1)
            at += 1  # no bit of the attributes is in use
            time = at
            while data[at] > 127:
                at += 1
            at += 1
            if at - time > _LONGEST_TIME:
                break
            delta = data[at]
            if delta < 128:
                at += 1
            else:
                high = data[at + 1]
                delta += (high << 7) - 128
                at += 2
                if high > 127:
                    high = data[at]
                    if high > 127:
                        break
                    delta += (high << 14) - 16384
                    at += 1
            key = data[at]
            at += 1
            if key != 1:
                if key > 127:
                    high = data[at]
                    if high > 127:
                        break
                    key += (high << 7) - 128
                    at += 1
                if key & 1:
                    break
                at += key >> 1
            value = data[at]
            at += 1
            if value > 127:
                high = data[at]
                if high > 127:
                    break
                value += (high << 7) - 128
                at += 1
            begin = at
            if value & 1:
                if value != 1:
                    break
            else:
                at += value >> 1
            behind = at + 1
            if data[at]:  # the number of headers
                behind = _behind_headers(data, at, end)
            if behind != end or end > size or not last < delta <= largest or (delta | length) & 1:
                break
            last = delta
            number += 1
            if delta >= least:
                append(None if value == 1 else data[begin:at])
            at = end
        else:
            return values, ScanState(at, number, last >> 1), True
    except (IndexError, ValueError):
        pass
    return values, ScanState(record, number, last >> 1), False


def _behind_headers(data: bytes, at: int, end: int) -> int:
    """Return the position after the headers at `at`. Raises IndexError, ValueError in doubt."""
    count, at = read_varint(data, at)
    if not 0 < count <= min((end - at) // 2, _MOST_HEADERS):
        raise ValueError(f"{count} headers")
    for _ in range(count):
        size, at = read_varint(data, at)
        if size < 0:
            raise ValueError("a header without a name")
        at += size
        size, at = read_varint(data, at)
        at += max(size, 0)
    return at


def _scanned(
    data: bytes, header: BatchHeader, state: ScanState, skipped: int, position: int
) -> Iterator[Values]:
    """Yield the values from a place on, by the scan that knows all records and all errors."""
    values: Values = []
    try:
        for scanned in scan_records(data, header, state=state):
            if scanned is not None and scanned[0] >= skipped:
                _, _, _, _, size, end, _ = scanned
                values.append(None if size < 0 else data[end - size : end])
            if len(values) >= _STEP:
                yield values
                values = []
    except KafkaError as error:
        if values:
            yield values
        raise corrupt(f"{error.message} of the batch at {position}") from error
    if values:
        yield values
