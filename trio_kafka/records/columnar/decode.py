"""Decoder from record batches to Arrow record batches.

Batches pass through windows (`windows`). In each, all records are located at once (`locate`),
parsed and checked as vectors (`parse`) and laid out as columns (`columns`). Records before a
malformed batch are yielded before its error is raised.
"""

from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Final

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from trio_kafka.attributes import frozen
from trio_kafka.errors import KafkaError
from trio_kafka.model import TopicPartition
from trio_kafka.records.batch import DECOMPRESSED_LIMIT, read_records
from trio_kafka.records.columnar.aborted import find_aborted
from trio_kafka.records.columnar.arrays import as_arrow, one_text
from trio_kafka.records.columnar.columns import make_columns
from trio_kafka.records.columnar.errors import (
    CorruptBatchError,
    MalformedRecordsError,
    corrupt_batch,
)
from trio_kafka.records.columnar.locate import locate_records
from trio_kafka.records.columnar.schema import COLUMNS, arrow_schema
from trio_kafka.records.columnar.varints import Longs
from trio_kafka.records.columnar.walk import END, as_bytes, gather_headers, walk
from trio_kafka.records.columnar.windows import Source, Window
from trio_kafka.records.header import corrupt, read_header
from trio_kafka.world.protocols import Buffer

ROWS: Final = 20_000
_LARGEST_TEXT: Final = 1 << 30  # bytes of a string column, half of Arrow's bound


