import os
from pathlib import Path

from trio_kafka.world.blocking_file import CHUNK, open_reader


def test_reader_reads_any_range_in_any_order(tmp_path: Path) -> None:
    content = os.urandom(3 * CHUNK)
    (tmp_path / "f").write_bytes(content)

    with open_reader(tmp_path / "f") as reader:
        for at, size in [(0, 10), (CHUNK - 5, 10), (3, 7), (2 * CHUNK, CHUNK), (0, 3 * CHUNK)]:
            assert bytes(reader.read(at, size)) == content[at : at + size]


def test_reads_end_at_the_end_of_the_file(tmp_path: Path) -> None:
    (tmp_path / "f").write_bytes(b"abc")

    with open_reader(tmp_path / "f") as reader:
        assert reader.size == 3
        assert bytes(reader.read(1, 10)) == b"bc"
        assert bytes(reader.read(3, 10)) == b""


def test_reads_after_a_truncation_are_short(tmp_path: Path) -> None:
    (tmp_path / "f").write_bytes(bytes(100))

    with open_reader(tmp_path / "f") as reader:
        os.truncate(tmp_path / "f", 40)
        assert len(reader.read(0, 100)) == 40
        assert list(map(len, reader.pieces(0, 100))) == [40]


def test_large_range_is_read_in_pieces(tmp_path: Path) -> None:
    content = os.urandom(2 * CHUNK + 1)
    (tmp_path / "f").write_bytes(content)

    with open_reader(tmp_path / "f") as reader:
        pieces = [bytes(piece) for piece in reader.pieces(1, len(content))]

    assert b"".join(pieces) == content[1:]
    assert max(map(len, pieces)) <= CHUNK
