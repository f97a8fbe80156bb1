from pathlib import Path
from struct import pack

import pytest

from tests.cli.log.kit import three_batches, write_log
from trio_kafka.cli.log.batches import Batch, read_batches
from trio_kafka.cli.log.findings import Level
from trio_kafka.cli.log.index_checks import MOST, OffsetIndexCheck, TimeIndexCheck
from trio_kafka.cli.log.places import classify
from trio_kafka.world.blocking_file import open_reader

BATCHES = three_batches(10)
SECOND, THIRD = len(BATCHES[0]), len(BATCHES[0] + BATCHES[1])


def check(
    folder: Path, kind: type[OffsetIndexCheck | TimeIndexCheck], suffix: str, content: bytes
) -> list[str]:
    """Texts of the findings about an index with this content, beside three batches from 10 on."""
    log = write_log(folder / "t-0", 10, BATCHES)
    index = classify(log.with_suffix(suffix))
    assert index is not None
    index.path.write_bytes(content)
    result = []
    checked = kind(index, Level.ERROR)
    with open_reader(log) as reader:
        for piece in read_batches(reader):
            assert isinstance(piece, Batch)
            result += list(checked.see(piece))
    result += list(checked.finish())
    return [finding.text for finding in result]


def offsets(*entries: tuple[int, int]) -> bytes:
    return b"".join(pack(">II", relative, position) for relative, position in entries)


def times(*entries: tuple[int, int]) -> bytes:
    return b"".join(pack(">qI", time, relative) for time, relative in entries)


@pytest.mark.parametrize(
    ("content", "text"),
    [
        (offsets(), None),
        (offsets((3, SECOND), (5, THIRD)), None),
        (offsets((5, THIRD)) + bytes(80), None),
        (offsets((2, SECOND)), "ends with offset 13, not 12"),
        (offsets((3, SECOND + 1)), "no batch begins"),
        (offsets((5, THIRD), (3, SECOND)), "offset 13 follows 15"),
        (offsets((3, SECOND), (5, 99999)), "beyond the segment"),
        (offsets((3, SECOND)) + b"\0", "multiple of 8"),
    ],
)
def test_offset_index_check_finds_each_damage(
    content: bytes, text: str | None, tmp_path: Path
) -> None:
    result = check(tmp_path, OffsetIndexCheck, ".index", content)

    assert (text is None) == (result == [])
    assert text is None or any(text in line for line in result)


# The batches' latest times are 1011, 1013 and 1015.
@pytest.mark.parametrize(
    ("content", "text"),
    [
        (times(), None),
        (times((1011, 1), (1013, 3), (1015, 5)), None),
        (times((1015, 5)) + bytes(120), None),
        (times((1013, 2)), None),  # older brokers name the record, not the end of its batch
        (times((1012, 3)), "timestamp 1012, its batch has 1013"),
        (times((1000, 5)), "searches by time miss records"),
        (times((1013, 3), (1011, 1)), "timestamp 1011 follows 1013"),
        (times((1015, 9)), "beyond the segment"),
        (times((1015, 5)) + b"\1", "multiple of 12"),
    ],
)
def test_time_index_check_finds_each_damage(
    content: bytes, text: str | None, tmp_path: Path
) -> None:
    result = check(tmp_path, TimeIndexCheck, ".timeindex", content)

    assert (text is None) == (result == [])
    assert text is None or any(text in line for line in result)


def test_number_of_findings_per_index_is_limited(tmp_path: Path) -> None:
    content = offsets(*((number, 10_000 + number) for number in range(1, 1000)))

    result = check(tmp_path, OffsetIndexCheck, ".index", content)

    assert len(result) == MOST
    assert "left out" in result[-1]
