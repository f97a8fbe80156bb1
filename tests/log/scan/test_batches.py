"""Scans of batches: whole ones, damage as values, bounded reads, files that change meanwhile."""

import itertools

import hypothesis
import pytest
from hypothesis import strategies as st

from tests.log.kit import batch
from tests.records.test_legacy import NAMES, SETS
from trio_kafka.log.scan.batches import Batch, BatchScan, Gap, batches_of
from trio_kafka.log.scan.whole_batch_search import Span
from trio_kafka.records.header import HEADER_SIZE
from trio_kafka.world.protocols import Buffer

BATCHES = [bytes(batch(2, size=size, base_offset=2 * at)) for at, size in enumerate((10, 400, 10))]
CONTENT = b"".join(BATCHES)
STARTS = list(itertools.accumulate(map(len, BATCHES), initial=0))[:-1]
LARGEST_SEARCH = 1 << 20  # bytes that a search or a checksum reads at once


class Content:
    """File in memory. end: where it ends now, as it was cut meanwhile. spans: what was read."""

    def __init__(self, content: bytes, end: int | None = None) -> None:
        self.size = len(content)
        self._content = content[:end]
        self.spans: list[tuple[int, int]] = []

    def read(self, position: int, size: int) -> Buffer:
        self.spans.append((position, size))
        return self._content[position : position + size]


def scanned(content: bytes, **options: object) -> list[Batch | Gap]:
    return list(batches_of(Content(content), BatchScan(size=len(content), **options)))


def shape(pieces: list[Batch | Gap]) -> list[tuple[int, int]]:
    """Begin and end of each piece; a gap's end is negative."""
    return [
        (piece.position, -piece.end if isinstance(piece, Gap) else piece.position + size_of(piece))
        for piece in pieces
    ]


def size_of(piece: Batch) -> int:
    return piece.header.size


damaged = st.builds(
    lambda at, inserted, bit: (
        CONTENT[:at] + inserted + bytes([b ^ bit for b in CONTENT[at : at + 1]]) + CONTENT[at + 1 :]
    ),
    st.integers(0, len(CONTENT)),
    st.binary(max_size=200),
    st.sampled_from([0, 1, 64, 128]),
)


@hypothesis.given(content=damaged, chunk=st.integers(1, 1000), whole=st.booleans())
def test_scan_finds_the_same_batches_and_gaps_for_any_read_size(content, chunk, whole) -> None:
    pieces = scanned(content, crcs=True, chunk=chunk, whole=whole)

    assert pieces == scanned(content, crcs=True)
    position = 0
    for begin, end in shape(pieces):
        assert begin == position
        position = abs(end)
    assert position == len(content)


@hypothesis.given(content=damaged, chunk=st.integers(1, 1000))
def test_whole_batches_lie_in_the_bytes_sent_last_to_the_scan(content, chunk) -> None:
    steps = BatchScan(size=len(content), chunk=chunk, whole=True).steps()
    view, start = b"", 0

    step = next(steps, None)
    while step is not None:
        if isinstance(step, Span):
            view, start = content[step.position : step.position + step.size], step.position
            step = steps.send(view)
            continue
        if isinstance(step, Batch):
            at = step.position - start
            assert view[at : at + size_of(step)] == content[step.position :][: size_of(step)]
        step = next(steps, None)


def test_gap_describes_the_bytes_found_instead_of_a_batch() -> None:
    junk = b"\x09" * 100

    first, gap, *rest = scanned(CONTENT[: STARTS[1]] + junk + CONTENT[STARTS[1] :])

    assert isinstance(gap, Gap)
    assert (gap.position, gap.end, gap.tail) == (size_of(first), size_of(first) + 100, False)
    assert (gap.damage.head, gap.damage.header) == (junk[:HEADER_SIZE], None)
    assert "magic 9" in gap.damage.problem
    assert len(rest) == 2