def decode(
    buffer: Buffer,
    *,
    at: TopicPartition,
    start: int = 0,
    stop: int = END,
    columns: Sequence[str] = COLUMNS,
    aborted: Sequence[tuple[int, int]] = (),
    check_crcs: bool = True,
    rows: int = ROWS,
) -> Iterator[pa.RecordBatch]:
    """Decode the records of `buffer` with `start` <= offset < `stop`, about `rows` at a time.

    buffer: whole record batches in the order of their offsets; a last partial one is ignored. It
        must not change before the iterator ends. Control batches are skipped.
    columns: some of COLUMNS, in the order of the resulting schema (`arrow_schema`).
    aborted: producer id and first offset of aborted transactions, as in a Fetch response with
        read_committed; their records are skipped.
    check_crcs: compare the checksum of each batch that overlaps the range.
    The structure of each batch is checked, whatever the columns.
    Raises ValueError for invalid columns or rows, CorruptBatchError for a malformed batch, after
    the records before it.
    """
    schema = arrow_schema(columns)
    if rows < 1:
        raise ValueError(f"{rows} rows at a time, want at least 1")
    rows = min(rows, _LARGEST_TEXT // max(1, len(at.topic.encode())))
    decoder = _Decoder(
        data=as_bytes(buffer),
        schema=schema,
        constants={
            "topic": one_text(at.topic),
            "partition": as_arrow(np.array([at.partition], np.int32), pa.int32()),
        },
        start=start,
        stop=stop,
        rows=rows,
    )
    return decoder.run(aborted, check_crcs)


@frozen(kw_only=True)
class _Decoder:
    """State that is constant while a buffer is decoded."""

    data: memoryview
    schema: pa.Schema
    constants: dict[str, pa.Array]  # columns of one value, as long as needed so far
    start: int
    stop: int
    rows: int

    def run(self, aborted: Sequence[tuple[int, int]], check_crcs: bool) -> Iterator[pa.RecordBatch]:
        walked = walk(self.data, self.stop)
        error = walked.error
        headers = gather_headers(self.data, walked.positions)
        base = headers["base_offset"]
        last = base + headers["last_offset_delta"]
        mask = (last >= self.start) | (last < base)  # detects an overflow of the sum, too
        if aborted:
            skipped, lie = find_aborted(self.data, walked.positions, headers, aborted=aborted)
            mask &= ~skipped
            if lie is not None:
                error = lie
                mask[walked.positions.index(lie.position) :] = False
        source = Source(
            data=self.data,
            positions=walked.positions,
            headers=headers,
            check_crcs=check_crcs,
            limit=DECOMPRESSED_LIMIT,
        )
        for window in source.windows(mask):
            yield from self.decode_window(window, headers, walked.positions)
        if error is not None:
            raise error

    def decode_window(
        self, window: Window, headers: NDArray[np.void], positions: Sequence[int]
    ) -> Iterator[pa.RecordBatch]:
        """Decode a window in pieces of whole batches with about `rows` records."""
        picked = headers[window.batches]
        counts = picked["count"].astype(np.int64)
        starts = locate_records(window.data, window.begin, window.end, counts=counts)
        ends = np.cumsum(counts)
        first, done = 0, 0
        while first < len(counts):
            last = int(np.searchsorted(ends, done + self.rows)) + 1
            last = min(last, len(counts))
            until = int(ends[last - 1])
            piece = window.part(first, last)
            try:
                columns = self.make_columns(piece, picked[first:last], starts[done:until])
            except (MalformedRecordsError, IndexError):
                good, error = self.find_malformed(
                    piece, picked[first:last], starts[done:until], positions=positions
                )
                yield from self.cut(good)
                raise error from None
            yield from self.cut(columns)
            first, done = last, until

    def find_malformed(
        self,
        window: Window,
        headers: NDArray[np.void],
        starts: Longs,
        *,
        positions: Sequence[int],
    ) -> tuple[dict[str, pa.Array], CorruptBatchError]:
        """Return columns of the batches before the first malformed one, and its error."""
        ends = np.cumsum(headers["count"].astype(np.int64)).tolist()
        begins = [0, *ends[:-1]]
        for batch, (begin, end) in enumerate(zip(begins, ends, strict=True)):
            part = slice(batch, batch + 1)
            try:
                self.make_columns(window.part(batch, batch + 1), headers[part], starts[begin:end])
            except (MalformedRecordsError, IndexError):
                break
        good: dict[str, pa.Array] = {}
        if batch:
            good = self.make_columns(window.part(0, batch), headers[:batch], starts[:begin])
        return good, self.explain(positions[int(window.batches[batch])])

    def explain(self, position: int) -> CorruptBatchError:
        """Return the error of the row codec for the malformed batch at `position`."""
        try:
            header = read_header(self.data, position)
            for _ in read_records(self.data, position, header, limit=DECOMPRESSED_LIMIT):
                pass
        except KafkaError as error:
            return corrupt_batch(error, position)
        return corrupt_batch(corrupt("a length or an offset that no client writes"), position)

    def make_columns(
        self, window: Window, headers: NDArray[np.void], starts: Longs
    ) -> dict[str, pa.Array]:
        return make_columns(
            window, headers, starts, names=self.schema.names, start=self.start, stop=self.stop
        )

    def cut(self, columns: dict[str, pa.Array]) -> Iterator[pa.RecordBatch]:
        """Cut record batches of one size, near to `rows` rows."""
        total = len(columns["offset"]) if columns else 0
        pieces = max(1, round(total / self.rows))
        bounds = [total * number // pieces for number in range(pieces + 1)]
        for begin, end in pairwise(bounds if total else ()):
            size = end - begin
            arrays = [
                self.repeat(name, size)
                if name in self.constants
                else columns[name].slice(begin, size)
                for name in self.schema.names
            ]
            if arrays:
                yield pa.RecordBatch.from_arrays(arrays, schema=self.schema)
            else:
                yield _rows_without_columns(size)

    def repeat(self, name: str, size: int) -> pa.Array:
        """Return a column of one value."""
        column = self.constants[name]
        if len(column) < size:
            column = self.constants[name] = pa.repeat(column[0], size)
        return column[:size]


def _rows_without_columns(size: int) -> pa.RecordBatch:
    rows = pa.Array.from_buffers(pa.struct([]), size, [None], children=[])
    return pa.RecordBatch.from_struct_array(rows)
