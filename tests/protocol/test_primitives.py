import pytest
from hypothesis import given
from hypothesis import strategies as st

from trio_kafka.protocol.primitives import (
    LONGEST_STRING,
    MOST_TAGS,
    PACKERS,
    UNPACKERS,
    Malformed,
    Names,
    Rows,
    join_tags,
    join_uuids,
    read_long_uvarint,
    read_string_length,
    read_tags,
    read_uvarint,
    refuse_known,
    string_length,
    uvarint,
)


@pytest.mark.parametrize(
    ("number", "encoded"),
    [
        (0, "00"),
        (127, "7f"),
        (128, "8001"),
        (16383, "ff7f"),
        (16384, "808001"),
        (2**32 - 1, "ffffffff0f"),
    ],
)
def test_an_unsigned_varint_is_encoded_with_seven_bits_per_byte_lowest_first(
    number: int, encoded: str
) -> None:
    assert uvarint(number).hex() == encoded


@given(st.integers(0, 2**32 - 1), st.binary(max_size=3))
def test_a_varint_survives_a_round_trip_at_any_offset(number: int, before: bytes) -> None:
    encoded = before + uvarint(number) + b"\xff"

    assert read_uvarint(encoded, len(before)) == (number, len(encoded) - 1)
    assert read_uvarint(memoryview(encoded), len(before)) == (number, len(encoded) - 1)


@pytest.mark.parametrize("encoded", ["ffffffff10", "ffffffffff01", "80808080808001"])
def test_a_varint_of_more_than_32_bits_is_refused(encoded: str) -> None:
    data = bytes.fromhex(encoded)

    with pytest.raises(Malformed, match="32 bits"):
        read_long_uvarint(data, 1, data[0])


@pytest.mark.parametrize("number", [-1, 2**32])
def test_numbers_that_are_not_unsigned_32_bit_cannot_be_encoded_as_varints(number: int) -> None:
    with pytest.raises(Malformed):
        uvarint(number)


def test_a_compact_string_above_the_limit_of_32767_bytes_is_refused() -> None:
    longest = string_length(LONGEST_STRING + 1)

    assert read_string_length(longest, 1, longest[0]) == (LONGEST_STRING + 1, 3)
    with pytest.raises(Malformed, match="limit"):
        string_length(LONGEST_STRING + 2)
    beyond = uvarint(LONGEST_STRING + 2)
    with pytest.raises(Malformed, match="limit"):
        read_string_length(beyond, 1, beyond[0])


@given(st.dictionaries(st.integers(0, 2**32 - 1), st.binary(max_size=200), max_size=5))
def test_tags_are_written_in_order_and_survive_a_round_trip(tags: dict[int, bytes]) -> None:
    encoded = join_tags(tags)

    count, position = encoded[0], 1
    assert read_tags(encoded, position, count) == (tags, len(encoded))
    assert join_tags(dict(reversed(tags.items()))) == encoded


def test_128_tags_are_read_and_129_tags_are_refused() -> None:
    tags = dict.fromkeys(range(MOST_TAGS), b"x")
    encoded = join_tags(tags)
    one_more = join_tags(tags | {MOST_TAGS: b""})

    assert read_tags(encoded, 1, encoded[0]) == (tags, len(encoded))
    with pytest.raises(Malformed, match="129 tagged fields: want at most 128"):
        read_tags(one_more, 1, one_more[0])


@pytest.mark.parametrize("encoded", ["05", "0580", "05ffffffff0f", "0503aabb"])
def test_a_tag_that_extends_beyond_the_end_of_the_buffer_is_refused(encoded: str) -> None:
    with pytest.raises((Malformed, IndexError)):
        read_tags(bytes.fromhex(encoded), 0, 1)


def test_an_unknown_tag_with_the_number_of_a_known_field_is_refused() -> None:
    refuse_known({3: b""}, frozenset({1, 2}))
    with pytest.raises(Malformed, match="tag 2"):
        refuse_known({2: b"", 3: b""}, frozenset({1, 2}))


def test_a_uuid_that_does_not_have_16_bytes_is_refused_in_an_array() -> None:
    assert join_uuids([b"a" * 16, b"b" * 16]) == b"a" * 16 + b"b" * 16
    with pytest.raises(Malformed, match="uuid of 15 bytes"):
        join_uuids([b"a" * 16, b"b" * 15])


@given(st.lists(st.integers(-(2**31), 2**31 - 1), max_size=200))
def test_arrays_of_numbers_of_any_length_survive_a_round_trip(numbers: list[int]) -> None:
    packed = PACKERS["i"][len(numbers)](*numbers)

    assert len(packed) == 4 * len(numbers)
    assert [*UNPACKERS["i"][len(numbers)](packed, 0)] == numbers


def test_packers_for_long_arrays_are_not_cached() -> None:
    PACKERS["q"][5000](*range(5000))

    assert 5000 not in PACKERS["q"]
    assert len(UNPACKERS["i"]) <= 65


def test_encoded_names_are_cached_up_to_a_bounded_number() -> None:
    names, plain = Names(compact=True), Names(compact=False)

    assert names["topic"] == b"\x06topic"
    assert plain["topic"] == b"\x00\x05topic"
    assert names["é"] == b"\x03\xc3\xa9"
    for number in range(10_000):
        assert names[f"t-{number}"][1:] == f"t-{number}".encode()
    assert len(names) <= 4096
    assert names["x" * 300] == b"\xad\x02" + b"x" * 300
    assert "x" * 300 not in names
    with pytest.raises(Malformed, match="limit"):
        names["x" * 32768]


def test_row_packers_are_cached_up_to_a_bounded_number() -> None:
    rows = Rows(">hB%diB%di")

    assert rows[1, 2](7, 2, 1, 3, 5, 6).hex() == "0007" + "0200000001" + "030000000500000006"
    for length in range(2000):
        _ = rows[length, 0]
    assert len(rows) <= 512
