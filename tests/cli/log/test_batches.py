import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.cli.log.kit import records, three_batches, write_log
from tests.records.kit import encode_batch
from trio_kafka.cli.log.batches import Batch, Gap, Piece, read_batches
from trio_kafka.records.compression import Codec
from trio_kafka.world.blocking_file import open_reader

FIRST, SECOND, THIRD = three_batches()


def read(path: Path, **options: int) -> list[Piece]:
    with open_reader(path) as reader:
        return list(read_batches(reader, **options))


def shape(pieces: list[Piece]) -> list[tuple[str, int]]:
    return [
        ("batch", piece.base_offset)
        if isinstance(piece, Batch)
        else ("gap", piece.end - piece.position)
        for piece in pieces
    ]


def test_every_batch_of_a_segment_is_read_with_its_position(tmp_path: Path) -> None:
    pieces = read(write_log(tmp_path, 0, [FIRST, SECOND, THIRD]))

    assert shape(pieces) == [("batch", 0), ("batch", 2), ("batch", 4)]
    assert [piece.position for piece in pieces] == [0, len(FIRST), len(FIRST + SECOND)]
    assert all(isinstance(piece, Batch) and piece.is_valid for piece in pieces)


def test_scan_continues_with_the_next_batch_after_damage(tmp_path: Path) -> None:
    pieces = read(write_log(tmp_path, 0, [FIRST, b"\x02" * 500, THIRD]))

    assert shape(pieces) == [("batch", 0), ("gap", 500), ("batch", 4)]
    assert isinstance(pieces[1], Gap)
    assert not pieces[1].tail
    assert not pieces[1].zeros


def test_batch_with_an_earlier_offset_after_damage_is_part_of_the_gap(tmp_path: Path) -> None:
    junk = b"\xff" * 10

    pieces = read(write_log(tmp_path, 0, [FIRST, SECOND, junk, FIRST, THIRD]))

    assert shape(pieces) == [
        ("batch", 0),
        ("batch", 2),
        ("gap", len(junk) + len(FIRST)),
        ("batch", 4),
    ]


@pytest.mark.parametrize("kept", [1, 16, 17, 60, 61, len(THIRD) - 1])
def test_truncated_last_batch_is_a_gap_at_the_end(tmp_path: Path, kept: int) -> None:
    pieces = read(write_log(tmp_path, 0, [FIRST, THIRD[:kept]]))

    assert shape(pieces) == [("batch", 0), ("gap", kept)]
    assert isinstance(pieces[1], Gap)
    assert pieces[1].tail


def test_zeros_at_the_end_of_a_segment_are_reported_as_a_gap_of_zeros(tmp_path: Path) -> None:
    pieces = read(write_log(tmp_path, 0, [FIRST, bytes(1 << 20)]))

    assert isinstance(pieces[1], Gap)
    assert pieces[1].zeros
    assert pieces[1].tail


def test_batch_with_a_damaged_length_does_not_hide_the_next_batch(tmp_path: Path) -> None:
    broken = bytearray(SECOND)
    broken[8:12] = (1 << 30).to_bytes(4, "big")

    pieces = read(write_log(tmp_path, 0, [FIRST, bytes(broken), THIRD]))

    assert shape(pieces) == [("batch", 0), ("gap", len(SECOND)), ("batch", 4)]


def test_batch_with_a_wrong_crc_is_marked_as_invalid(tmp_path: Path) -> None:
    broken = bytearray(SECOND)
    broken[-1] ^= 1

    pieces = read(write_log(tmp_path, 0, [FIRST, bytes(broken), THIRD]))

    assert [isinstance(piece, Batch) and piece.is_valid for piece in pieces] == [True, False, True]


def test_batch_larger_than_a_read_slice_is_read_whole(tmp_path: Path) -> None:
    large = encode_batch(records("x" * 3_000_000))

    with open_reader(write_log(tmp_path, 0, [large])) as reader:
        [piece] = read_batches(reader)

        assert isinstance(piece, Batch)
        assert piece.is_valid
        assert [len(record.value or b"") for record in piece.records()] == [3_000_000]


def test_sequences_wrap_to_zero_as_in_kafka(tmp_path: Path) -> None:
    batch = encode_batch(
        records("a", "b", "c"), 10, producer_id=1, producer_epoch=0, base_sequence=(1 << 31) - 2
    )

    [piece] = read(write_log(tmp_path, 0, [batch]))

    assert isinstance(piece, Batch)
    assert piece.last_sequence == 0
    assert [piece.sequence_of(record) for record in piece.records()] == [
        (1 << 31) - 2,
        (1 << 31) - 1,
        0,
    ]


def test_unknown_codec_is_shown_by_its_number(tmp_path: Path) -> None:
    batch = encode_batch(records("a"), codec=Codec.GZIP)
    broken = bytearray(batch)
    broken[22] |= 7

    [piece] = read(write_log(tmp_path, 0, [bytes(broken)]))

    assert isinstance(piece, Batch)
    assert piece.codec == "codec 7"


@given(st.binary(max_size=300), st.integers(0, len(FIRST + SECOND)))
def test_segment_with_random_bytes_is_read_to_its_end(
    tmp_path_factory, content: bytes, at: int
) -> None:  # type: ignore[no-untyped-def]
    whole = FIRST + SECOND
    path = tmp_path_factory.mktemp("any")
    pieces = read(write_log(path, 0, [whole[:at], content, whole[at:]]))

    position = 0
    for piece in pieces:
        assert piece.position == position
        position = piece.end if isinstance(piece, Gap) else position + piece.size
    assert position == len(whole) + len(content)


def test_file_truncated_within_a_large_batch_while_reading_ends_in_a_gap(tmp_path: Path) -> None:
    path = write_log(tmp_path, 0, [encode_batch(records("x" * 3_000_000))])

    with open_reader(path) as reader:
        os.truncate(path, 1_000_000)
        [piece] = read_batches(reader)

    assert isinstance(piece, Gap)
    assert piece.tail
    assert "cut within the batch" in piece.reason
