import pytest

from tests.log.kit import content_of, fill, sample
from trio_kafka.errors import LogDirError
from trio_kafka.log.files.checkpoints import (
    CLEANER_OFFSETS,
    RECOVERY_POINTS,
    START_OFFSETS,
    OversizedFileError,
    checkpoint_text,
    read_file,
    read_lines,
    read_offsets,
    replace_file,
    write_offsets,
)
from trio_kafka.model import TopicPartition
from trio_kafka.testing.simulation import run_simulated, run_until_crash


async def test_checkpoint_file_of_apache_kafka_is_read(autojump_clock, world):
    root = world.directory("/data", create=True)
    await fill(root, sample("log_dir_root")[""])

    offsets = await read_offsets(root, RECOVERY_POINTS)

    assert len(offsets) == 13
    assert offsets[TopicPartition("__consumer_offsets", 0)] == 41


async def test_written_offsets_are_read_again(autojump_clock, world):
    root = world.directory("/data", create=True)
    offsets = {TopicPartition("b", 1): 5, TopicPartition("a", 10): 7, TopicPartition("a", 2): 0}

    await write_offsets(root, "c", offsets)

    assert await content_of(root, "c") == b"0\n3\nb 1 5\na 10 7\na 2 0\n"
    assert await read_offsets(root, "c") == offsets
    assert root.names() == ["c"]


async def test_missing_checkpoint_file_has_no_offsets(autojump_clock, world):
    root = world.directory("/data", create=True)

    assert await read_offsets(root, "c") == {}
    assert await read_file(root, "c") is None


async def test_empty_checkpoint_file_is_accepted_only_of_the_cleaner(autojump_clock, world):
    root = world.directory("/data", create=True)
    await fill(root, {CLEANER_OFFSETS: b"", START_OFFSETS: b""})

    assert await read_offsets(root, CLEANER_OFFSETS) == {}
    with pytest.raises(LogDirError, match="line 1"):
        await read_offsets(root, START_OFFSETS)


@pytest.mark.parametrize(
    ("content", "line"),
    [
        (b"1\n0\n", 1),
        (b"", 1),
        (b"0\nmany\n", 2),
        (b"0\n1\na 0\n", 3),
        (b"0\n2\na 0 1\na 1 x\n", 4),
        (b"0\n2\na 0 1\n", 4),
        (b"0\n1\na 0 1\na 1 1\n", 2),
    ],
)
async def test_a_corrupt_checkpoint_names_file_and_line(autojump_clock, world, content, line):
    root = world.directory("/data", create=True)
    await fill(root, {"c": content})

    with pytest.raises(LogDirError, match=f"/data: c line {line}: "):
        await read_lines(root, "c", 3)


def test_checkpoint_without_entries_has_a_count_of_zero():
    assert checkpoint_text([]) == b"0\n0\n"


def test_replaced_file_has_its_old_or_new_content_after_a_power_loss(size):
    async def lives(universe):
        done = [-1]

        async def life(world):
            root = world.directory("/data", create=True)
            for number in range(50):
                await replace_file(root, "c", b"%d" % number * 1000)
                done[0] = number

        await run_until_crash(universe.machine("m"), life, universe.time_chance.uniform(0.0, 0.5))
        content = await read_file(universe.machine("m").directory("/data", create=True), "c")
        return done[0], content

    for seed in range(size(30, 1000)):
        done, content = run_simulated(lives, seed)
        allowed = [b"%d" % number * 1000 for number in (done, done + 1)]
        assert content in allowed or (done == -1 and content is None), seed


async def test_a_file_above_the_limit_is_not_read(autojump_clock, world):
    root = world.directory("/data", create=True)
    await replace_file(root, "file", b"1234")

    assert await read_file(root, "file", most=4) == b"1234"
    with pytest.raises(OversizedFileError, match="4 bytes, want at most 3"):
        await read_file(root, "file", most=3)
