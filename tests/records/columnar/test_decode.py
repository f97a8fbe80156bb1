import mmap
import struct
import tempfile
from collections.abc import Iterable
from importlib import import_module
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from aiokafka.record.memory_records import MemoryRecords
from crc32c import crc32c
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.records.columnar.kit import END, Row, decoded, expected, flat, logs, rows_of
from tests.records.kit import encode_batch, encode_marker
from trio_kafka.errors import ErrorCode, KafkaError
from trio_kafka.model import TopicPartition
from trio_kafka.records.batch import HEADER_SIZE, Record
from trio_kafka.records.columnar import COLUMNS, CorruptBatchError, arrow_schema, decode
from trio_kafka.records.compression import Codec
from trio_kafka.records.control import Marker
from trio_kafka.records.varint import encode_varint

DATA = Path(__file__).parents[1] / "data"
RECORDED = sorted([*DATA.glob("*.log"), *DATA.glob("v2-*.bin"), *DATA.glob("*.checkpoint")])

SAMPLE = [
    Record(timestamp=1000, key=b"k", value=b"value", headers=[("h", b"1"), ("", None)]),
    Record(timestamp=990, key=None, value=b"", headers=[("two", b"")]),
    Record(timestamp=1_000_000, key=b"", value=None),
]


def sealed(batch: bytearray) -> bytes:
    """The batch with the length and the checksum that belong to its content."""
    struct.pack_into(">i", batch, 8, len(batch) - 12)
    struct.pack_into(">I", batch, 17, crc32c(memoryview(batch)[21:]))
    return bytes(batch)


def with_records(data: bytes, count: int, last_delta: int = 10) -> bytes:
    """A batch whose records are `data`."""
    batch = bytearray(encode_batch([Record()])[:HEADER_SIZE] + data)
    struct.pack_into(">i", batch, 23, last_delta)
    struct.pack_into(">i", batch, 57, count)
    return sealed(batch)


def record(
    offset: bytes = b"\0", rest: bytes = b"\1\1\0", length: bytes | None = None, time: bytes = b"\0"
) -> bytes:
    """One record, byte by byte."""
    body = b"\0" + time + offset + rest
    return (encode_varint(len(body)) if length is None else length) + body


def error_of(log: bytes, **options: Any) -> CorruptBatchError:
    with pytest.raises(CorruptBatchError) as raised:
        decoded(log, **options)
    return raised.value


@pytest.mark.slow
@settings(deadline=None, max_examples=25)
@given(logs(), st.data())
def test_columnar_decode_returns_the_same_rows_as_the_row_codec(
    log: bytes, data: st.DataObject
) -> None:
    every = flat(expected(log))
    offsets = [row["offset"] for row in every] or [0]
    around = st.sampled_from(offsets).flatmap(lambda at: st.integers(at - 1, at + 1))
    start, stop = max(0, data.draw(around)), data.draw(around)
    rows = data.draw(st.sampled_from([1, 3, 50, 20_000]))

    assert decoded(log) == every
    assert decoded(log, rows=rows, start=start, stop=stop) == [
        row for row in every if start <= row["offset"] < stop
    ]


@pytest.mark.slow
@settings(deadline=None, max_examples=15)
@given(logs(codecs=[Codec.NONE, Codec.GZIP, Codec.LZ4, Codec.ZSTD]))  # it reads no empty snappy
def test_columnar_decode_returns_the_same_rows_as_aiokafka(log: bytes) -> None:
    batches = MemoryRecords(log)
    result: list[Row] = []
    while batches.has_next():
        result += (
            {
                "key": message.key,
                "value": message.value,
                "offset": message.offset,
                "headers": [{"key": name, "value": value} for name, value in message.headers]
                or None,
            }
            for message in batches.next_batch()
        )

    assert decoded(log, columns=["key", "value", "offset", "headers"]) == result


@pytest.mark.slow
@pytest.mark.parametrize("codec", [Codec.NONE, Codec.ZSTD])
def test_decoded_rows_stay_unchanged_when_window_memory_is_reused(codec: Codec) -> None:
    batches = [
        encode_batch([Record(value=bytes([n]) * 1000)] * 1000, n * 1000, codec=codec)
        for n in range(20)
    ]

    result = list(decode(b"".join(batches), at=TopicPartition("t", 7), columns=["value"]))

    values = [value for batch in result for value in batch.column("value").to_pylist()]
    assert values == [bytes([n]) * 1000 for n in range(20) for _ in range(1000)]


@pytest.mark.parametrize("file", RECORDED, ids=[file.name for file in RECORDED])
def test_log_written_by_kafka_is_decoded_as_by_the_row_codec(file: Path) -> None:
    log = file.read_bytes()

    assert decoded(log) == flat(expected(log))


