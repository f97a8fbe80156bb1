"""Windows of record batches to one Arrow row a batch: the batches view. No record is decoded."""

from collections.abc import Iterable, Iterator, Sequence

import pyarrow as pa
import pyarrow.compute as pc

from trio_kafka.errors import KafkaError
from trio_kafka.records.batch import DECOMPRESSED_LIMIT
from trio_kafka.records.columnar import scan
from trio_kafka.records.compression import Codec, decompress
from trio_kafka.records.header import HEADER_SIZE, iterate_headers
from trio_kafka_spark.log.options import LogOptions
from trio_kafka_spark.log.plan import on_bad_of
from trio_kafka_spark.log.schemas import BATCHES, UNCOMPRESSED
from trio_kafka_spark.log.splits import Piece
from trio_kafka_spark.log.windows import Window, read_windows


def read_batches(
    pieces: Iterable[Piece], columns: Sequence[str], options: LogOptions
) -> Iterator[pa.RecordBatch]:
    """Yield the batch headers of some pieces, with these columns of BATCHES and UNCOMPRESSED.

    Batches that hold an offset of the range are shown whole. CRCs are not compared.
    Raises CorruptLogError, SourceError, OSError.
    """
    on_bad = on_bad_of(options)
    for piece in pieces:
        windows = read_windows(
            piece,
            options.window_bytes,
            on_bad,
            check_crcs=False,
            fail_on_data_loss=options.fail_on_data_loss,
        )
        for window in windows:
            batch = _rows(window, columns)
            if batch.num_rows:
                yield batch


def _rows(window: Window, columns: Sequence[str]) -> pa.RecordBatch:
    piece = window.piece
    scanned = scan(window.data)
    count = scanned.num_rows
    arrays_of = {name: scanned.column(name) for name in scanned.schema.names}
    arrays_of["position"] = pc.add(arrays_of["position"], window.position)
    arrays_of["topic"] = pa.repeat(piece.at.topic, count)
    arrays_of["partition"] = pa.repeat(pa.scalar(piece.at.partition, pa.int32()), count)
    arrays_of["file"] = pa.repeat(piece.path, count)
    if UNCOMPRESSED.name in columns:
        arrays_of[UNCOMPRESSED.name] = pa.array(list(_uncompressed(window.data)), UNCOMPRESSED.type)
    schema = pa.schema([BATCHES.append(UNCOMPRESSED).field(name) for name in columns])
    arrays = [arrays_of[field.name].cast(field.type) for field in schema]
    base = arrays_of["base_offset"]
    begins = pc.and_(pc.greater_equal(base, piece.shown_from), pc.less(base, piece.stop))
    inside = pc.and_(begins, pc.greater_equal(arrays_of["last_offset"], piece.start))
    return pa.RecordBatch.from_arrays(arrays, schema=schema).filter(inside)


def _uncompressed(data: bytes) -> Iterator[int | None]:
    """Yield the size that each batch has without compression; None: it cannot be decompressed."""
    view = memoryview(data)
    for position, header in iterate_headers(view):
        try:
            if header.codec is Codec.NONE:
                yield header.size
                continue
            body = view[position + HEADER_SIZE : position + header.size]
            yield HEADER_SIZE + len(decompress(header.codec, body, DECOMPRESSED_LIMIT))
        except KafkaError:
            yield None
