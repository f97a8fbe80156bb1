import hypothesis
from hypothesis import strategies as st

from tests.log.cleaner.kit import data_batch, header_of, seen
from trio_kafka.log.cleaner.rebuilding import emptied, horizon_after, rebuilt, shifted, wrapped
from trio_kafka.records.batch import ProducerFields, Record, decode_records
from trio_kafka.records.compression import Codec
from trio_kafka.records.header import (
    HEADER_SIZE,
    LOG_APPEND_TIME,
    TRANSACTIONAL,
    check_crc,
    read_header,
)
from trio_kafka.scheduling.chunked_work import whole

PRODUCER = ProducerFields(5, 1, 9)
TWO = [Record(key=b"a", timestamp=10), Record(key=b"b", value=b"1", timestamp=20)]


def test_an_emptied_batch_keeps_offsets_and_producer() -> None:
    batch = data_batch(
        7, TWO, codec=Codec.GZIP, producer=PRODUCER, attributes=TRANSACTIONAL | LOG_APPEND_TIME
    )

    header, result = emptied(header_of(batch))

    check_crc(result, 0, header)
    assert (len(result), read_header(result)) == (HEADER_SIZE, header)
    assert (header.base_offset, header.last_offset, header.leader_epoch) == (7, 8, 3)
    assert (header.producer_id, header.producer_epoch, header.base_sequence) == PRODUCER
    assert header.attributes == TRANSACTIONAL | LOG_APPEND_TIME
    assert (header.base_timestamp, header.max_timestamp, header.count) == (-1, 20, 0)


def test_rebuilt_batch_keeps_its_offsets_and_its_remaining_records() -> None:
    batch = data_batch(7, TWO, producer=PRODUCER)
    last = batch[HEADER_SIZE:][-len(batch[HEADER_SIZE:]) // 2 :]
    last = batch[HEADER_SIZE + 1 + batch[HEADER_SIZE] // 2 :]

    header, result = rebuilt(header_of(batch), last, count=1, max_timestamp=20)

    check_crc(result, 0, header)
    assert read_header(result) == header
    assert seen(result).records == seen(batch).records[1:]
    assert (header.base_offset, header.last_offset, header.base_timestamp) == (7, 8, 10)


@hypothesis.given(
    times=st.lists(st.integers(0, 1 << 50), min_size=1, max_size=600),
    horizon=st.integers(0, 1 << 50),
)
def test_records_keep_their_timestamps_when_a_delete_horizon_is_set(
    times: list[int], horizon: int
) -> None:
    records = [Record(key=b"k" * 70, timestamp=time, headers=[("h", b"1")]) for time in times]
    batch = data_batch(3, records)
    old = header_of(batch)

    block = whole(shifted(batch[HEADER_SIZE:], len(times), old, base_timestamp=horizon))
    header, result = rebuilt(
        old, block, count=len(times), max_timestamp=max(times), delete_horizon=horizon
    )

    assert header.delete_horizon == horizon
    assert seen(result).records == seen(batch).records


def test_records_of_a_batch_with_log_append_time_are_not_shifted() -> None:
    batch = data_batch(0, TWO, attributes=LOG_APPEND_TIME)

    assert (
        whole(shifted(batch[HEADER_SIZE:], 2, header_of(batch), base_timestamp=5))
        == batch[HEADER_SIZE:]
    )


def test_timestamps_that_exceed_64_bits_wrap_as_in_java() -> None:
    assert wrapped((1 << 63) + 5) == -(1 << 63) + 5
    records = [Record(key=b"a", timestamp=(1 << 63) - 1)]
    batch = data_batch(0, records)
    old = header_of(batch)

    block = whole(shifted(batch[HEADER_SIZE:], 1, old, base_timestamp=-5))

    (record,) = decode_records(block, old)
    assert wrapped(record.timestamp - old.base_timestamp - 5) == (1 << 63) - 1


def test_delete_horizon_does_not_exceed_63_bits() -> None:
    assert horizon_after(10, 5) == 15
    assert horizon_after(10, (1 << 63) - 1) == (1 << 63) - 1
