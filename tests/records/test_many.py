"""Many records encoded at once, beside the plain form."""

from hypothesis import given
from hypothesis import strategies as st

from trio_kafka.records.batch import BatchBody, close_batch, iterate_headers, read_records
from trio_kafka.records.many import add_many

PART = st.none() | st.binary(max_size=200)
TIMES = st.integers(0, 1 << 40)


def plain(body: BatchBody, values, keys, timestamp: int) -> None:
    for at, value in enumerate(values):
        body.add_pair(None if keys is None else keys[at], value, timestamp)


def state(body: BatchBody) -> tuple[object, ...]:
    encoded = b"".join(body.encoded)
    return encoded, body.count, body.last_delta, body.base_timestamp, body.max_timestamp


@given(st.lists(st.tuples(TIMES, st.booleans(), st.lists(st.tuples(PART, PART))), max_size=4))
def test_records_are_encoded_as_one_by_one(blocks):
    many, single = BatchBody(), BatchBody()

    for timestamp, has_keys, pairs in blocks:
        values = [value for _, value in pairs]
        keys = [key for key, _ in pairs] if has_keys else None
        add_many(many, values, keys, timestamp)
        plain(single, values, keys, timestamp)

    assert state(many) == state(single)


def test_batch_of_more_records_than_offset_deltas_are_kept_is_the_same():
    many, single = BatchBody(), BatchBody()
    values = [b"%d" % number for number in range(70_000)]

    for at in range(0, len(values), 30_000):
        add_many(many, values[at : at + 30_000], None, 7)
    plain(single, values, None, 7)

    assert state(many) == state(single)


def test_single_records_can_be_added_after_many_at_once():
    body = BatchBody()
    add_many(body, [b"a", None], [b"k", None], 5)
    body.add_pair(b"x", b"b", 6)

    data, header = close_batch(body)

    ((at, header),) = iterate_headers(bytes(data))
    records = [(r.offset, r.timestamp, r.key, r.value) for r in read_records(data, at, header)]
    assert records == [(0, 5, b"k", b"a"), (1, 5, None, None), (2, 6, b"x", b"b")]
