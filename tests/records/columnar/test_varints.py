import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from trio_kafka.records.columnar.errors import MalformedRecordsError
from trio_kafka.records.columnar.varints import LONGEST_LONG, read_varints, skip_varints
from trio_kafka.records.varint import encode_varint

LONGS = st.integers(-(1 << 63), (1 << 63) - 1)
INTS = st.integers(-(1 << 31), (1 << 31) - 1)


def laid(numbers: list[int]) -> tuple[np.ndarray, np.ndarray, list[int]]:
    """The encodings one after another, their positions, and the positions after them."""
    encoded = [encode_varint(number) for number in numbers]
    ends = np.cumsum([len(encoding) for encoding in encoded])
    return np.frombuffer(b"".join(encoded), np.uint8), np.append(0, ends[:-1]), ends.tolist()


@given(st.lists(LONGS | st.integers(-70, 70) | st.integers(-9000, 9000), min_size=1))
def test_varints_of_64_bits_are_read(numbers: list[int]) -> None:
    data, at, ends = laid(numbers)

    result, after = read_varints(data, at, LONGEST_LONG)

    assert result.tolist() == numbers
    assert after.tolist() == ends == skip_varints(data, at, LONGEST_LONG).tolist()


@given(st.lists(INTS, min_size=1))
def test_varints_of_32_bits_are_read(numbers: list[int]) -> None:
    data, at, ends = laid(numbers)

    result, after = read_varints(data, at)

    assert result.tolist() == numbers
    assert after.tolist() == ends


@pytest.mark.parametrize("data", [b"\xff", b"\xff" * 9, b"\xff" * 9 + b"\2", b"\x80" * 10 + b"\0"])
def test_varint_that_is_too_long_is_malformed(data: bytes) -> None:
    for read in (read_varints, skip_varints):
        with pytest.raises(MalformedRecordsError):
            read(np.frombuffer(b"\0" + data, np.uint8), np.array([0, 1]), LONGEST_LONG)


def test_varint_of_32_bits_has_five_bytes_at_most() -> None:
    data = np.frombuffer(b"\x80" * 5 + b"\0", np.uint8)

    assert read_varints(data, np.array([1]))[0].tolist() == [0]
    with pytest.raises(MalformedRecordsError):
        read_varints(data, np.array([0]))


def test_varint_position_outside_of_the_data_raises_index_error() -> None:
    with pytest.raises(IndexError):
        read_varints(np.zeros(3, np.uint8), np.array([0, 3]))
