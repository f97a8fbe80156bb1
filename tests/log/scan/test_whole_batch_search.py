import struct
from collections.abc import Iterator
from contextlib import suppress

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.records.kit import encode_batch
from trio_kafka.errors import KafkaError
from trio_kafka.log.scan.whole_batch_search import Search, WholeBatchSearch
from trio_kafka.records.batch import Record
from trio_kafka.records.header import HEADER_SIZE, check_crc, read_header

MIB = 1 << 20


def batch(offset: int, *, epoch: int = 0, size: int = 50) -> bytes:
    return encode_batch([Record(key=b"k", value=b"v" * size, timestamp=1000)], offset, epoch)


def repeated_header(length: int, size: int, *, base_offset: int = 0) -> bytes:
    """`size` bytes in which a plausible header begins every 17 bytes, as a client can send them."""
    unit = struct.pack(">qiib", base_offset, length, 0x100, 2)
    return unit * (size // len(unit))


class Reads:
    """Reads of a content. total: bytes read so far."""

    def __init__(self, content: bytes) -> None:
        self.content = content
        self.total = 0

    def __call__(self, position: int, size: int) -> memoryview:
        view = memoryview(self.content)[position : position + size]
        self.total += len(view)
        return view


def read_and_search(search: Search, read: Reads) -> int | None:
    """Perform a search with reads of a content."""
    try:
        span = next(search)
        while True:
            span = search.send(read(span.position, span.size))
    except StopIteration as stop:
        position: int | None = stop.value
        return position


def find(
    content: bytes, position: int = 0, next_offset: int = 0, **options: int | None
) -> int | None:
    search = WholeBatchSearch(len(content))
    return read_and_search(search.find(position, next_offset, **options), Reads(content))


@pytest.mark.parametrize("junk", [b"", b"\xff" * 20, bytes(100_000), b"\x02" * 70_000])
def test_next_whole_batch_is_found_after_other_bytes(junk: bytes) -> None:
    assert find(junk + batch(7) + batch(8), next_offset=5) == len(junk)


@pytest.mark.parametrize("shift", range(HEADER_SIZE + 20))
def test_batch_is_found_across_any_boundary_of_two_reads(shift: int) -> None:
    junk = b"\xff" * ((32 << 10) - shift)

    assert find(junk + batch(7)) == len(junk)


def test_batch_larger_than_a_read_is_found() -> None:
    junk = b"\xff" * 100

    assert find(junk + batch(7, size=5 * MIB)) == len(junk)


@pytest.mark.parametrize("offset", [4, 5 + (1 << 31) + 1])
def test_a_batch_with_an_offset_out_of_range_is_passed_over(offset: int) -> None:
    assert find(batch(offset) + batch(5), next_offset=5) == len(batch(offset))


@pytest.mark.parametrize("next_offset", [0, (1 << 31) - 1, (1 << 32) - 1, (1 << 40) - 1, 1 << 62])
def test_the_first_and_the_last_offset_in_range_are_accepted(next_offset: int) -> None:
    assert find(b"\xff" + batch(next_offset), next_offset=next_offset) == 1
    assert find(b"\xff" + batch(next_offset + (1 << 31)), next_offset=next_offset) == 1


def test_batch_below_the_least_epoch_is_passed_over() -> None:
    content = batch(5, epoch=1) + batch(6, epoch=2)

    assert find(content, least_epoch=2) == len(batch(5))
    assert find(content) == 0


def test_batch_whose_last_offset_is_below_its_base_offset_is_passed_over() -> None:
    content = bytearray(batch(5))
    content[23:27] = b"\xff\xff\xff\xf0"

    assert find(bytes(content) + batch(6)) == len(content)


@pytest.mark.parametrize("position", [70, HEADER_SIZE - 1, 21])
def test_a_batch_whose_checksum_does_not_match_is_passed_over(position: int) -> None:
    content = bytearray(batch(5))
    content[position] ^= 1

    assert find(bytes(content) + batch(6)) == len(content)
    assert find(bytes(content)) is None


def test_a_batch_that_the_end_of_the_file_cuts_short_is_not_found() -> None:
    assert find(b"\xff" + batch(5)[:-1]) is None


def test_search_finds_only_batches_whose_header_ends_at_or_before_its_stop() -> None:
    content = b"\xff" * 100 + batch(5, size=1000)

    assert find(content, stop=100 + HEADER_SIZE) == 100
    assert find(content, stop=100 + HEADER_SIZE - 1) is None


def test_a_file_that_shrank_ends_the_search() -> None:
    content = b"\xff" * 100 + batch(5, size=3 * MIB)
    search = WholeBatchSearch(len(content))

    assert read_and_search(search.find(0, 0), Reads(content[:-MIB])) is None
    assert read_and_search(search.find(0, 0), Reads(b"")) is None


@pytest.mark.parametrize("length", [100, 5000, 40_000, MIB, 3 * MIB])
def test_search_of_a_file_full_of_fake_headers_reads_a_bounded_number_of_bytes(
    length: int,
) -> None:
    content = repeated_header(length, 4 * MIB)
    reads = Reads(content)
    search = WholeBatchSearch(len(content))

    assert read_and_search(search.find(0, 0), reads) is None
    assert reads.total <= 128 * MIB + 10 * len(content)
    assert search.skipped or length < 1000


def test_searches_of_a_file_share_one_budget_of_bytes_read() -> None:
    junk = repeated_header(3 * MIB, 34_000)
    content = b"".join(junk + batch(offset) for offset in range(100)) + bytes(4 * MIB)
    reads = Reads(content)
    search = WholeBatchSearch(len(content))
    position, result = 0, 0

    while (whole := read_and_search(search.find(position, 0), reads)) is not None:
        result += 1
        position = whole + len(batch(0))

    assert result == 100  # a small batch costs less than what its search has earned
    assert reads.total <= 128 * MIB + 10 * len(content)


def test_batch_after_megabytes_of_fake_headers_is_found() -> None:
    junk = repeated_header(3 * MIB, 4 * MIB)
    content = junk + b"".join(batch(offset, size=200_000) for offset in range(10)) + bytes(MIB)

    position = find(content)

    assert position is not None
    assert position - len(junk) <= 2 * len(batch(0, size=200_000))


PIECES = st.one_of(
    st.binary(max_size=80),
    st.builds(batch, st.integers(0, 9), epoch=st.integers(0, 3), size=st.integers(0, 40)),
    st.builds(lambda whole: whole[:-1], st.builds(batch, st.integers(0, 9))),
    st.builds(bytes, st.integers(0, 100)),
    st.builds(repeated_header, st.integers(0, 200), st.integers(0, 200)),
)


@given(st.lists(PIECES, max_size=8).map(b"".join), st.integers(0, 8), st.integers(-1, 3))
@settings(max_examples=200)
def test_search_finds_the_same_batch_as_a_trial_of_each_position(
    content: bytes, next_offset: int, least_epoch: int
) -> None:
    result = find(content, next_offset=next_offset, least_epoch=least_epoch)

    assert result == next(whole_positions(content, next_offset, least_epoch), None)


def whole_positions(content: bytes, next_offset: int, least_epoch: int) -> Iterator[int]:
    for position in range(len(content) - HEADER_SIZE + 1):
        with suppress(KafkaError):
            header = read_header(content, position)
            check_crc(content, position, header)
            in_range = next_offset <= header.base_offset <= next_offset + (1 << 31)
            if in_range and header.last_offset_delta >= 0 and header.leader_epoch >= least_epoch:
                yield position
