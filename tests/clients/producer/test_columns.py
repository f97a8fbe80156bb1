"""Keys and values of many records, and how many of them fit."""

from hypothesis import given
from hypothesis import strategies as st

from trio_kafka.clients.producer.columns import RecordColumns
from trio_kafka.clients.producer.record import record_bound, record_bounds

SIZES = st.none() | st.integers(0, 9000)


def columns(values, keys=None) -> RecordColumns:
    bounds = record_bounds(values, keys)
    return RecordColumns(values=values, keys=keys, bounds=bounds, timestamp_ms=1)


def content(size):
    return None if size is None else bytes(size)


@given(st.lists(st.tuples(SIZES, SIZES), max_size=5))
def test_bounds_of_many_records_are_those_of_each(sizes):
    keys, values = [content(key) for key, _ in sizes], [content(value) for _, value in sizes]

    assert record_bounds(values, keys) == [
        record_bound(key, value, ()) for key, value in zip(keys, values, strict=True)
    ]
    assert record_bounds(values) == [record_bound(None, value, ()) for value in values]


@given(st.lists(st.integers(0, 50), min_size=1), st.integers(1, 300))
def test_portions_hold_all_records_in_order_within_the_bound(sizes, most):
    whole = columns([bytes(size) for size in sizes], [b"%d" % at for at in range(len(sizes))])

    portions = list(whole.portions(most))

    assert [value for part in portions for value in part.values] == list(whole.values)
    assert [key for part in portions for key in part.keys or ()] == list(whole.keys or ())
    assert sum(part.ends[-1] for part in portions) == whole.ends[-1]
    assert all(part.ends[-1] <= most or len(part.values) == 1 for part in portions)


def test_picked_records_keep_their_sizes():
    whole = columns([b"a", bytes(100), b"ccc"], [b"k", None, b""])

    part = whole.picked([2, 0])

    assert (list(part.values), list(part.keys)) == ([b"ccc", b"a"], [b"", b"k"])
    assert list(whole.picked([1]).values) == [bytes(100)]
    assert part.ends == [whole.size(2, 3), whole.size(2, 3) + whole.size(0, 1)]
    assert part.fitting(0, whole.size(2, 3)) == 1
