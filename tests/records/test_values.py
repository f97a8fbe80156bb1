"""Values exchanged in records: everything else of them stays, and hostile bytes are refused."""

from contextlib import suppress

from hypothesis import given
from hypothesis import strategies as st

from trio_kafka.errors import KafkaError
from trio_kafka.records.batch import Record, encode_batch, read_header, read_records
from trio_kafka.records.header import HEADER_SIZE
from trio_kafka.records.recompress import repacked
from trio_kafka.records.values import with_values
from trio_kafka.scheduling.chunked_work import whole

optional = st.none() | st.binary(max_size=200)
records = st.lists(
    st.builds(
        Record,
        timestamp=st.integers(0, 1 << 40),
        key=optional,
        value=optional,
        headers=st.lists(st.tuples(st.text(max_size=5), optional), max_size=3),
    ),
    min_size=1,
    max_size=80,
)


@given(records)
def test_replacing_record_values_changes_nothing_else(given_records: list[Record]) -> None:
    batch = memoryview(encode_batch(given_records, 7))
    header = read_header(batch)

    content = whole(
        with_values(bytes(batch[HEADER_SIZE:]), header.count, lambda value: value[::-1] + b"!")
    )

    packed, changed = repacked(batch, header, header.codec, content)
    for before, after in zip(
        read_records(batch, 0, header), read_records(packed, 0, changed), strict=True
    ):
        assert after.value == (None if before.value is None else before.value[::-1] + b"!")
        before.value = after.value = None
        assert before == after


@given(records)
def test_replacing_values_by_themselves_returns_the_same_object(
    given_records: list[Record],
) -> None:
    batch = encode_batch(given_records)
    plain = batch[HEADER_SIZE:]

    assert whole(with_values(plain, len(given_records), lambda value: value)) is plain


@given(st.binary(max_size=80), st.integers(1, 5))
def test_random_bytes_are_refused_or_returned_as_whole_records(data: bytes, count: int) -> None:
    with suppress(KafkaError):
        content = whole(with_values(data, count, lambda value: value))
        assert content is data


def test_replacing_values_of_a_long_batch_pauses_regularly() -> None:
    plain = encode_batch([Record(timestamp=1, value=b"x") for _ in range(320)])[HEADER_SIZE:]

    assert sum(1 for _ in with_values(plain, 320, lambda value: value)) == 20
