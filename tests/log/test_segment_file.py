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


async def test_segment_file_is_closed_only_when_durable_and_opened_again(
    root, autojump_clock
) -> None:
    file = growing(root)
    file.write(b"abc", None)
    assert not file.give_up()
    await file.sync_file()

    assert file.give_up()

    assert (file.size, file.file.size) == (3, 3)


async def test_segment_file_truncated_by_another_program_is_not_opened_again(
    root, autojump_clock
) -> None:
    file = growing(root)
    file.write(b"abc", None)
    await file.sync_file()
    file.give_up()
    root.open(NAME).truncate(1)

    with pytest.raises(OSError, match=r"1 bytes, want 3"):
        file.file  # noqa: B018


async def test_segment_file_is_not_closed_between_the_pieces_of_a_write(
    root, autojump_clock
) -> None:
    file = growing(root)
    await file.sync_file()
    given_up: list[bool] = []

    assert file.write(bytes(PIECE + 1), lambda: given_up.append(file.give_up())) == 0
    assert given_up == [False]


async def test_truncated_segment_file_is_not_closed_before_the_next_sync(
    root, autojump_clock
) -> None:
    file = growing(root)
    file.write(b"abc", None)
    await file.sync_file()

    file.truncate(1)

    assert file.size == 1
    assert not file.give_up()
