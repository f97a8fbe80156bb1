"""The file of a segment; what indexes and open files have to do with it is in their tests."""

import pytest

from trio_kafka.log.segment_file import SegmentFile
from trio_kafka.world.protocols import PIECE

NAME = f"{0:020}.log"


@pytest.fixture
def root(world):
    return world.directory("/data", create=True)


def growing(root) -> SegmentFile:
    return SegmentFile(root, 0, file=root.create(NAME))


async def test_a_file_is_given_up_when_it_is_durable_and_opened_again(root, autojump_clock) -> None:
    file = growing(root)
    file.write(b"abc", None)
    assert not file.give_up()
    await file.sync_file()

    assert file.give_up()

    assert (file.size, file.file.size) == (3, 3)


async def test_a_file_that_another_program_cut_is_not_written_to(root, autojump_clock) -> None:
    file = growing(root)
    file.write(b"abc", None)
    await file.sync_file()
    file.give_up()
    root.open(NAME).truncate(1)

    with pytest.raises(OSError, match=r"1 bytes, want 3"):
        file.file  # noqa: B018


async def test_a_file_that_is_written_in_pieces_is_not_given_up(root, autojump_clock) -> None:
    file = growing(root)
    await file.sync_file()
    given_up: list[bool] = []

    assert file.write(bytes(PIECE + 1), lambda: given_up.append(file.give_up())) == 0
    assert given_up == [False]


async def test_a_cut_makes_the_durable_length_unknown(root, autojump_clock) -> None:
    file = growing(root)
    file.write(b"abc", None)
    await file.sync_file()

    file.truncate(1)

    assert file.size == 1
    assert not file.give_up()