@pytest.mark.parametrize("name", ["v0-gzip.bin", "v1-none.bin"])
def test_old_message_format_raises_unsupported_with_its_magic(name: str) -> None:
    error = error_of((DATA / name).read_bytes())

    assert error.code is ErrorCode.UNSUPPORTED_FOR_MESSAGE_FORMAT
    assert "magic" in str(error)


@pytest.mark.slow
@settings(deadline=None, max_examples=40)
@given(st.permutations(COLUMNS), st.integers(0, len(COLUMNS)))
def test_decoded_columns_have_the_requested_order(names: list[str], count: int) -> None:
    names = names[:count]
    log = encode_batch(SAMPLE) + encode_batch(SAMPLE, 3, append_time_ms=5, codec=Codec.LZ4)

    batches = list(decode(log, at=TopicPartition("t", 7), columns=names))

    assert all(batch.schema.equals(arrow_schema(names)) for batch in batches)
    assert [batch.num_rows for batch in batches] == [6]
    if names:
        assert list(rows_of(batches)) == [
            {name: row[name] for name in names} for row in flat(expected(log))
        ]


def test_decoded_batches_have_about_the_requested_number_of_rows() -> None:
    log = b"".join(encode_batch(SAMPLE, base) for base in range(0, 300, 3))

    counts = [batch.num_rows for batch in decode(log, at=TopicPartition("t", 7), rows=50)]

    assert counts == [51, 51, 51, 51, 51, 45]
    large_batch = encode_batch([Record()] * 120)
    assert [len(batch) for batch in decode(large_batch, at=TopicPartition("t", 7), rows=50)] == [
        60,
        60,
    ]


def test_long_topic_name_and_largest_partition_number_are_decoded() -> None:
    (batch,) = decode(encode_batch(SAMPLE), at=TopicPartition("ü" * 200, 2**31 - 1), rows=1 << 40)

    assert batch.column("topic").to_pylist() == ["ü" * 200] * 3
    assert batch.column("partition").to_pylist() == [2**31 - 1] * 3


@pytest.mark.parametrize("columns", [["keys"], ["key", "key"]])
def test_unknown_or_invalid_column_list_is_refused(columns: list[str]) -> None:
    with pytest.raises(ValueError, match="column"):
        decode(b"", at=TopicPartition("t", 0), columns=columns)


def test_zero_rows_per_batch_is_refused() -> None:
    with pytest.raises(ValueError, match="0 rows"):
        decode(b"", at=TopicPartition("t", 0), rows=0)


def test_decode_accepts_every_kind_of_buffer() -> None:
    log = encode_batch(SAMPLE)
    every = flat(expected(log))
    with tempfile.TemporaryFile() as file:
        file.write(log)
        file.flush()
        mapped = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)

        buffers: list[Any] = [bytearray(log), memoryview(log), pa.py_buffer(log), mapped]
        assert [decoded(buffer) for buffer in buffers] == [every] * 4
        mapped.close()  # nothing holds on to it


@pytest.mark.slow
def test_last_batch_that_is_truncated_is_left_out() -> None:
    whole = encode_batch(SAMPLE)
    log = whole + encode_batch(SAMPLE, 3)

    for size in range(len(whole), len(log)):
        assert decoded(log[:size]) == flat(expected(whole))


@pytest.mark.slow
@pytest.mark.parametrize("codec", Codec)
def test_flipped_byte_gives_corruption_or_the_result_of_the_row_codec(codec: Codec) -> None:
    first = encode_batch(SAMPLE, 10)
    log = bytearray(first + encode_batch(SAMPLE, 20, codec=codec))

    for position in range(len(first), len(log)):
        for bits in (0x01, 0x80, 0xFF):
            log[position] ^= bits
            assert_like_row_codec(bytes(log))
            log[position] ^= bits


@pytest.mark.slow
@settings(deadline=None, max_examples=200)
@given(st.binary(max_size=40), st.integers(-1, 6), st.integers(-1, 6))
def test_random_record_bytes_give_corruption_or_the_result_of_the_row_codec(
    data: bytes, count: int, last_delta: int
) -> None:
    assert_like_row_codec(with_records(data, count, last_delta))


@pytest.mark.slow
@settings(deadline=None, max_examples=100)
@given(st.data())
def test_nearly_valid_records_give_corruption_or_the_result_of_the_row_codec(
    data: st.DataObject,
) -> None:
    content = bytearray()
    for number in range(count := data.draw(st.integers(1, 40))):
        content += record(bytes([2 * number]), data.draw(st.sampled_from([
            b"\1\1\0", b"\2a\0\0", b"\1\4ab\2\0\1", b"\1\1\4\2a\2b\2c\1",
        ])))  # fmt: skip
    place = data.draw(st.integers(0, len(content) - 1))
    content[place] = data.draw(st.integers(0, 255))
    batch = with_records(bytes(content), count, 100)

    assert_like_row_codec(batch)
    assert_like_row_codec(batch * 40)


