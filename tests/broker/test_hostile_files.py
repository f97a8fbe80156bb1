"""Starts on a real disk where one file of the data directory is something else.

Either the broker starts, or one error names the file. No start hangs, and none fails with another
exception.
"""

import os
import shutil
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest
import trio

from tests.broker.kit import APIS, config_of, fill
from tests.lanes import sampled
from trio_kafka.broker import Broker, StartError
from trio_kafka.config.broker import BrokerConfig
from trio_kafka.errors import LogDirError

QUORUM_STATE = "__cluster_metadata-0/quorum-state"
SMALL_FILES = (
    "meta.properties",
    "recovery-point-offset-checkpoint",
    "replication-offset-checkpoint",
    "log-start-offset-checkpoint",
    "cleaner-offset-checkpoint",
    QUORUM_STATE,
    "__cluster_metadata-0/leader-epoch-checkpoint",
    "t-0/leader-epoch-checkpoint",
    "t-0/partition.metadata",
)
BINARY_FILES = (
    "__cluster_metadata-0/00000000000000000000.log",
    "__cluster_metadata-0/00000000000000000000.index",
    "t-0/00000000000000000000.log",
    "t-0/00000000000000000000.index",
    "t-0/00000000000000000000.timeindex",
    "t-0/00000000000000000000.txnindex",
    "t-0/00000000000000000001.snapshot",
)
CONTENTS = {
    "nested arrays": b"[" * 200_000,
    "a number of 5000 digits": b"0\n1\nt 0 " + b"9" * 5000 + b"\n",
    "no UTF-8": b"\xff\xfe\x00" * 100,
    "a few bytes": b"0\n1\nt 0 1\n",
}


def make_sparse(path: Path) -> None:
    path.touch()
    os.truncate(path, 200 << 30)


KINDS: dict[str, Callable[[Path], object]] = {
    "a directory": Path.mkdir,
    "a pipe": os.mkfifo,
    "a link to itself": lambda path: path.symlink_to(path.name),
    "a link to nothing": lambda path: path.symlink_to("/nonexistent/file"),
    "a link to a device": lambda path: path.symlink_to("/dev/zero"),
}


def diagonal(harms: Mapping[str, object]) -> list[Any]:
    """Parameters: each file with each harm, of which the short form has one of each file.

    Each harm is then done to small and to binary files.
    """
    names, count = [*SMALL_FILES, *BINARY_FILES], len(harms)
    places = {
        (name, harm): (n + m) % count
        for n, name in enumerate(names)
        for m, harm in enumerate(harms)
    }
    return sampled(places, lambda pair: not places[pair])


async def write(path: Path) -> None:
    """Let a broker fill a directory."""
    async with Broker(settings(path), format_if_empty=True, apis=APIS, plugins=()) as broker:
        await fill(broker, partitions=2)
    (path / "t-0" / "00000000000000000001.snapshot").touch()


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A data directory with one topic, after a clean stop."""
    path = tmp_path_factory.mktemp("written")
    trio.run(write, path)
    return path


@pytest.fixture
def data(written: Path, tmp_path: Path) -> Path:
    """A copy of it."""
    shutil.copytree(written, tmp_path, dirs_exist_ok=True)
    return tmp_path


def settings(path: Path) -> BrokerConfig:
    return config_of({"log.dirs": str(path)})


async def start(data: Path) -> str:
    """Start and stop a broker; return the error that ended it, empty if it came up."""
    with trio.fail_after(30):
        try:
            async with Broker(settings(data), apis=APIS, plugins=()):
                return ""
        except (StartError, LogDirError, OSError) as error:
            return f"{error}"


@pytest.mark.slow
@pytest.mark.parametrize(("name", "content"), diagonal(CONTENTS))
async def test_start_with_random_bytes_in_a_file_succeeds_or_names_the_file(
    data: Path, name: str, content: str
) -> None:
    (data / name).unlink(missing_ok=True)
    (data / name).write_bytes(CONTENTS[content])

    error = await start(data)

    assert not error or Path(name).name in error
    assert "\n" not in error


@pytest.mark.slow
@pytest.mark.parametrize(("name", "kind"), diagonal(KINDS))
async def test_start_with_a_non_regular_file_is_refused_with_its_name(
    data: Path, name: str, kind: str
) -> None:
    (data / name).unlink(missing_ok=True)
    KINDS[kind](data / name)

    error = await start(data)

    assert Path(name).name in error
    assert "\n" not in error


@pytest.mark.slow
@pytest.mark.parametrize("name", [*SMALL_FILES, *BINARY_FILES[3:]])
async def test_start_with_a_sparse_file_of_huge_size_succeeds_or_names_the_file(
    data: Path, name: str
) -> None:
    (data / name).unlink(missing_ok=True)
    make_sparse(data / name)

    error = await start(data)

    assert not error or Path(name).name in error


async def test_largest_possible_leader_epoch_in_quorum_state_is_refused(data: Path) -> None:
    state = (data / QUORUM_STATE).read_text()
    (data / QUORUM_STATE).write_text(state.replace('"leaderEpoch":1', '"leaderEpoch":2147483647'))

    error = await start(data)

    assert "quorum-state: epoch 2147483647" in error


@pytest.mark.parametrize("target", ["t-9", "/nonexistent/directory"])
async def test_partition_link_without_a_directory_is_ignored_at_the_start(
    data: Path, target: str, caplog: pytest.LogCaptureFixture
) -> None:
    (data / "t-9").symlink_to(target)

    assert await start(data) == ""
    assert "foreign file ignored" in caplog.text
