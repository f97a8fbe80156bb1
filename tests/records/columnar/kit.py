"""Random logs, and what the row codec reads in them, in the form of decoded rows."""

from collections.abc import Iterator, Sequence
from typing import Any, Final

from hypothesis import strategies as st

from tests.records.kit import encode_batch
from trio_kafka.model import TopicPartition
from trio_kafka.records.batch import Record, iterate_headers, read_records
from trio_kafka.records.columnar import decode
from trio_kafka.records.compression import Codec

END: Final = (1 << 63) - 1
LATEST_MS: Final = END // 1000
Row = dict[str, Any]


def rows_of(batches: Any) -> Iterator[Row]:
    """Rows of decoded batches; timestamps as µs, which datetime cannot always hold."""
    for batch in batches:
        names = batch.schema.names
        columns = [
            column.view("int64") if name == "timestamp" else column
            for name, column in zip(names, batch.columns, strict=True)
        ]
        yield from (
            dict(zip(names, row, strict=True))
            for row in zip(*(column.to_pylist() for column in columns), strict=True)
        )


def decoded(log: bytes, **options: Any) -> list[Row]:
    return list(rows_of(decode(log, at=TopicPartition("t", 7), **options)))


def expected(
    log: bytes, start: int = 0, stop: int = END, skipped: Sequence[int] = ()
) -> Iterator[list[Row]]:
    """Rows of each batch, by the row codec. skipped: positions of batches to leave out."""
    for position, header in iterate_headers(log):
        if header.base_offset >= stop:
            return
        if header.is_control or position in skipped:
            continue
        yield [
            {
                "key": record.key,
                "value": record.value,
                "topic": "t",
                "partition": 7,
                "offset": record.offset,
                "timestamp": (
                    record.timestamp * 1000 if abs(record.timestamp) <= LATEST_MS else None
                ),
                "timestampType": int(header.is_log_append_time),
                "headers": [{"key": name, "value": value} for name, value in record.headers]
                or None,
            }
            for record in read_records(log, position, header)
            if start <= record.offset < stop
        ]


def flat(batches: Iterator[list[Row]]) -> list[Row]:
    return [row for batch in batches for row in batch]


CONTENTS: Final = st.none() | st.binary(max_size=20) | st.integers(60, 9000).map(bytes)
TIMES: Final = (
    st.integers(-1, 5_000)
    | st.integers(1_700_000_000_000, 1_700_000_100_000)
    | st.integers(-(1 << 61), 1 << 61)
)


@st.composite
def records(draw: st.DrawFn, headers: bool = True) -> Record:
    """One record, without an offset."""
    pairs = st.tuples(st.text(max_size=5), CONTENTS)
    return Record(
        timestamp=draw(TIMES),
        key=draw(CONTENTS),
        value=draw(CONTENTS),
        headers=draw(st.lists(pairs, max_size=3)) if headers else [],
    )


@st.composite
def logs(draw: st.DrawFn, codecs: Sequence[Codec] = tuple(Codec)) -> bytes:
    """Batches with gaps between and in them, as compaction leaves them."""
    base = draw(st.integers(0, 1 << 40))
    log = b""
    # Many batches take the lockstep, few a plain loop.
    for _ in range(draw(st.sampled_from([1, 2, 5, 40]))):
        result = draw(st.lists(records(), max_size=6)) * draw(st.sampled_from([1, 1, 1, 20]))
        offset = base
        batch = []
        for record in result:
            offset += draw(st.sampled_from([1, 1, 1, 2, 100]))
            batch.append(
                Record(
                    offset=offset,
                    timestamp=record.timestamp,
                    key=record.key,
                    value=record.value,
                    headers=record.headers,
                )
            )
        log += encode_batch(
            batch,
            base,
            codec=draw(st.sampled_from(codecs)),
            last_offset=offset + draw(st.sampled_from([0, 0, 3])),
            append_time_ms=draw(st.sampled_from([None, None, 1_600_000_000_000])),
        )
        base = offset + 5
    return log
