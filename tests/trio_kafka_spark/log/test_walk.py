"""Whole batches, damage, and what follows damage."""

from itertools import accumulate

import pytest

from tests.trio_kafka_spark.log.kit import batch, flip
from trio_kafka.log.scan.batches import HEADERS, Batch, Gap
from trio_kafka.world.blocking_file import open_reader
from trio_kafka_spark.log.walk import measure_end, reason_of, walk_headers

BATCHES = [batch(0), batch(10), batch(20, size=5000), batch(30)]
CONTENT = b"".join(BATCHES)
STARTS = list(accumulate(map(len, BATCHES[:-1]), initial=0))


def walked(path, content, begin=0, least=0):
    """Batches and gaps of a file with this content."""
    path.write_bytes(content)
    with open_reader(path, HEADERS) as file:
        return list(walk_headers(file, begin, file.size, least=least))


def end_of(path, content, least=0):
    """Where the batches of a file with this content end."""
    path.write_bytes(content)
    with open_reader(path, HEADERS) as file:
        return measure_end(file, begin=0, least=least, size=file.size)


def test_all_batch_headers_are_found_across_chunk_borders(tmp_path):
    pieces = walked(tmp_path / "x", CONTENT)

    assert [(piece.position, piece.header.base_offset) for piece in pieces] == list(
        zip(STARTS, (0, 10, 20, 30), strict=True)
    )


@pytest.mark.parametrize(
    ("content", "position", "reason"),
    [
        (CONTENT + CONTENT[:30], len(CONTENT), "30 bytes, want a header of 61"),
        (CONTENT + bytes(100), len(CONTENT), "zeros, want a batch"),
        (CONTENT[:-1], STARTS[3], f"a batch of {len(BATCHES[3])} bytes"),
        (BATCHES[0] + b"\1" * 61, STARTS[1], "magic 1"),
        (BATCHES[1] + BATCHES[0], len(BATCHES[1]), "offset 0, want at least 20"),
    ],
)
def test_a_gap_has_the_position_and_the_reason_of_damage(tmp_path, content, position, reason):
    gap = next(piece for piece in walked(tmp_path / "x", content) if isinstance(piece, Gap))

    assert gap.position == position
    assert reason in reason_of(gap.damage)


def test_a_batch_whose_last_offset_is_below_its_base_offset_is_damage(tmp_path):
    content = bytearray(BATCHES[0])
    content[23:27] = b"\xff\xff\xff\xf0"

    (gap,) = walked(tmp_path / "x", content)

    assert "begins at 0" in reason_of(gap.damage)


def test_a_gap_ends_at_the_next_whole_batch_or_at_the_end_of_the_file(tmp_path):
    path = tmp_path / "x"
    path.write_bytes(CONTENT)
    flip(path, STARTS[1] + 10)  # its length
    content = path.read_bytes()

    gap, *rest = walked(path, content, STARTS[1], least=10)
    assert (gap.position, gap.end, gap.tail) == (STARTS[1], STARTS[2], False)
    assert [piece.position for piece in rest] == STARTS[2:]

    (gap,) = walked(path, content, STARTS[1], least=31)
    assert (gap.end, gap.tail) == (len(CONTENT), True)

    (gap,) = walked(path, content, STARTS[3] + 1)
    assert (gap.end, gap.tail) == (len(CONTENT), True)


def test_a_batch_across_the_border_of_two_search_chunks_is_found(tmp_path):
    content = b"\2" * ((1 << 20) - 30) + BATCHES[0]

    gap, result = walked(tmp_path / "x", content)

    assert gap.end == (1 << 20) - 30
    assert isinstance(result, Batch)


@pytest.mark.parametrize(
    "tail", [b"", CONTENT[:30], BATCHES[0][:100], bytes(5000), BATCHES[3][:70] + bytes(3000)]
)
def test_the_end_of_a_log_is_after_its_last_whole_batch(tmp_path, tail):
    assert end_of(tmp_path / "x", CONTENT + tail) == (len(CONTENT), 40)


def test_a_half_written_batch_in_preallocated_bytes_is_after_the_end(tmp_path):
    half = BATCHES[3][:80] + bytes(len(BATCHES[3]) - 80)
    content = CONTENT[: STARTS[3]] + half + bytes(1000)

    assert end_of(tmp_path / "x", content) == (STARTS[3], 30)


def test_damage_followed_by_whole_batches_does_not_end_the_log(tmp_path):
    path = tmp_path / "x"
    path.write_bytes(CONTENT)
    flip(path, STARTS[1] + 16)  # its magic

    assert end_of(path, path.read_bytes()) == (len(CONTENT), 40)


def test_an_empty_file_has_no_batches_and_ends_at_its_base_offset(tmp_path):
    assert end_of(tmp_path / "x", b"", least=7) == (0, 7)
    assert walked(tmp_path / "x", b"") == []
