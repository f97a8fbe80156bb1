"""Whole batches, damage, and what follows damage."""

import os
from contextlib import contextmanager
from itertools import accumulate

import pytest

from tests.trio_kafka_spark.log.kit import batch, flip
from trio_kafka.records.header import HEADER_SIZE
from trio_kafka.log.scan.whole_batch_search import WholeBatchSearch
from trio_kafka_spark.log.walk import (
    DamageError,
    find_whole,
    measure_end,
    read_bytes,
    walk_headers,
    whole_batches,
)

BATCHES = [batch(0), batch(10), batch(20, size=5000), batch(30)]
CONTENT = b"".join(BATCHES)
STARTS = list(accumulate(map(len, BATCHES[:-1]), initial=0))


@contextmanager
def opened(path, content):
    path.write_bytes(content)
    file = os.open(path, os.O_RDONLY)
    try:
        yield file
    finally:
        os.close(file)


def test_headers_are_walked_across_chunks(tmp_path):
    with opened(tmp_path / "x", CONTENT) as file:
        found = list(walk_headers(file, 0, len(CONTENT)))

    assert [(at, header.base_offset) for at, header in found] == list(
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
def test_damage_has_a_position_and_a_reason(tmp_path, content, position, reason):
    with opened(tmp_path / "x", content) as file, pytest.raises(DamageError) as caught:
        list(walk_headers(file, 0, len(content)))

    assert caught.value.damage.position == position
    assert reason in caught.value.damage.reason


def test_a_batch_that_ends_before_it_begins_is_damage(tmp_path):
    content = bytearray(BATCHES[0])
    content[23:27] = b"\xff\xff\xff\xf0"

    assert "begins at 0" in whole_batches(bytes(content), 0, check_crcs=False).reason


def test_whole_batches_end_where_the_bytes_cut_one_short():
    whole = whole_batches(CONTENT[:-5], 0, check_crcs=True)

    assert (whole.size, whole.next_offset, whole.reason) == (STARTS[3], 30, None)
    assert whole.wanted == len(BATCHES[3])
    assert whole_batches(CONTENT[:40], 0, check_crcs=True).wanted == HEADER_SIZE
    assert whole_batches(CONTENT, 0, check_crcs=True).wanted == 0


def test_a_crc_that_does_not_match_ends_the_whole_batches_if_asked():
    content = bytearray(CONTENT)
    content[STARTS[1] + 70] ^= 1

    assert whole_batches(bytes(content), 0, check_crcs=True).size == STARTS[1]
    assert "CRC" in whole_batches(bytes(content), 0, check_crcs=True).reason
    assert whole_batches(bytes(content), 0, check_crcs=False).size == len(content)


def test_the_next_whole_batch_is_found_behind_damage(tmp_path):
    path = tmp_path / "x"
    path.write_bytes(CONTENT)
    flip(path, STARTS[1] + 10)  # its length

    with opened(path, path.read_bytes()) as file:
        search = WholeBatchSearch(len(CONTENT))
        assert find_whole(file, STARTS[1] + 1, 10, search) == STARTS[2]
        assert find_whole(file, STARTS[1] + 1, 31, search) is None
        assert find_whole(file, STARTS[3] + 1, 0, search) is None


def test_a_batch_is_found_across_the_border_of_two_searches(tmp_path):
    content = b"\2" * ((1 << 20) - 30) + BATCHES[0]

    with opened(tmp_path / "x", content) as file:
        assert find_whole(file, 0, 0, WholeBatchSearch(len(content))) == (1 << 20) - 30


@pytest.mark.parametrize(
    "tail", [b"", CONTENT[:30], BATCHES[0][:100], bytes(5000), BATCHES[3][:70] + bytes(3000)]
)
def test_the_end_is_behind_the_last_whole_batch(tmp_path, tail):
    with opened(tmp_path / "x", CONTENT + tail) as file:
        end = measure_end(file, 0, 0, len(CONTENT) + len(tail))

    assert end == (len(CONTENT), 40)


def test_a_batch_that_is_still_written_into_reserved_bytes_does_not_count(tmp_path):
    half = BATCHES[3][:80] + bytes(len(BATCHES[3]) - 80)
    content = CONTENT[: STARTS[3]] + half + bytes(1000)

    with opened(tmp_path / "x", content) as file:
        assert measure_end(file, 0, 0, len(content)) == (STARTS[3], 30)


def test_damage_that_whole_batches_follow_lies_before_the_end(tmp_path):
    path = tmp_path / "x"
    path.write_bytes(CONTENT)
    flip(path, STARTS[1] + 16)  # its magic

    with opened(path, path.read_bytes()) as file:
        assert measure_end(file, 0, 0, len(CONTENT)) == (len(CONTENT), 40)


def test_an_empty_file_ends_where_it_begins(tmp_path):
    with opened(tmp_path / "x", b"") as file:
        assert measure_end(file, 0, 7, 0) == (0, 7)
        assert read_bytes(file, 0, 10) == b""
