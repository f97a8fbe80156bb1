import struct
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.records.kit import encode_batch
from trio_kafka.errors import ErrorCode, KafkaError
from trio_kafka.records.batch import Record, read_records
from trio_kafka.records.compression import Codec
from trio_kafka.records.header import (
    HEADER_SIZE,
    STAMP,
    check_crc,
    iterate_headers,
    read_header,
    stamp_append_time,
    stamp_create_time,
)

DATA = Path(__file__).parent / "data"
BATCH = encode_batch([Record(value=b"one", timestamp=5), Record(value=b"two", timestamp=7)])


def test_batch_headers_of_a_log_written_by_kafka_are_read() -> None:
    log = (DATA / "txn.log").read_bytes()

    result = list(iterate_headers(log))

    position, marker = result[0]
    assert (position, marker.base_offset, marker.size, marker.count) == (0, 5, 78, 1)
    assert (marker.producer_id, marker.producer_epoch, marker.base_sequence) == (5, 1, -1)
    assert (marker.is_control, marker.is_transactional) == (True, True)
    position, batch = result[1]
    assert (position, batch.base_offset, batch.last_offset, batch.next_offset) == (78, 6, 10, 11)
    assert (batch.size, batch.crc, batch.leader_epoch, batch.magic) == (246, 2484352059, 0, 2)
    assert batch.base_sequence == 0
    assert (batch.base_timestamp, batch.max_timestamp) == (1700000000005, 1700000000009)
    assert (batch.is_control, batch.is_transactional, batch.codec) == (False, True, Codec.NONE)
    assert result[-1][0] + result[-1][1].size == len(log)


@pytest.mark.parametrize("name", ["txn.log", "plain.log", "compacted.log", "metadata.checkpoint"])
def test_every_batch_written_by_kafka_matches_its_checksum(name: str) -> None:
    log = (DATA / name).read_bytes()

    for position, header in iterate_headers(log):
        check_crc(log, position, header)


@pytest.mark.parametrize("at", [21, 30, HEADER_SIZE, len(BATCH) - 1])
def test_one_changed_bit_makes_the_checksum_verification_fail(at: int) -> None:
    batch = bytearray(BATCH)
    batch[at] ^= 1

    with pytest.raises(KafkaError, match=r"^CORRUPT_MESSAGE: crc \w+ of the batch at position 0"):
        check_crc(batch, 0, read_header(batch))


def test_truncated_batch_fails_the_checksum_verification() -> None:
    with pytest.raises(KafkaError, match=f"batch of {len(BATCH)} bytes at position 0"):
        check_crc(BATCH[:-1], 0, read_header(BATCH))


def test_iteration_ends_before_a_truncated_batch() -> None:
    log = BATCH * 3

    for cut in range(1, len(BATCH) + 1):
        assert [at for at, _ in iterate_headers(log[:-cut])] == [0, len(BATCH)]


def test_iteration_begins_at_the_given_position() -> None:
    assert [at for at, _ in iterate_headers(b"rest" + BATCH * 2, 4)] == [4, 4 + len(BATCH)]


@pytest.mark.parametrize("name", ["v0-gzip.bin", "v1-none.bin"])
def test_old_message_formats_raise_unsupported_for_message_format(name: str) -> None:
    log = (DATA / name).read_bytes()

    with pytest.raises(KafkaError) as caught:
        list(iterate_headers(log))
    assert caught.value.code is ErrorCode.UNSUPPORTED_FOR_MESSAGE_FORMAT
    with pytest.raises(KafkaError) as caught:
        read_header(log[:30])
    assert caught.value.code is ErrorCode.UNSUPPORTED_FOR_MESSAGE_FORMAT


@pytest.mark.parametrize("length", [-1, 0, 48, -(1 << 31)])
def test_length_smaller_than_the_header_is_corrupt(length: int) -> None:
    batch = bytearray(BATCH)
    struct.pack_into(">i", batch, 8, length)

    with pytest.raises(KafkaError, match="CORRUPT_MESSAGE: length"):
        read_header(batch)


@pytest.mark.parametrize("position", [-1, 1, len(BATCH), 10_000])
def test_header_outside_of_the_buffer_is_corrupt(position: int) -> None:
    with pytest.raises(KafkaError, match="CORRUPT_MESSAGE"):
        read_header(BATCH[: HEADER_SIZE - 1 + max(position, 0)][: len(BATCH)], position)


def test_an_unknown_codec_is_corrupt() -> None:
    batch = bytearray(BATCH)
    batch[22] = 5

    with pytest.raises(KafkaError, match="CORRUPT_MESSAGE: codec 5"):
        _ = read_header(batch).codec


def test_stamping_offset_and_epoch_of_a_batch_keeps_its_checksum_valid() -> None:
    log = bytearray(BATCH * 2)

    length = read_header(log, len(BATCH)).length
    STAMP.pack_into(log, len(BATCH), 1 << 40, length, 7)

    header = read_header(log, len(BATCH))
    assert (header.base_offset, header.last_offset, header.leader_epoch) == (2**40, 2**40 + 1, 7)
    check_crc(log, len(BATCH), header)
    assert log[: len(BATCH)] == BATCH


def test_stamping_append_time_on_a_compressed_batch_gives_the_bytes_of_kafka() -> None:
    created = bytearray((DATA / "v2-gzip.bin").read_bytes())
    header = read_header(created)

    stamp_append_time(created, 0, header, now_ms=1700000009999)

    assert created[21:43] == (DATA / "v2-gzip-logappend.bin").read_bytes()[21:43]
    assert header == read_header(created)
    check_crc(created, 0, header)
    assert {record.timestamp for record in read_records(created, 0, header)} == {1700000009999}


def test_stamping_the_time_clears_undefined_attribute_bits() -> None:
    batch = bytearray(BATCH)
    batch[21:23] = b"\x5a\xd4"  # a delete horizon, a transaction and zstd
    header = read_header(batch)

    stamp_append_time(batch, 0, header, now_ms=9)
    assert (header.attributes, header.max_timestamp) == (0x5C, 9)
    assert header == read_header(batch)
    stamp_create_time(batch, 0, header, latest=7)
    assert (header.attributes, header.max_timestamp) == (0x54, 7)
    assert header == read_header(batch)
    check_crc(batch, 0, header)


def test_delete_horizon_is_stored_in_the_base_timestamp() -> None:
    batch = encode_batch([Record(timestamp=50, value=b"x")], delete_horizon_ms=99)

    header = read_header(batch)

    assert header.delete_horizon == 99
    assert [record.timestamp for record in read_records(batch, 0, header)] == [50]
    assert read_header(BATCH).delete_horizon is None


@given(st.binary(max_size=200), st.integers(-5, 210))
def test_random_bytes_give_a_header_or_a_kafka_error(junk: bytes, position: int) -> None:
    code = None
    try:
        read_header(junk, position)
    except KafkaError as error:
        code = error.code
    assert code in (
        None,
        ErrorCode.CORRUPT_MESSAGE,
        ErrorCode.UNSUPPORTED_FOR_MESSAGE_FORMAT,
    )
