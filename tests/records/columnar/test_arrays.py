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
def test_numbers_become_an_array_with_its_nulls(values: list[int | None]) -> None:
    numbers = np.array([value or 0 for value in values], np.int64)
    missing = np.array([value is None for value in values], np.bool_)

    assert as_arrow(numbers, pa.int64(), missing).to_pylist() == values
    assert as_arrow(numbers, pa.int64()).null_count == 0


def test_numbers_that_are_not_side_by_side_are_copied() -> None:
    assert as_arrow(np.arange(6, dtype=np.int32)[::2], pa.int32()).to_pylist() == [0, 2, 4]


@given(FLAGS)
def test_booleans_and_bits_are_those_of_arrow(flags: list[bool]) -> None:
    values = np.array(flags, np.bool_)

    assert as_booleans(values).to_pylist() == flags
    assert len(as_bits(values)) == (len(flags) + 7) // 8


@given(st.lists(st.none() | st.integers(-5, 5), max_size=20), st.integers(0, 20))
def test_numbers_and_nulls_of_a_sliced_array_are_found(
    values: list[int | None], begin: int
) -> None:
    sliced = pa.array(values, pa.int32())[begin:]

    nulls = nulls_of(sliced).tolist()
    numbers = as_numpy(sliced, np.int32).tolist()

    assert [None if n else v for n, v in zip(nulls, numbers, strict=True)] == values[begin:]


@pytest.mark.parametrize("text", ["", "topic", "ü"])
def test_one_text_is_an_array_of_one_string(text: str) -> None:
    assert one_text(text).to_pylist() == [text]
    assert one_text(text).type == pa.string()
