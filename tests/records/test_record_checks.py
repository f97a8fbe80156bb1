import pytest

from tests.records.kit import encode_batch
from trio_kafka.errors import ErrorCode, KafkaError
from trio_kafka.records.batch import Record, read_header
from trio_kafka.records.compression import Codec, decompress
from trio_kafka.records.header import HEADER_SIZE
from trio_kafka.records.record_checks import MOST_LISTED, BadRecordsError, walk_records
from trio_kafka.records.validate import Limits
from trio_kafka.scheduling.chunked_work import whole

NOW = 1_700_000_000_000


def walk(batch: bytes, *, need_keys: bool = False, limits: Limits | None = None) -> int:
    header = read_header(batch)
    plain = decompress(header.codec, batch[HEADER_SIZE:], 1 << 20)
    return whole(walk_records(plain, header, limits or Limits(), now_ms=NOW, need_keys=need_keys))


def refused(batch: bytes, *, need_keys: bool = False, limits: Limits | None = None) -> ErrorCode:
    with pytest.raises(KafkaError) as caught:
        walk(batch, need_keys=need_keys, limits=limits)
    return caught.value.code


def test_records_with_keys_are_accepted() -> None:
    walk(encode_batch([Record(key=b"k", timestamp=NOW)] * 3, codec=Codec.LZ4), need_keys=True)


def test_record_without_a_key_is_invalid_if_keys_are_required() -> None:
    batch = encode_batch([Record(key=b"k"), Record(value=b"v")])

    assert refused(batch, need_keys=True) is ErrorCode.INVALID_RECORD
    walk(batch)


def test_timestamp_of_every_record_of_a_batch_is_checked() -> None:
    batch = encode_batch(
        [Record(timestamp=NOW), Record(timestamp=NOW - 101), Record(timestamp=NOW)]
    )

    assert refused(batch, limits=Limits(before_max_ms=100)) is ErrorCode.INVALID_TIMESTAMP
    walk(batch, limits=Limits(before_max_ms=100, log_append_time=True))


def test_gap_in_the_record_offsets_is_an_invalid_record() -> None:
    assert refused(encode_batch([Record(offset=0), Record(offset=2)])) is ErrorCode.INVALID_RECORD


def test_malformed_records_are_corrupt() -> None:
    batch = bytearray(encode_batch([Record(value=b"v")]))
    batch[61] = 0x7E

    assert refused(bytes(batch)) is ErrorCode.CORRUPT_MESSAGE


def bad(batch: bytes, *, limits: Limits | None = None) -> tuple[ErrorCode, list[int]]:
    with pytest.raises(BadRecordsError) as caught:
        walk(batch, need_keys=True, limits=limits)
    return caught.value.code, [index for index, _ in caught.value.records]


def test_each_bad_record_is_reported_with_its_reason() -> None:
    old, none = Record(key=b"k", timestamp=NOW - 101), Record(timestamp=NOW - 101)
    good = Record(key=b"k", timestamp=NOW)
    limits = Limits(before_max_ms=100)

    assert bad(encode_batch([none, good, none])) == (ErrorCode.INVALID_RECORD, [0, 2])
    assert bad(encode_batch([good, old]), limits=limits) == (ErrorCode.INVALID_TIMESTAMP, [1])
    mixed = encode_batch([none, old, good])
    assert bad(mixed, limits=limits) == (ErrorCode.INVALID_TIMESTAMP, [0, 1])
    with pytest.raises(BadRecordsError, match=r"^INVALID_TIMESTAMP: record 0 .* it has no key"):
        walk(mixed, need_keys=True, limits=limits)


def test_list_of_bad_records_is_limited_and_later_corruption_is_still_found() -> None:
    batch = encode_batch([Record(timestamp=NOW)] * (2 * MOST_LISTED))

    assert bad(batch) == (ErrorCode.INVALID_RECORD, list(range(MOST_LISTED)))
    assert refused(batch[:-1], need_keys=True) is ErrorCode.CORRUPT_MESSAGE


def test_record_check_returns_the_largest_timestamp() -> None:
    times = (NOW, NOW + 7, NOW + 3)

    assert walk(encode_batch([Record(timestamp=time) for time in times])) == NOW + 7
    assert walk(encode_batch([Record()])) == -1


def test_append_time_set_by_the_producer_is_checked_as_the_record_time() -> None:
    now = encode_batch([Record(key=b"k", timestamp=NOW - 500)], append_time_ms=NOW)

    assert walk(now, limits=Limits(before_max_ms=100)) == NOW
    everywhere = Limits(log_append_time=True)
    assert bad(now, limits=everywhere) == (ErrorCode.INVALID_TIMESTAMP, [0])
    none = encode_batch([Record(key=b"k", timestamp=NOW)], append_time_ms=-1)
    assert bad(none) == (ErrorCode.INVALID_TIMESTAMP, [0])


def test_record_of_a_compressed_batch_larger_than_the_limit_is_corrupt() -> None:
    records = [Record(value=bytes(90), timestamp=NOW)] * 5  # 97 bytes after its length
    for codec, most, passes in (
        (Codec.LZ4, 98, True),
        (Codec.LZ4, 97, True),
        (Codec.LZ4, 96, False),
        (Codec.NONE, 96, True),
    ):
        batch, limits = encode_batch(records, codec=codec), Limits(max_record_bytes=most)
        if passes:
            walk(batch, limits=limits)
        else:
            assert refused(batch, limits=limits) is ErrorCode.CORRUPT_MESSAGE
