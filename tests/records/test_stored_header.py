import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.records.kit import encode_batch
from tests.records.test_legacy import NAMES, SETS, messages
from trio_kafka.errors import KafkaError
from trio_kafka.records.batch import Record
from trio_kafka.records.header import HEADER_SIZE, read_header
from trio_kafka.records.stored_header import (
    check_stored_crc,
    is_legacy,
    iterate_stored_headers,
    message_fits,
    read_stored_header,
)

BATCH = encode_batch([Record(timestamp=5, value=b"v" * 30)], base_offset=500, leader_epoch=3)


@pytest.mark.parametrize("name", NAMES)
def test_headers_of_legacy_messages_have_the_fields_of_batch_headers(name: str) -> None:
    result = list(iterate_stored_headers(SETS[name]))

    expected = messages(SETS[name])
    assert [position for position, _ in result] == [position for position, _ in expected]
    for (position, header), (_, message) in zip(result, expected, strict=True):
        check_stored_crc(SETS[name], position, header)
        assert header.magic == message.magic
        assert header.size == message.size
        assert header.last_offset == message.offset
        assert header.max_timestamp == message.timestamp
        assert header.codec == message.codec
        assert header.is_log_append_time == message.is_log_append_time
        assert (header.leader_epoch, header.producer_id) == (-1, -1)


def test_batches_after_legacy_messages_are_read() -> None:
    content = SETS["v1-none.bin"] + BATCH

    (*_, (position, header)) = iterate_stored_headers(content)

    assert header == read_header(BATCH)
    check_stored_crc(content, position, header)


@pytest.mark.parametrize("name", ["v0-none.bin", "v1-none.bin"])
def test_truncated_legacy_message_is_left_out(name: str) -> None:
    whole = len(list(iterate_stored_headers(SETS[name])))

    for cut in range(1, 27):
        assert len(list(iterate_stored_headers(SETS[name][:-cut]))) == whole - 1


@pytest.mark.parametrize("name", NAMES)
def test_changed_byte_of_a_legacy_message_fails_its_checksum(name: str) -> None:
    content = SETS[name]
    (_, header), *_ = iterate_stored_headers(content)

    for at in range(17, header.size):
        damaged = bytearray(content)
        damaged[at] ^= 1
        with pytest.raises(KafkaError):
            check_stored_crc(damaged, 0, read_stored_header(damaged))


@pytest.mark.parametrize("magic", [0, 1])
@pytest.mark.parametrize("size", [0, 5, 30, 5000])
def test_batch_with_a_damaged_magic_is_not_read_as_a_legacy_message(magic: int, size: int) -> None:
    batch = bytearray(encode_batch([Record(timestamp=7, value=bytes(size))], base_offset=9))
    batch[16] = magic

    assert is_legacy(magic)
    assert not message_fits(batch, 0)
    with pytest.raises(KafkaError):
        read_stored_header(batch[:HEADER_SIZE])


@given(st.binary(max_size=200), st.sampled_from([0, 1, 2, 3]))
def test_random_bytes_give_stored_headers_or_a_kafka_error(content: bytes, magic: int) -> None:
    damaged = bytearray(content)
    if len(damaged) > 16:
        damaged[16] = magic
    try:
        for position, header in iterate_stored_headers(damaged):
            assert position + header.size <= len(damaged)
            check_stored_crc(damaged, position, header)
    except KafkaError:
        pass
