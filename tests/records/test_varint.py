import pytest
from hypothesis import given
from hypothesis import strategies as st

from trio_kafka.records.varint import encode_varint, read_varint


@given(st.integers(-(1 << 63), (1 << 63) - 1), st.binary(max_size=3))
def test_varint_is_read_as_written(number: int, rest: bytes) -> None:
    encoded = encode_varint(number)

    assert read_varint(encoded + rest, 0) == (number, len(encoded))


@pytest.mark.parametrize(
    ("number", "encoded"),
    [(0, "00"), (-1, "01"), (1, "02"), (63, "7e"), (64, "8001"), (-65, "8101"), (300, "d804")],
)
def test_small_numbers_are_encoded_in_few_bytes(number: int, encoded: str) -> None:
    assert encode_varint(number).hex() == encoded


def test_largest_and_smallest_numbers_are_encoded_in_ten_bytes() -> None:
    assert encode_varint(-(1 << 63)).hex() == "ff" * 9 + "01"
    assert encode_varint((1 << 63) - 1).hex() == "fe" + "ff" * 8 + "01"


def test_truncated_varint_raises_index_error() -> None:
    with pytest.raises(IndexError):
        read_varint(b"\xff\xff", 0)


@pytest.mark.parametrize("encoded", ["ff" * 10 + "01", "ff" * 9 + "02", "80" * 11])
def test_varint_of_more_than_64_bits_raises_value_error(encoded: str) -> None:
    with pytest.raises(ValueError, match="a number of more than"):
        read_varint(bytes.fromhex(encoded), 0)
