"""Windows of record batches to Arrow rows: the records view and the errors view.

A batch that is damaged behind a CRC that matches (one that was written so) is found by decoding
the batches of its window one by one.
"""

from collections.abc import Iterable, Iterator, Sequence

import pyarrow as pa

from trio_kafka.errors import KafkaError
from trio_kafka.records.columnar import decode
from trio_kafka.records.header import iterate_headers
from trio_kafka_spark.log.options import LogOptions
from trio_kafka_spark.log.plan import on_bad_of
from trio_kafka_spark.log.schemas import ERRORS
from trio_kafka_spark.log.splits import Piece
from trio_kafka_spark.log.windows import BadBytes, OnBad, Window, read_windows


def read_records(
    pieces: Iterable[Piece],
    columns: Sequence[str],
    options: LogOptions,
    on_bad: OnBad | None = None,
) -> Iterator[pa.RecordBatch]:
    """Yield the records of some pieces, with these columns in this order.

    on_bad: what to do with damage; None: what the option `mode` says. Raises CorruptLogError,
    SourceError, OSError.
    """
    on_bad = on_bad or on_bad_of(options)
    for piece in pieces:
        windows = read_windows(
            piece,
            options.window_bytes,
            on_bad,
            fail_on_data_loss=options.fail_on_data_loss,
        )
        for window in windows:
            yield from _decoded(window, columns, on_bad)


def _decoded(window: Window, columns: Sequence[str], on_bad: OnBad) -> Iterator[pa.RecordBatch]:
    done = 0
    try:
        for batch in _decode(window, window.data, columns, window.least, window.next_offset):
            done += batch.num_rows
            yield batch
    except KafkaError:
        yield from _one_by_one(window, columns, on_bad, done)


def _one_by_one(
    window: Window, columns: Sequence[str], on_bad: OnBad, done: int
) -> Iterator[pa.RecordBatch]:
    """Decode each batch by itself. done: rows of the window that were yielded already."""
    view = memoryview(window.data)
    for position, header in iterate_headers(view):
        data = view[position : position + header.size]
        try:
            for batch in _decode(window, data, columns, header.base_offset, header.next_offset):
                if done < batch.num_rows:
                    yield batch.slice(done)
                done = max(0, done - batch.num_rows)
        except KafkaError as error:
            on_bad(
                BadBytes(
                    at=window.piece.at,
                    path=window.piece.path,
                    position=window.position + position,
                    size=header.size,
                    reason=str(error),
                )
            )


def _decode(
    window: Window, data: bytes | memoryview, columns: Sequence[str], first: int, end: int
) -> Iterator[pa.RecordBatch]:
    """Decode batches with offsets [first, end) of a window."""
    piece = window.piece
    aborted = [(one[0], one[1]) for one in piece.aborted if one[1] < end and one[2] >= first]
    return decode(
        data,
        topic=piece.at.topic,
        partition=piece.at.partition,
        start=piece.start,
        stop=piece.stop,
        columns=columns,
        aborted=aborted,
        check_crcs=False,
    )


def read_errors(pieces: Iterable[Piece], options: LogOptions) -> Iterator[pa.RecordBatch]:
    """Yield a row for each place that mode=permissive skips: topic, partition, file, position."""
    for piece in pieces:
        found: list[BadBytes] = []
        for _ in read_records(
            [piece], ["offset", "key", "value", "headers"], options, found.append
        ):
            pass
        if found:
            rows = {
                "topic": [one.at.topic for one in found],
                "partition": [one.at.partition for one in found],
                "file": [one.path for one in found],
                "position": [one.position for one in found],
                "size": [one.size for one in found],
                "error": [one.reason for one in found],
            }
            yield pa.RecordBatch.from_pydict(rows, schema=ERRORS)
