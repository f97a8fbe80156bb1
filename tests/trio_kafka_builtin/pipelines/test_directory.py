"""The directory of definitions."""

import pytest
from trio.testing import MockClock

from tests.trio_kafka_builtin.pipelines.kit import DIRECTORY, write_files
from trio_kafka.testing.simulation import simulated_world
from trio_kafka_builtin.pipelines.directory import LARGEST, MOST, read_directory

GOOD = 'command = ["true"]'


async def test_each_visible_toml_file_of_the_directory_is_a_pipeline(
    autojump_clock: MockClock,
) -> None:
    world = simulated_world()
    write_files(world, {"b.toml": GOOD, "a.toml": GOOD, "app.py": "", ".c.toml": "", "d.toml~": ""})

    result, refused = await read_directory(world.directory(DIRECTORY))

    assert [definition.name for definition in result] == ["a", "b"]
    assert [definition.directory for definition in result] == [DIRECTORY] * 2
    assert refused == []


async def test_invalid_files_are_reported_and_valid_files_still_read(
    autojump_clock: MockClock,
) -> None:
    world = simulated_world()
    files = {
        "a.toml": GOOD,
        "B.toml": GOOD,
        "bad.toml": "command",
        "big.toml": b"#" * (LARGEST + 1),
        "empty.toml": "",
        "latin.toml": "a = 'é'".encode("latin1"),
    }
    write_files(world, files)
    world.directory(DIRECTORY).directory("folder.toml", create=True)

    result, refused = await read_directory(world.directory(DIRECTORY))

    assert [definition.name for definition in result] == ["a"]
    errors = {refusal.file: refusal.error for refusal in refused}
    assert set(errors) == {*files, "folder.toml"} - {"a.toml"}
    assert errors["big.toml"] == f"{LARGEST + 1} bytes, want at most {LARGEST}"
    assert errors["latin.toml"] == "not UTF-8"
    assert errors["empty.toml"].startswith("command is not set")


async def test_the_number_of_pipelines_is_bounded(autojump_clock: MockClock) -> None:
    world = simulated_world()
    write_files(world, {f"p{number}.toml": GOOD for number in range(MOST + 2)})

    result, refused = await read_directory(world.directory(DIRECTORY))

    assert (len(result), len(refused)) == (MOST, 2)
    assert "there are 100 pipelines already" in refused[0].error


async def test_a_missing_pipelines_directory_raises_file_not_found_error(
    autojump_clock: MockClock,
) -> None:
    with pytest.raises(FileNotFoundError):
        await read_directory(simulated_world().directory("/nowhere"))