@pytest.mark.parametrize("byte_count", [1, 16, 17, 60, 61, len(BATCHES[2]) - 1])
def test_batch_cut_short_by_the_end_is_a_gap_at_the_tail(byte_count: int) -> None:
    *whole, gap = scanned(CONTENT[: STARTS[2] + byte_count])

    assert [piece.position for piece in whole] == STARTS[:2]
    assert isinstance(gap, Gap)
    assert (gap.tail, gap.damage.remaining) == (True, byte_count)
    assert (gap.damage.header is None) is (byte_count < HEADER_SIZE)


def test_descending_offsets_are_damage_only_if_a_least_offset_is_given() -> None:
    content = BATCHES[1] + BATCHES[0] + BATCHES[2]

    assert [type(piece) for piece in scanned(content)] == [Batch, Batch, Batch]
    _, gap, last = scanned(content, least=0)
    assert isinstance(gap, Gap)
    assert (gap.damage.least, gap.end) == (4, last.position)


def test_wrong_checksum_is_damage_only_if_matching_checksums_are_required() -> None:
    content = bytearray(CONTENT)
    content[STARTS[1] + 70] ^= 1

    batches = scanned(bytes(content), crcs=True)
    assert [piece.crc == piece.header.crc for piece in batches] == [True, False, True]

    _, gap, _ = scanned(bytes(content), crcs=True, matching=True)
    assert isinstance(gap, Gap)
    assert (gap.position, gap.damage.header) == (STARTS[1], batches[1].header)


def test_a_rejected_batch_becomes_a_gap() -> None:
    scan = BatchScan(size=len(CONTENT))
    pieces = batches_of(Content(CONTENT), scan)
    next(pieces)
    rejected = next(pieces)

    scan.reject()
    gap, last = pieces

    assert isinstance(gap, Gap)
    assert (gap.position, gap.end) == (rejected.position, last.position)


def test_a_scan_that_does_not_resume_ends_with_the_first_gap() -> None:
    first, gap = scanned(BATCHES[0] + bytes(70) + BATCHES[1], resumes=False)

    assert (gap.position, gap.end, gap.tail) == (
        size_of(first),
        len(BATCHES[0] + BATCHES[1]) + 70,
        True,
    )


def test_scan_reads_only_batches_that_begin_between_position_and_end() -> None:
    assert [piece.position for piece in scanned(CONTENT, end=STARTS[1] + 1)] == STARTS[:2]
    assert [piece.position for piece in scanned(CONTENT, position=STARTS[1])] == STARTS[1:]


@pytest.mark.parametrize("crcs", [False, True])
def test_scan_reads_bounded_sizes_despite_a_damaged_length(crcs: bool) -> None:
    content = bytearray(BATCHES[0] + bytes(8 << 20))
    content[8:12] = (4 << 20).to_bytes(4, "big")
    file = Content(bytes(content))

    pieces = list(batches_of(file, BatchScan(size=file.size, crcs=crcs)))

    assert isinstance(pieces[0], Batch)
    assert max(size for _, size in file.spans) <= LARGEST_SEARCH


@pytest.mark.parametrize("name", NAMES)
def test_old_messages_are_batches_or_gaps_if_messages_are_excluded(name: str) -> None:
    content = SETS[name]

    messages = scanned(content, crcs=True, matching=True)

    assert all(isinstance(piece, Batch) and piece.header.magic < 2 for piece in messages)
    assert sum(map(size_of, messages)) == len(content)
    (gap,) = scanned(content, messages=False)
    assert isinstance(gap, Gap)
    assert "magic" in gap.damage.problem


def test_message_larger_than_the_limit_is_damage() -> None:
    content = SETS[NAMES[0]]

    assert isinstance(scanned(content, largest_message=13)[0], Gap)


@pytest.mark.parametrize("whole", [False, True])
@pytest.mark.parametrize("end", [0, 30, STARTS[1] + 80])
def test_scan_of_a_file_truncated_meanwhile_ends_with_a_gap(end: int, whole: bool) -> None:
    scan = BatchScan(size=len(CONTENT), crcs=True, whole=whole, chunk=61)

    *_, last = batches_of(Content(CONTENT, end), scan)

    assert isinstance(last, Gap)
    assert last.tail
