import struct
from pathlib import Path
from typing import Any

import pytest
from crc32c import crc32c
from hypothesis import given
from hypothesis import strategies as st

from tests.records.kit import encode_batch
from trio_kafka.errors import ErrorCode, KafkaError
from trio_kafka.records.batch import Record
from trio_kafka.records.compression import Codec
from trio_kafka.records.validate import DEFAULT_LIMITS, Limits, NoBatchError, check_produce

DATA = Path(__file__).parent / "data"
NOW = 1_700_000_000_000
RECORDS = [Record(timestamp=NOW, value=b"one"), Record(timestamp=NOW + 5, value=b"two")]


def check(records: bytes | None, **arguments: Any) -> int:
    view = None if records is None else memoryview(records)
    header, _ = check_produce(view, now_ms=NOW, **arguments)
    return header.size


def suspicious(records: bytes, limits: Limits = DEFAULT_LIMITS) -> bool:
    return check_produce(memoryview(records), limits, now_ms=NOW)[1]


def refused(records: bytes | None, **arguments: Any) -> ErrorCode:
    with pytest.raises(KafkaError) as caught:
        check(records, **arguments)
    return caught.value.code


def changed(at: int, form: str, value: int, batch: bytes = b"") -> bytes:
    """A batch with one field changed and the checksum right again."""
    damaged = bytearray(batch or encode_batch(RECORDS))
    struct.pack_into(form, damaged, at, value)
    struct.pack_into(">I", damaged, 17, crc32c(bytes(damaged[21:])))
    return bytes(damaged)


@pytest.mark.parametrize("codec", Codec)
def test_single_batch_is_accepted_in_each_codec(codec: Codec) -> None:
    batch = encode_batch(RECORDS, codec=codec)

    assert check(batch) == len(batch)


def test_batch_of_an_idempotent_producer_is_accepted() -> None:
    batch = encode_batch(
        RECORDS, producer_id=0, producer_epoch=0, base_sequence=0, transactional=True
    )

    assert check(batch) == len(batch)


@pytest.mark.parametrize("records", [None, b"", b"\x00" * 11, encode_batch(RECORDS)[:-1]])
def test_records_without_a_whole_batch_are_an_invalid_record(records: bytes | None) -> None:
    assert refused(records) is ErrorCode.INVALID_RECORD


def test_two_batches_are_an_invalid_record() -> None:
    assert refused(encode_batch(RECORDS) * 2) is ErrorCode.INVALID_RECORD


def test_a_second_batch_of_an_older_format_is_an_invalid_record() -> None:
    old = (DATA / "v1-none.bin").read_bytes()

    assert refused(encode_batch(RECORDS) + old) is ErrorCode.INVALID_RECORD


@pytest.mark.parametrize("rest", [b"\x00" * 11, encode_batch(RECORDS)[:-1]])
def test_truncated_second_batch_is_ignored(rest: bytes) -> None:
    batch = encode_batch(RECORDS)

    assert check(batch + rest) == len(batch)


def test_extra_bytes_after_the_batch_are_corrupt() -> None:
    assert refused(encode_batch(RECORDS) + bytes(12)) is ErrorCode.CORRUPT_MESSAGE


@pytest.mark.parametrize("name", ["v0-gzip.bin", "v1-none.bin"])
def test_old_message_formats_are_invalid_records(name: str) -> None:
    old = (DATA / name).read_bytes()

    assert refused(old) is ErrorCode.INVALID_RECORD
    assert refused(old[: struct.unpack_from(">i", old, 8)[0] + 12]) is ErrorCode.INVALID_RECORD


@pytest.mark.parametrize("magic", [3, 127, -1])
def test_unknown_magic_is_corrupt(magic: int) -> None:
    assert refused(changed(16, ">b", magic)) is ErrorCode.CORRUPT_MESSAGE


@pytest.mark.parametrize("length", [-1, 0, 13, 14, 48])
def test_length_below_the_minimum_is_corrupt(length: int) -> None:
    assert refused(changed(8, ">i", length)) is ErrorCode.CORRUPT_MESSAGE


def test_batch_shorter_than_its_header_is_corrupt() -> None:
    short = bytearray(encode_batch(RECORDS)[:40])
    struct.pack_into(">i", short, 8, 28)

    assert refused(bytes(short)) is ErrorCode.CORRUPT_MESSAGE


def test_a_changed_bit_is_corrupt() -> None:
    batch = bytearray(encode_batch(RECORDS))
    batch[-1] ^= 1

    assert refused(bytes(batch)) is ErrorCode.CORRUPT_MESSAGE


def test_batch_larger_than_max_message_bytes_is_refused() -> None:
    batch = encode_batch(RECORDS)

    assert check(batch, limits=Limits(max_message_bytes=len(batch))) == len(batch)
    limits = Limits(max_message_bytes=len(batch) - 1)
    assert refused(batch, limits=limits) is ErrorCode.MESSAGE_TOO_LARGE