def assert_like_row_codec(log: bytes) -> None:
    """Hold the rows before the first lie, and its position; we may refuse more than that codec."""
    required, lie = read_until_error(expected(log))
    result, error = read_until_error(
        rows_of([batch]) for batch in decode(log, at=TopicPartition("t", 7), check_crcs=False)
    )

    if error is None:
        # Kafka takes header names that are no UTF-8, and so do we.
        assert (lie is None and result == required) or "utf-8" in str(lie)
        return
    assert isinstance(error, CorruptBatchError)
    assert f"{error.position}" in str(error)
    assert result == required[: len(result)]
    if lie is not None:
        assert (result, error.code) == (required, lie.code)


def read_until_error(batches: Iterable[Iterable[Row]]) -> tuple[list[Row], KafkaError | None]:
    rows: list[Row] = []
    try:
        for batch in batches:
            rows += batch
    except KafkaError as error:
        return rows, error
    return rows, None


def test_flipped_byte_covered_by_the_checksum_raises_corrupt_message() -> None:
    log = bytearray(encode_batch(SAMPLE))

    for position in range(17, len(log)):
        log[position] ^= 0x10
        assert error_of(log).code is ErrorCode.CORRUPT_MESSAGE
        log[position] ^= 0x10


def test_records_before_a_malformed_batch_are_yielded() -> None:
    good = encode_batch(SAMPLE)
    log = good * 3 + with_records(record() + b"\0", 1) + good

    decoding = decode(log, at=TopicPartition("t", 7))

    assert next(decoding).num_rows == 9
    with pytest.raises(CorruptBatchError, match="1 bytes after 1 records") as raised:
        next(decoding)
    assert raised.value.position == 3 * len(good)


@pytest.mark.parametrize("codec", [Codec.NONE, Codec.GZIP])
def test_records_before_a_batch_with_a_wrong_checksum_are_yielded(codec: Codec) -> None:
    good = encode_batch(SAMPLE, codec=codec)
    log = bytearray(good * 3)
    log[2 * len(good) + 60] ^= 1

    decoding = decode(bytes(log), at=TopicPartition("t", 7))

    assert next(decoding).num_rows == 6
    with pytest.raises(CorruptBatchError, match="crc"):
        next(decoding)


@pytest.mark.parametrize(
    ("batch", "message"),
    [
        (with_records(record(), 2), "2 records in 7 bytes"),
        (with_records(record(), -1), "-1 records"),
        (with_records(record(), 2**31 - 1), "2147483647 records in 7 bytes"),
        (with_records(record(rest=b"\1\1" + encode_varint(2**34 - 1)), 1), "17179869183 headers"),
        (with_records(record() * 2, 1), "bytes after 1 records"),
        (with_records(record(), 0), "bytes after 0 records"),
        (with_records(record() * 2, 2), "offset delta 0 after 0"),
        (with_records(record(b"\1"), 1), "offset delta -1 after -1"),
        (with_records(record(b"\x16"), 1), "offset delta 11"),
        (with_records(record(rest=b"\x20\1\0"), 1), "16 bytes in a record"),
        (with_records(record(rest=b"\1\1\1"), 1), "-1 headers"),
        (with_records(record(rest=b"\1\1\4\0\0"), 1), "2 headers in 2 bytes"),
        (with_records(record(rest=b"\1\1\2\1\0"), 1), "a header without a name"),
        (with_records(record(rest=b"\1\1\2\0\2"), 1), "1 bytes in a record"),
        (with_records(record(rest=b"\1\1\0\0"), 1), "ends 1 bytes before"),
        (with_records(record(length=b"\x0a"), 1), "record of 5 bytes"),
        (with_records(record(length=b"\x0b"), 1), "record of -6 bytes"),
        (with_records(record(length=b"\x0e"), 1), "record of 7 bytes"),
        (with_records(record(length=b"\xff" * 4 + b"\x0f"), 1), "record of"),
        (with_records(record(time=b"\xff" * 9 + b"\x02"), 1), "more than 64 bits"),
        (with_records(record(time=b"\xff" * 10), 1), "more than 10 bytes"),
        # Kafka's own reader takes five bytes, so no client can have written that.
        (with_records(record(length=b"\x8c" + b"\x80" * 4 + b"\0"), 1), "no client writes"),
    ],
)
@pytest.mark.parametrize("copies", [1, 40])
@pytest.mark.parametrize("columns", [COLUMNS, ["offset"], ["topic"]])
def test_malformed_records_are_reported_with_cause_and_position(
    batch: bytes, message: str, copies: int, columns: list[str]
) -> None:
    good = encode_batch(SAMPLE)

    error = error_of(good + batch * copies, columns=columns)

    assert error.code is ErrorCode.CORRUPT_MESSAGE
    assert message in str(error)
    assert error.position == len(good)


