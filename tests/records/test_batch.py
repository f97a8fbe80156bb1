import struct
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.records.kit import encode_batch
from trio_kafka.errors import ErrorCode, KafkaError
from trio_kafka.records.batch import (
    HEADER_SIZE,
    BatchBody,
    ProducerFields,
    Record,
    batch_of_one,
    check_crc,
    close_batch,
    decode_in_steps,
    decode_records,
    iterate_headers,
    read_header,
    read_records,
)
from trio_kafka.records.compression import Codec

DATA = Path(__file__).parent / "data"
CODECS = [codec.name.lower() for codec in Codec]


def decode(batch: bytes) -> list[Record]:
    return list(read_records(batch, 0, read_header(batch)))


def with_records(data: bytes, count: int, last_delta: int = 10) -> bytes:
    """A batch whose records are `data`."""
    batch = bytearray(encode_batch([Record()])[:HEADER_SIZE] + data)
    struct.pack_into(">i", batch, 8, len(batch) - 12)
    struct.pack_into(">i", batch, 23, last_delta)
    struct.pack_into(">i", batch, 57, count)
    return bytes(batch)


@pytest.mark.parametrize("codec", CODECS)
def test_records_written_by_kafkas_builder_are_read_in_each_codec(codec: str) -> None:
    batch = (DATA / f"v2-{codec}.bin").read_bytes()

    assert read_header(batch).codec is Codec[codec.upper()]
    assert decode(batch) == [
        Record(
            offset=100 + n,
            timestamp=1700000000000 + n,
            key=None if n == 3 else b"key-%d" % n,
            value=None if n == 4 else b"value-%d-abcabcabc" % n,
        )
        for n in range(5)
    ]


@pytest.mark.parametrize("codec", CODECS)
def test_append_time_of_a_batch_is_the_timestamp_of_all_its_records(codec: str) -> None:
    batch = (DATA / f"v2-{codec}-logappend.bin").read_bytes()

    assert [record.timestamp for record in decode(batch)] == [1700000009999] * 5


def test_record_headers_are_read_including_null_values() -> None:
    log = (DATA / "txn.log").read_bytes()

    records = [record for at, h in iterate_headers(log) for record in read_records(log, at, h)]

    assert [record.offset for record in records] == list(range(5, 5 + len(records)))
    by_offset = {record.offset: record for record in records}
    assert [name for name, _ in by_offset[7].headers] == ["header-6", "nullheader"]
    assert by_offset[7].headers[1] == ("nullheader", None)
    assert by_offset[6].headers == ()


def test_offset_gaps_left_by_compaction_are_read() -> None:
    log = (DATA / "compacted.log").read_bytes()

    records = [record for at, h in iterate_headers(log) for record in read_records(log, at, h)]

    assert [record.offset for record in records] == [5, 12, 20, 21, 22, 23]
    assert [header.last_offset for _, header in iterate_headers(log)] == [7, 15, 23]


@pytest.mark.parametrize("name", ["txn.log", "plain.log", "compacted.log", "v2-none.bin"])
def test_records_read_from_a_kafka_log_are_encoded_to_the_same_bytes(name: str) -> None:
    log = (DATA / name).read_bytes()

    again = b"".join(
        encode_batch(
            list(read_records(log, at, header)),
            header.base_offset,
            header.leader_epoch,
            producer_id=header.producer_id,
            producer_epoch=header.producer_epoch,
            base_sequence=header.base_sequence,
            transactional=header.is_transactional,
            control=header.is_control,
            last_offset=header.last_offset,
        )
        for at, header in iterate_headers(log)
    )

    if (
        name != "compacted.log"
    ):  # a cleaned batch keeps the first timestamp of a record that is gone
        assert again == log
    assert [decode(again)] == [decode(log)]


def test_empty_batch_with_a_last_offset_is_encoded_and_read() -> None:
    batch = encode_batch([], 10, last_offset=14)

    header = read_header(batch)

    assert (header.count, header.last_offset, decode(batch)) == (0, 14, [])


def test_encoding_no_records_without_a_last_offset_is_refused() -> None:
    with pytest.raises(ValueError, match="without records"):
        encode_batch([])


@pytest.mark.parametrize("offsets", [[5, 5], [5, 4], [3]])
def test_encoding_offsets_that_do_not_ascend_is_refused(offsets: list[int]) -> None:
    with pytest.raises(ValueError, match="offset"):
        encode_batch([Record(offset=offset) for offset in offsets], 4)


