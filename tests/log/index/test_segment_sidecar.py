"""Small files that are written as a whole, durable or not, open or not."""

import pytest

from tests.log.kit import content_of
from trio_kafka.log.files.open_files import OpenFiles
from trio_kafka.log.files.operations import run_in_threads, run_now
from trio_kafka.log.index.segment_sidecar import WrittenFile

NAME = "0.index"


@pytest.fixture
def root(world):
    return world.directory("/data", create=True)


async def test_written_content_replaces_the_content_of_the_file(root, autojump_clock) -> None:
    file = WrittenFile(root, NAME, None)

    for content in (b"long content", b"short", b"", b"again"):
        run_now(file._replace(content))
        await file.sync()
        file.settle()
        assert await content_of(root, NAME) == content

    await run_in_threads(file._replace(b"slow"))
    await file.sync()
    assert await content_of(root, NAME) == b"slow"


async def test_file_counts_in_the_open_files_only_when_durable(root, autojump_clock) -> None:
    files = OpenFiles()
    file = WrittenFile(root, NAME, files)
    assert not file._is_there

    run_now(file._replace(b"x"))
    assert file._is_there
    assert file._open() is file._file
    assert files.figures()["open"] == 0
    await file.sync()
    file.settle()

    assert file._file is None
    read = file._open()
    assert files.figures()["open"] == 1
    run_now(file._replace(b"y"))
    assert file._file is not read  # opened again, as its own
    assert files.figures()["open"] == 0
    file.close()
    assert files.figures()["open"] == 0


async def test_synced_content_survives_a_power_loss(world, root, autojump_clock) -> None:
    file = WrittenFile(root, NAME, None)
    run_now(file._replace(b"durable"))
    await file.sync()
    await root.sync()

    world.crash()

    after = world.universe.machine(world.name)
    assert await content_of(after.directory("/data"), NAME) == b"durable"
