"""Records as files that every client's program writes from and reads into: one JSON array a line.

    to be written:  [partition, timestamp | null, key, value, headers]
    read:           [partition, offset, timestamp, key, value, headers]

Keys and values are base64 or null, headers pairs of a name and base64 or null, timestamps ms. A
record without a timestamp gets its client's clock.
"""

import base64
import json
from collections.abc import Iterable, Iterator
from pathlib import Path
from random import Random
from typing import IO, Any

from attrs import frozen

Headers = tuple[tuple[str, bytes | None], ...]
Row = list[Any]  # a line


@frozen(kw_only=True)
class Record:
    """A record that a client is to write."""

    partition: int = 0
    timestamp: int | None = None
    key: bytes | None = None
    value: bytes | None = None
    headers: Headers = ()


@frozen(kw_only=True)
class ReadRecord:
    """A record that a client has read; `record` always has a timestamp."""

    offset: int
    record: Record


def as_found(message: Any) -> ReadRecord:
    """A message as kafka-python and aiokafka, which comes of it, give it."""
    record = Record(
        partition=message.partition,
        timestamp=message.timestamp,
        key=message.key,
        value=message.value,
        headers=tuple(message.headers),
    )
    return ReadRecord(offset=message.offset, record=record)


def encoded(content: bytes | None) -> str | None:
    return None if content is None else base64.b64encode(content).decode()


def decoded(content: str | None) -> bytes | None:
    return None if content is None else base64.b64decode(content)


def _tail(record: Record) -> list[object]:
    headers = [[name, encoded(value)] for name, value in record.headers]
    return [record.timestamp, encoded(record.key), encoded(record.value), headers]


def _record(partition: int, line: Row) -> Record:
    timestamp, key, value, headers = line
    return Record(
        partition=partition,
        timestamp=timestamp,
        key=decoded(key),
        value=decoded(value),
        headers=tuple((name, decoded(content)) for name, content in headers),
    )


def save_records(path: Path, records: Iterable[Record]) -> None:
    with path.open("w") as file:
        file.writelines(json.dumps([r.partition, *_tail(r)]) + "\n" for r in records)


def load_records(path: Path) -> Iterator[Record]:
    for partition, *rest in rows(path):
        yield _record(partition, rest)


def save_found(path: Path, entries: Iterable[ReadRecord]) -> int:
    """The number of records that were saved."""
    with path.open("w") as file:
        return write_found(file, entries)


def write_found(file: IO[str], entries: Iterable[ReadRecord]) -> int:
    """The number of records that were written; they stay, should the program be killed."""
    count = 0
    for each in entries:
        row = [each.record.partition, each.offset, *_tail(each.record)]
        file.write(json.dumps(row) + "\n")
        count += 1
    file.flush()
    return count


def load_found(path: Path) -> Iterator[ReadRecord]:
    for partition, offset, *rest in rows(path):
        yield ReadRecord(offset=offset, record=_record(partition, rest))


def many(count: int, partition: int = 0) -> Iterator[Record]:
    """Each has another key and value, a few are empty; text that compresses, in short lines."""
    random = Random(count)
    for n in range(count):
        value = b"" if n % 1009 == 1008 else b"%d " % n + b"=" * random.randrange(200)
        yield Record(partition=partition, key=b"key-%d" % n, value=value)


def compare(
    written: Path, read: Path, since_ms: int, until_ms: int, only: set[int] | None = None
) -> None:
    """AssertionError unless a topic that was empty has what was written, in order, and no more.

    A record that was written without a timestamp has one of since_ms to until_ms, both included.
    only: the partitions that were read, if it was not all of them.
    """
    required = partitions(written) if only is None else only
    expected = {partition: rows_of(written, partition) for partition in required}
    for partition, *result in rows(read):
        row = next(expected[partition], None)
        assert row is not None, f"partition {partition}: more than was written: {result}"
        if row[1] is None:
            row[1], now = result[1], result[1]
            assert since_ms <= now <= until_ms, f"{result}: {since_ms=} {now=} {until_ms=}"
        assert result == row, f"partition {partition}: found {result}, written {row}"
    unread = [row for records in expected.values() for row in records]
    assert not unread, f"{len(unread)} records were never read, from {unread[0]}"


def partitions(file: Path) -> set[int]:
    return {row[0] for row in rows(file)}


def rows_of(file: Path, partition: int) -> Iterator[Row]:
    """Offset and the rest of each record of one partition that is to be written."""
    mine = (row for row in rows(file) if row[0] == partition)
    return ([offset, *row[1:]] for offset, row in enumerate(mine))


def rows(file: Path) -> Iterator[Row]:
    with file.open() as lines:
        yield from map(json.loads, lines)
