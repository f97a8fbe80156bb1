"""Records: default serializer and the bound of their size."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from trio_kafka.clients.producer.record import as_bytes, record_bound
from trio_kafka.records.batch import BatchBody, Record

parts = st.none() | st.binary(max_size=200) | st.integers(7900, 8400).map(bytes)
headers = st.lists(st.tuples(st.text(max_size=20), st.none() | st.binary(max_size=50)), max_size=4)


@given(st.lists(st.tuples(parts, parts, headers, st.integers(0, 900_000)), min_size=1, max_size=8))
def test_bound_is_never_below_the_encoded_size_and_not_far_above(records):
    body = BatchBody()
    for key, value, named, later_ms in [(None, None, [], 0), *records]:
        before = sum(map(len, body.encoded))
        body.add_all([Record(-1, 1_700_000_000_000 + later_ms, key, value, named)])
        size = sum(map(len, body.encoded)) - before
        bound = record_bound(key, value, named)
        names = sum(3 * len(name) + 10 for name, _ in named)
        assert size <= bound <= size + 25 + names


def test_default_serializer_takes_bytes_and_copies_buffers():
    buffer = bytearray(b"a")
    copied = as_bytes(buffer)
    buffer[0] = 0

    assert copied == b"a"
    assert as_bytes(memoryview(b"b")) == b"b"
    assert as_bytes(None) is None
    with pytest.raises(TypeError, match="a str: want bytes, or pass a serializer"):
        as_bytes("text")
