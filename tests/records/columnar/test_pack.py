import numpy as np
import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from trio_kafka.records.columnar.pack import (
    LARGE,
    as_binary,
    join_rows,
    lengths_of,
    offsets_of,
    one_binary,
    pack_varints,
    varint_sizes,
)
from trio_kafka.records.varint import encode_varint

LONGS = st.integers(-(1 << 63), (1 << 63) - 1) | st.integers(-9000, 9000)
CONTENTS = st.lists(st.none() | st.binary(max_size=3), max_size=9)


@given(st.lists(LONGS))
def test_varint_sizes_equal_the_lengths_of_the_encoded_numbers(numbers: list[int]) -> None:
    sizes = varint_sizes(np.array(numbers, np.int64))

    assert sizes.tolist() == [len(encode_varint(number)) for number in numbers]


@given(st.lists(st.tuples(LONGS, LONGS, st.integers(-64, 63))))
def test_pack_varints_joins_the_encoded_numbers_of_each_row(
    rows: list[tuple[int, int, int]],
) -> None:
    columns = list(np.array(rows, np.int64).reshape(-1, 3).T)

    packed = pack_varints(columns, [varint_sizes(column) for column in columns])

    assert packed.to_pylist() == [b"".join(map(encode_varint, row)) for row in rows]


@given(CONTENTS, st.integers(0, 9))
def test_lengths_of_a_sliced_array_are_minus_1_for_nulls(
    contents: list[bytes | None], begin: int
) -> None:
    sliced = pa.array(contents, LARGE)[begin:]

    assert lengths_of(sliced).tolist() == [
        -1 if content is None else len(content) for content in contents[begin:]
    ]


@given(CONTENTS)
def test_join_rows_concatenates_the_columns_and_treats_null_as_empty(
    contents: list[bytes | None],
) -> None:
    array = pa.array(contents, LARGE)

    joined = join_rows([array, one_binary(b"-"), array])

    assert joined.to_pylist() == [
        (content or b"") + b"-" + (content or b"") for content in contents
    ]


def test_offsets_of_a_sliced_binary_array_begin_at_the_slice() -> None:
    array = as_binary(np.array([0, 2, 2, 5]), pa.py_buffer(b"abcde"))

    assert array.to_pylist() == [b"ab", b"", b"cde"]
    assert offsets_of(array[1:]).tolist() == [2, 2, 5]
