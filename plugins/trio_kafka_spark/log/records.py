"""Windows of record batches to Arrow rows: the records view and the errors view.

The CRC of a batch is compared when its window is read. Records that cannot be decoded behind a CRC
that matches were written so: their batch is skipped, or refused, by itself.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Final

import pyarrow as pa

from trio_kafka.records.columnar import CorruptBatchError, decode
from trio_kafka.records.header import read_header
from trio_kafka_spark.log.options import LogOptions
from trio_kafka_spark.log.plan import on_bad_of
from trio_kafka_spark.log.schemas import ERRORS
from trio_kafka_spark.log.splits import Piece
from trio_kafka_spark.log.windows import BadBytes, OnBad, Window, read_windows

_PLACE: Final = re.compile(r"[;,]?(?: of| in| from)?(?: the)? batch at(?: position)? \d+")


def read_records(
    pieces: Iterable[Piece],
    columns: Sequence[str],
    options: LogOptions,
    *,
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
            yield from decoded(window, columns, on_bad)


def decoded(window: Window, columns: Sequence[str], on_bad: OnBad) -> Iterator[pa.RecordBatch]:
    """Yield the records of a window; batches that cannot be decoded go to `on_bad`."""
    view, begin, first = memoryview(window.data), 0, window.least
    while begin < len(view):
        try:
            yield from _decode(window, view[begin:], columns=columns, first=first)
        except CorruptBatchError as error:
            # The CRC matches, or the window would not have it: its header can be trusted.
            position = begin + error.position
            header = read_header(view, position)
            on_bad(
                BadBytes(
                    at=window.piece.at,
                    path=window.piece.path,
                    position=window.position + position,
                    size=header.size,
                    reason=_reason(error),
                )
            )
            begin, first = position + header.size, header.next_offset
        else:
            return


def _decode(
    window: Window, data: memoryview, *, columns: Sequence[str], first: int
) -> Iterator[pa.RecordBatch]:
    """Decode the batches of a window from offset `first` on."""
    piece = window.piece
    aborted = [
        transaction[:2]
        for transaction in piece.aborted
        if transaction[1] < window.next_offset and transaction[2] >= first
    ]
    return decode(
        data,
        at=piece.at,
        start=piece.start,
        stop=piece.stop,
        columns=columns,
        aborted=aborted,
        check_crcs=False,
    )


def _reason(error: CorruptBatchError) -> str:
    """Return the reason of an error, without its position, which counts from the window."""
    return _PLACE.sub("", error.message or error.code.name)


def read_errors(pieces: Iterable[Piece], options: LogOptions) -> Iterator[pa.RecordBatch]:
    """Yield a row for each place that mode=permissive skips: topic, partition, file, position."""
    for piece in pieces:
        bad: list[BadBytes] = []
        for _ in read_records([piece], ("offset",), options, on_bad=bad.append):
            pass
        if bad:
            rows = {
                "topic": [place.at.topic for place in bad],
                "partition": [place.at.partition for place in bad],
                "file": [place.path for place in bad],
                "position": [place.position for place in bad],
                "size": [place.size for place in bad],
                "error": [place.reason for place in bad],
            }
            yield pa.RecordBatch.from_pydict(rows, schema=ERRORS)