@pytest.mark.parametrize("count", [0, -1, 1, 3])
def test_record_count_that_does_not_match_the_last_offset_delta_is_an_invalid_record(
    count: int,
) -> None:
    assert refused(changed(57, ">i", count)) is ErrorCode.INVALID_RECORD


@pytest.mark.parametrize("delta", [-1, 0, 2, (1 << 31) - 1])
def test_last_offset_delta_that_does_not_match_the_count_is_an_invalid_record(delta: int) -> None:
    assert refused(changed(23, ">i", delta)) is ErrorCode.INVALID_RECORD


def test_record_count_of_zero_is_an_invalid_record() -> None:
    assert refused(changed(57, ">i", 0, changed(23, ">i", -1))) is ErrorCode.INVALID_RECORD


def test_a_base_offset_other_than_zero_is_an_invalid_record() -> None:
    assert refused(changed(0, ">q", 1)) is ErrorCode.INVALID_RECORD


def test_control_batches_of_clients_are_invalid_records() -> None:
    assert refused(encode_batch(RECORDS, control=True)) is ErrorCode.INVALID_RECORD


def test_uncompressed_batch_with_more_records_than_bytes_is_an_invalid_record() -> None:
    many = changed(57, ">i", 100, changed(23, ">i", 99))

    assert refused(many) is ErrorCode.INVALID_RECORD
    assert check(
        changed(57, ">i", 100, changed(23, ">i", 99, encode_batch(RECORDS, codec=Codec.LZ4)))
    )


@pytest.mark.parametrize("attributes", [0x05, 0x07, 0x10, 0x20])
def test_attributes_reserved_for_brokers_are_refused_in_produced_batches(attributes: int) -> None:
    assert refused(changed(21, ">h", attributes)) is ErrorCode.INVALID_RECORD


@pytest.mark.parametrize("attributes", [0x40, 0x80, 0x5A00])
def test_undefined_attribute_bits_are_ignored(attributes: int) -> None:
    assert check(changed(21, ">h", attributes))


def test_producer_id_without_a_sequence_is_refused() -> None:
    batch = encode_batch(RECORDS, producer_id=9, producer_epoch=0, base_sequence=-1)

    assert refused(batch) is ErrorCode.INVALID_RECORD
    assert check(changed(43, ">q", -2, batch))


def test_zstd_is_refused_for_produce_versions_before_zstd() -> None:
    batch = encode_batch(RECORDS, codec=Codec.ZSTD)

    assert refused(batch, zstd=False) is ErrorCode.UNSUPPORTED_COMPRESSION_TYPE
    with pytest.raises(NoBatchError):
        check(batch, zstd=False)
    assert check(encode_batch(RECORDS, codec=Codec.LZ4), zstd=False)


@pytest.mark.parametrize(
    ("timestamp", "taken"),
    [(NOW - 100, True), (NOW - 101, False), (NOW + 50, True), (NOW + 51, False), (-1, True)],
)
def test_create_time_out_of_bounds_requires_a_check_of_the_records(
    timestamp: int, taken: bool
) -> None:
    limits = Limits(before_max_ms=100, after_max_ms=50)
    batch = encode_batch([Record(timestamp=timestamp)])

    assert suspicious(batch, limits) is not taken


@pytest.mark.parametrize("at", [27, 35])  # base and largest
def test_contradictory_create_times_require_a_check_of_the_records(at: int) -> None:
    batch = encode_batch(RECORDS)

    assert not suspicious(batch)
    assert suspicious(changed(at, ">q", -1, batch))
    assert suspicious(changed(at, ">q", NOW + 1 if at == 35 else NOW + 6, batch)) is (at == 27)


def test_base_timestamp_out_of_bounds_requires_a_check_of_the_records() -> None:
    batch = encode_batch([Record(timestamp=NOW - 101), Record(timestamp=NOW)])

    assert suspicious(batch, Limits(before_max_ms=100))


def test_create_time_is_not_checked_with_log_append_time() -> None:
    batch = encode_batch([Record(timestamp=1 << 50)])

    assert not suspicious(batch, Limits(log_append_time=True))


@pytest.mark.parametrize("append_time", [False, True])
def test_append_time_set_by_the_producer_requires_a_check_of_the_records(append_time: bool) -> None:
    batch = encode_batch(RECORDS, append_time_ms=NOW)

    assert suspicious(batch, Limits(log_append_time=append_time))


@given(st.binary(max_size=150))
def test_random_bytes_are_refused_with_an_error_code(junk: bytes) -> None:
    assert refused(junk) in (ErrorCode.INVALID_RECORD, ErrorCode.CORRUPT_MESSAGE)


@given(st.integers(8, 60), st.integers(0, 255))
def test_batch_with_any_changed_header_byte_is_refused_with_a_kafka_error(
    at: int, value: int
) -> None:
    batch = bytearray(encode_batch(RECORDS))
    batch[at] = value
    try:
        check(bytes(batch))
    except KafkaError:
        pass
    else:
        assert batch == encode_batch(RECORDS) or 12 <= at < 16
