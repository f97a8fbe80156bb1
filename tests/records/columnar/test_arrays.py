import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from trio_kafka.records.columnar.arrays import (
    as_arrow,
    as_bits,
    as_booleans,
    as_numpy,
    nulls_of,
    one_text,
)

FLAGS = st.lists(st.booleans(), max_size=20)


@given(st.lists(st.none() | st.integers(-5, 5), max_size=20))
def test_numpy_array_with_missing_mask_becomes_an_arrow_array_with_nulls(
    values: list[int | None],
) -> None:
    numbers = np.array([value or 0 for value in values], np.int64)
    missing = np.array([value is None for value in values], np.bool_)

    assert as_arrow(numbers, pa.int64(), missing).to_pylist() == values
    assert as_arrow(numbers, pa.int64()).null_count == 0


def test_numpy_array_with_a_stride_is_copied_into_an_arrow_array() -> None:
    assert as_arrow(np.arange(6, dtype=np.int32)[::2], pa.int32()).to_pylist() == [0, 2, 4]


@given(FLAGS)
def test_numpy_booleans_become_an_arrow_boolean_array_and_packed_bits(flags: list[bool]) -> None:
    values = np.array(flags, np.bool_)

    assert as_booleans(values).to_pylist() == flags
    assert len(as_bits(values)) == (len(flags) + 7) // 8


@given(st.lists(st.none() | st.integers(-5, 5), max_size=20), st.integers(0, 20))
def test_numbers_and_nulls_of_a_sliced_arrow_array_match_its_values(
    values: list[int | None], begin: int
) -> None:
    sliced = pa.array(values, pa.int32())[begin:]

    nulls = nulls_of(sliced).tolist()
    numbers = as_numpy(sliced, np.int32).tolist()

    assert [None if n else v for n, v in zip(nulls, numbers, strict=True)] == values[begin:]


@pytest.mark.parametrize("text", ["", "topic", "ü"])
def test_one_text_returns_an_arrow_string_array_of_length_1(text: str) -> None:
    assert one_text(text).to_pylist() == [text]
    assert one_text(text).type == pa.string()