def test_offsets_beyond_64_bits_raise_corruption() -> None:
    batch = bytearray(encode_batch([Record(), Record()], END - 2))
    assert [row["offset"] for row in decoded(bytes(batch))] == [END - 2, END - 1]

    struct.pack_into(">i", batch, 23, 2**31 - 1)
    assert "no client writes" in str(error_of(sealed(batch)))


@pytest.mark.parametrize("codec", [codec for codec in Codec if codec])
def test_batch_that_decompresses_beyond_the_memory_limit_raises_corruption(
    codec: Codec, monkeypatch: pytest.MonkeyPatch
) -> None:
    module = import_module("trio_kafka.records.columnar.decode")
    bomb = encode_batch([Record(value=bytes(1 << 20))], codec=codec)

    assert len(decoded(bomb * 3)) == 3
    monkeypatch.setattr(module, "DECOMPRESSED_LIMIT", (1 << 20) + 100)
    assert len(decoded(bomb)) == 1
    monkeypatch.setattr(module, "DECOMPRESSED_LIMIT", 1 << 20)
    error = error_of(bomb)
    assert error.code is ErrorCode.CORRUPT_MESSAGE
    assert f"limit of {1 << 20} bytes" in str(error) or f"at most {1 << 20}" in str(error)


def test_batch_with_an_unknown_codec_raises_corruption() -> None:
    batch = bytearray(encode_batch(SAMPLE))
    batch[22] |= 6

    assert "codec 6" in str(error_of(sealed(batch)))


def test_compressed_batch_without_records_is_decoded() -> None:
    log = encode_batch([], 5, codec=Codec.LZ4, last_offset=9) + encode_batch(SAMPLE, 10)

    assert decoded(log) == flat(expected(log))


def test_timestamps_out_of_range_are_decoded_as_null() -> None:
    nanoseconds = 1_700_000_000_000_000_000
    times = (nanoseconds, -1, END, -END, 5)
    log = b"".join(encode_batch([Record(timestamp=time)], n) for n, time in enumerate(times))

    assert [row["timestamp"] for row in decoded(log)] == [None, -1000, None, None, 5000]


def test_timestamp_whose_delta_overflows_is_decoded_as_null() -> None:
    log = encode_batch([Record(timestamp=END - 10), Record(timestamp=END)])
    wrapping = bytearray(log)
    struct.pack_into(">q", wrapping, 27, END)

    assert [row["timestamp"] for row in decoded(sealed(wrapping))] == [None, None]


@pytest.mark.parametrize("copies", [1, 40])
def test_any_negative_length_of_key_or_value_is_decoded_as_null(copies: int) -> None:
    batch = with_records(record(rest=b"\3\x0d\4\2a\3\2b\1"), 1)

    rows = decoded(batch * copies)

    assert {(row["key"], row["value"]) for row in rows} == {(None, None)}
    assert rows[0]["headers"] == [{"key": "a", "value": None}, {"key": "b", "value": None}]


def test_header_names_that_are_not_utf_8_are_decoded_with_replacement_characters() -> None:
    log = with_records(record(rest=b"\1\1\4\4\xc3\xa9\1\2\xff\1"), 1)

    (row,) = decoded(log)

    assert row["headers"] == [{"key": "é", "value": None}, {"key": "\ufffd", "value": None}]


def test_batches_outside_of_the_offset_range_are_not_read() -> None:
    broken = with_records(b"", 5)
    log = broken + encode_batch(SAMPLE, 20) + encode_batch(SAMPLE, 30) + b"\1" * 100

    assert [row["offset"] for row in decoded(log, start=22, stop=25)] == [22]


def test_control_batches_have_their_checksum_verified_and_are_skipped() -> None:
    marker = encode_marker(
        Marker(committed=True, coordinator_epoch=1), producer_id=1, producer_epoch=0, timestamp=5
    )
    log = encode_batch(SAMPLE) + marker + encode_batch(SAMPLE, 4)

    assert decoded(log) == flat(expected(log))
    broken = bytearray(log)
    broken[len(encode_batch(SAMPLE)) + 70] ^= 1
    assert "crc" in str(error_of(bytes(broken)))


def test_malformed_control_record_stops_decoding_after_the_records_before_it() -> None:
    data = encode_batch(SAMPLE, producer_id=9, producer_epoch=0, base_sequence=0)
    lie = encode_batch(
        [Record(key=b"\0")], 3, producer_id=9, producer_epoch=0, transactional=True, control=True
    )

    decoding = decode(data + lie + data, at=TopicPartition("t", 7), aborted=[(9, 0)])

    assert next(decoding).num_rows == 3
    with pytest.raises(CorruptBatchError, match="control record") as raised:
        next(decoding)
    assert raised.value.position == len(data)