@pytest.mark.parametrize(
    ("data", "count", "message"),
    [
        ("", 1, "1 records in 0 bytes"),
        ("0c000000010100", -1, "-1 records"),
        ("0c000000010100", 2, "2 records in 7 bytes"),
        ("0c000000010100" * 2, 1, "7 bytes after 1 records"),
        ("0e000000010100", 1, "record of 7 bytes, want at most 6"),
        ("0a000000010100", 1, "record of 5 bytes"),
        ("01000000010100", 1, "record of -1 bytes"),
        ("0e00000001010000", 1, "ends 1 bytes before"),
        ("0c000000060100", 1, "3 bytes in a record with 2 bytes left"),
        ("0c000000060100" + "0c000000010100", 2, "3 bytes in a record with 2 bytes left"),
        ("0c000000010102", 1, "1 headers in 0 bytes"),
        ("0c000000010101", 1, "-1 headers"),
        ("10000000010102" + "0101", 1, "a header without a name"),
        ("0c00001601010" + "0", 1, "offset delta 11 after -1, want at most 10"),
        ("0c00000101010" + "0", 1, "offset delta -1"),
        ("0c000000010100" * 2, 2, "offset delta 0 after 0"),
        ("0c00ffffffffff", 1, "the records end early"),
    ],
)
def test_malformed_records_raise_corrupt_message_with_the_batch_position(
    data: str, count: int, message: str
) -> None:
    batch = with_records(bytes.fromhex(data), count)

    with pytest.raises(KafkaError, match=message) as caught:
        decode(batch)
    assert caught.value.code is ErrorCode.CORRUPT_MESSAGE
    assert "batch at 0" in str(caught.value)


def test_any_negative_length_is_read_as_null() -> None:
    batch = with_records(bytes.fromhex("12000000" + "030d" + "02" + "0261" + "03"), 1)

    (read,) = decode(batch)

    assert (read.key, read.value, read.headers) == (None, None, (("a", None),))


def test_header_name_that_is_not_utf_8_is_read_as_in_java() -> None:
    batch = with_records(bytes.fromhex("12000000010102" + "02ff01"), 1)

    (read,) = decode(batch)

    assert read.headers == (("\ufffd", None),)


def test_records_before_a_malformed_record_are_read() -> None:
    batch = with_records(bytes.fromhex("0c000000010100" * 2), 2)

    records = read_records(batch, 0, read_header(batch))

    assert next(records).offset == 0
    with pytest.raises(KafkaError):
        next(records)


def test_truncated_batch_raises_corrupt_message() -> None:
    batch = encode_batch([Record(value=b"x")])

    with pytest.raises(KafkaError, match="CORRUPT_MESSAGE: batch of"):
        next(read_records(batch[:-1], 0, read_header(batch)))


def test_batch_that_decompresses_beyond_the_limit_raises_corrupt_message() -> None:
    batch = encode_batch([Record(value=bytes(1 << 20))], codec=Codec.ZSTD)

    with pytest.raises(KafkaError, match="CORRUPT_MESSAGE"):
        next(read_records(batch, 0, read_header(batch), limit=1 << 19))


NAMES = st.text(max_size=5)
CONTENTS = st.none() | st.binary(max_size=80)
RECORDS = st.builds(
    Record,
    timestamp=st.integers(0, 1 << 45),
    key=CONTENTS,
    value=CONTENTS,
    headers=st.lists(st.tuples(NAMES, CONTENTS), max_size=3).map(tuple),
)


@given(st.lists(RECORDS, min_size=1, max_size=8), st.sampled_from(Codec), st.integers(0, 1 << 50))
def test_encoded_records_are_decoded_unchanged(
    records: list[Record], codec: Codec, base_offset: int
) -> None:
    batch = encode_batch(records, base_offset, 3, codec=codec)

    for n, record in enumerate(records):
        record.offset = base_offset + n
    header = read_header(batch)
    assert decode(batch) == records
    check_crc(batch, 0, header)
    assert header.max_timestamp == max(record.timestamp for record in records)
    assert (header.count, header.leader_epoch, header.size) == (len(records), 3, len(batch))


@given(st.binary(max_size=60), st.integers(-2, 9))
def test_random_bytes_give_records_or_corrupt_message(junk: bytes, count: int) -> None:
    code = None
    try:
        decode(with_records(junk, count))
    except KafkaError as error:
        code = error.code
    assert code in (None, ErrorCode.CORRUPT_MESSAGE)


@given(st.binary(max_size=300), st.binary(max_size=300), st.integers(0, 1 << 42))
def test_batch_of_one_record_is_the_batch_that_is_filled_step_by_step(
    key: bytes, value: bytes, timestamp: int
) -> None:
    body = BatchBody()
    body.add_pair(key, value, timestamp)
    producer = ProducerFields(base_sequence=0)

    assert batch_of_one(key, value, timestamp, producer) == close_batch(body, producer=producer)


def test_decoding_in_steps_gives_the_same_records_and_leaves_out_many_headers() -> None:
    few = Record(0, 1, b"k", b"v", (("h", b"x"), ("i", None)))
    many = Record(1, 2, None, None, tuple(("h", b"") for _ in range(300)))
    data = encode_batch([few, many])
    header = read_header(data, 0)
    plain = data[HEADER_SIZE:]

    whole = list(decode_in_steps(plain, header, most_headers=300))
    cut = [step for step in decode_in_steps(plain, header, most_headers=299) if step is not None]

    assert [step[0] for step in whole if step is not None] == list(decode_records(plain, header))
    assert whole.count(None) == 4
    assert [(len(record.headers), count) for record, count in cut] == [(2, 2), (0, 300)]
