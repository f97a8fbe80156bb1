import numpy as np
import pyarrow as pa
import pytest

from trio_kafka.records.columnar.inputs import read_inputs

PAIRS = pa.list_(pa.struct([("key", pa.string()), ("value", pa.binary())]))


def batch(**columns: pa.Array) -> pa.RecordBatch:
    return pa.RecordBatch.from_pydict(columns)


@pytest.mark.parametrize(
    "kind",
    [pa.binary(), pa.large_binary(), pa.string(), pa.large_string(), pa.binary_view()],
)
def test_value_column_accepts_any_binary_or_string_type(kind: pa.DataType) -> None:
    inputs = read_inputs(batch(value=pa.array(["a", None, "", "bc"], pa.string()).cast(kind)), 5)

    assert inputs.values.to_pylist() == [b"a", None, b"", b"bc"]
    assert inputs.keys.to_pylist() == [None] * 4
    assert inputs.timestamps.tolist() == [5] * 4
    assert inputs.headers is inputs.header_counts is None


def test_columns_of_fixed_size_binary_and_dictionary_type_are_accepted() -> None:
    fixed = pa.array([b"ab", None], pa.binary(2))
    words = pa.array(["x", None]).dictionary_encode()

    inputs = read_inputs(batch(key=fixed, value=words), 5)

    assert inputs.keys.to_pylist() == [b"ab", None]
    assert inputs.values.to_pylist() == [b"x", None]


def test_columns_of_arrow_null_type_are_read_as_nulls() -> None:
    nothing = pa.nulls(2)

    inputs = read_inputs(batch(key=nothing, value=nothing, timestamp=nothing, headers=nothing), 5)

    assert inputs.keys.to_pylist() == inputs.values.to_pylist() == [None, None]
    assert inputs.timestamps.tolist() == [5, 5]
    assert inputs.headers is None


@pytest.mark.parametrize(
    ("unit", "raw", "ms"),
    [("s", 3, 3000), ("ms", 3, 3), ("us", 3999, 3), ("us", -1, -1), ("ns", 3_999_999, 3)],
)
def test_timestamps_are_converted_to_milliseconds_rounded_down(
    unit: str, raw: int, ms: int
) -> None:
    times = pa.array([raw, None], pa.timestamp(unit))

    inputs = read_inputs(batch(value=pa.array(["a", "b"]), timestamp=times), 77)

    assert inputs.timestamps.tolist() == [ms, 77]


def test_integer_timestamps_are_read_as_milliseconds() -> None:
    times = pa.array([5, None, -1])[1:]

    inputs = read_inputs(batch(value=pa.array(["a", "b"]), timestamp=times), 77)

    assert inputs.timestamps.tolist() == [77, -1]


@pytest.mark.parametrize("large", [False, True])
def test_headers_column_is_encoded_per_record(large: bool) -> None:
    rows = [[("gone", b"1")], [("k", b"v"), ("", None)], None, [], [("n", b"")]]
    headers = pa.array(
        [row and [{"key": key, "value": value} for key, value in row] for row in rows],
        pa.large_list(PAIRS.value_type) if large else PAIRS,
    )

    inputs = read_inputs(batch(value=pa.nulls(5), headers=headers).slice(1), 5)

    assert inputs.header_counts is not None
    assert inputs.header_counts.tolist() == [2, 0, 0, 1]
    assert inputs.headers is not None
    assert inputs.headers.to_pylist() == [b"\2k\2v\0\1", b"", b"", b"\2n\0"]
    part = inputs.part(2, 4)
    assert part.headers is not None
    assert part.headers.to_pylist() == [b"", b"\2n\0"]
    assert np.array_equal(part.timestamps, [5, 5])


def test_bytes_behind_a_null_list_of_headers_are_not_encoded() -> None:
    pairs = pa.array([{"key": "a", "value": b"1"}, {"key": "b", "value": b"2"}], PAIRS.value_type)
    offsets = pa.array([0, 1, 2], pa.int32())
    mask = pa.array([True, False])
    headers = pa.ListArray.from_arrays(offsets, pairs, mask=mask)

    inputs = read_inputs(batch(value=pa.nulls(2), headers=headers), 5)

    assert inputs.headers is not None
    assert inputs.headers.to_pylist() == [b"", b"\2b\0022"]


@pytest.mark.parametrize("pair", [None, {"key": None, "value": b"1"}])
def test_header_without_a_key_is_refused(pair: dict[str, bytes | None] | None) -> None:
    headers = pa.array([[pair]], PAIRS)

    with pytest.raises(ValueError, match="1 headers have no key"):
        read_inputs(batch(value=pa.nulls(1), headers=headers), 5)


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        ({"key": pa.array([b"1"])}, "no column 'value' among key"),
        ({"value": pa.array([1.5])}, "column 'value' of double, want binary or string"),
        ({"value": pa.array(["1"]), "key": pa.array([[1]])}, "column 'key' of list"),
        ({"value": pa.array(["1"]), "timestamp": pa.array([1.5])}, "'timestamp' of double"),
        ({"value": pa.array(["1"]), "headers": pa.array(["1"])}, "'headers' of string"),
        ({"value": pa.array(["1"]), "headers": pa.array([["1"]])}, "'headers' of list"),
        ({"value": pa.array(["1"]), "headers": pa.array([[{"key": "1"}]])}, "'headers' of list"),
    ],
)
def test_columns_of_a_wrong_type_are_refused_with_their_names(
    columns: dict[str, pa.Array], message: str
) -> None:
    with pytest.raises(ValueError, match=message):
        read_inputs(batch(**columns), 5)


def test_duplicate_column_is_refused() -> None:
    twice = pa.RecordBatch.from_arrays([pa.array(["1"])] * 2, names=["value", "value"])

    with pytest.raises(ValueError, match="more than one column 'value'"):
        read_inputs(twice, 5)
