import pytest

from trio_kafka.errors import ErrorCode, KafkaError
from trio_kafka.records.batch import Record, encode_batch, read_header
from trio_kafka.records.compression import Codec, decompress
from trio_kafka.records.header import HEADER_SIZE
from trio_kafka.records.record_checks import walk_records
from trio_kafka.records.validate import Limits
from trio_kafka.scheduling.chunked_work import whole

NOW = 1_700_000_000_000


def walk(batch: bytes, *, need_keys: bool = False, limits: Limits | None = None) -> None:
    header = read_header(batch)
    plain = decompress(header.codec, batch[HEADER_SIZE:], 1 << 20)
    whole(walk_records(plain, header, limits or Limits(), now_ms=NOW, need_keys=need_keys))


def refused(batch: bytes, *, need_keys: bool = False, limits: Limits | None = None) -> ErrorCode:
    with pytest.raises(KafkaError) as caught:
        walk(batch, need_keys=need_keys, limits=limits)
    return caught.value.code


def test_records_with_keys_pass() -> None:
    walk(encode_batch([Record(key=b"k", timestamp=NOW)] * 3, codec=Codec.LZ4), need_keys=True)


def test_a_record_without_a_key_is_invalid_where_one_is_needed() -> None:
    batch = encode_batch([Record(key=b"k"), Record(value=b"v")])

    assert refused(batch, need_keys=True) is ErrorCode.INVALID_RECORD
    walk(batch)


def test_a_time_in_the_middle_of_the_batch_is_bound() -> None:
    batch = encode_batch(
        [Record(timestamp=NOW), Record(timestamp=NOW - 101), Record(timestamp=NOW)]
    )

    assert refused(batch, limits=Limits(before_max_ms=100)) is ErrorCode.INVALID_TIMESTAMP
    walk(batch, limits=Limits(before_max_ms=100, log_append_time=True))


def test_a_gap_in_the_offsets_is_an_invalid_record() -> None:
    assert refused(encode_batch([Record(offset=0), Record(offset=2)])) is ErrorCode.INVALID_RECORD


def test_records_that_cannot_be_read_are_corrupt() -> None:
    batch = bytearray(encode_batch([Record(value=b"v")]))
    batch[61] = 0x7E

    assert refused(bytes(batch)) is ErrorCode.CORRUPT_MESSAGE
