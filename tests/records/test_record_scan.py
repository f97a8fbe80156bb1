"""Skimming sees what decoding sees, and refuses what decoding refuses."""

from hypothesis import given
from hypothesis import strategies as st

from tests.records.kit import encode_batch
from trio_kafka.errors import ErrorCode, KafkaError
from trio_kafka.records.batch import Record, decode_records
from trio_kafka.records.header import HEADER_SIZE, BatchHeader, read_header
from trio_kafka.records.record_scan import scan_records
from trio_kafka.records.varint import encode_varint

SOME = st.none() | st.binary(max_size=20)
RECORDS = st.lists(
    st.builds(
        Record,
        timestamp=st.integers(0, 1 << 40),
        key=SOME,
        value=SOME,
        headers=st.lists(st.tuples(st.text("ab", max_size=3), SOME), max_size=3),
    ),
    min_size=1,
    max_size=5,
)


def decoded(data: bytes, header: BatchHeader) -> list[tuple[int, int, bool]] | ErrorCode:
    try:
        return [
            (record.offset - header.base_offset, record.timestamp, record.key is not None)
            for record in decode_records(data, header)
        ]
    except KafkaError as error:
        return error.code


def skimmed(data: bytes | memoryview, header: BatchHeader) -> list | ErrorCode:
    try:
        return [
            (record[0], record[1], record[2] >= 0)
            for record in scan_records(data, header)
            if record
        ]
    except KafkaError as error:
        return error.code


@given(RECORDS, st.none() | st.just(77))
def test_skimming_records_gives_the_same_fields_as_decoding(
    records: list[Record], append_time: int | None
) -> None:
    batch = encode_batch(records, 40, append_time_ms=append_time)
    header, data = read_header(batch), batch[HEADER_SIZE:]

    assert skimmed(data, header) == decoded(data, header)
    assert skimmed(memoryview(data), header) == skimmed(data, header)


@given(RECORDS, st.data())
def test_skimming_refuses_the_records_that_decoding_refuses(
    records: list[Record], draw: st.DataObject
) -> None:
    batch = encode_batch(records)
    header, data = read_header(batch), bytearray(batch[HEADER_SIZE:])
    at = draw.draw(st.integers(0, len(data) - 1))
    data[at] = draw.draw(st.integers(0, 127))  # a name stays one of UTF-8
    data = data[: draw.draw(st.sampled_from([len(data), at]))]

    assert skimmed(bytes(data), header) == decoded(bytes(data), header)


def test_skimming_refuses_a_record_count_larger_than_the_number_of_bytes() -> None:
    batch = bytearray(encode_batch([Record(key=b"k")]))
    batch[57:61] = (1 << 30).to_bytes(4, "big")

    assert skimmed(bytes(batch[HEADER_SIZE:]), read_header(batch)) is ErrorCode.CORRUPT_MESSAGE


def test_skimming_a_record_with_many_headers_pauses_regularly() -> None:
    batch = encode_batch([Record(key=b"k", headers=[("", b"")] * 1000)])

    result = list(scan_records(batch[HEADER_SIZE:], read_header(batch)))

    assert result[:-1] == [None] * 15
    assert result[-1][:3] == (0, -1, 1)


def test_skimming_does_not_copy_record_values() -> None:
    size = 64 << 20
    body = b"\0\0\0" + encode_varint(-1) + encode_varint(size)
    data = encode_varint(len(body) + size + 1) + body + bytes(size + 1)
    header = read_header(encode_batch([Record()]))

    class Counted(bytes):
        """Notes the slices that are taken."""

        taken = 0

        def __getitem__(self, key):
            self.taken += isinstance(key, slice)
            return super().__getitem__(key)

    counted = Counted(data)

    assert [delta for delta, *_ in scan_records(counted, header)] == [0]
    assert not counted.taken
