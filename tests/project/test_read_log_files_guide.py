"""docs/how-to/read-log-files.md: its commands are run on files that Kafka wrote."""

import re
from pathlib import Path

import pytest

from tests.cli.log.kit import extract
from tests.project.tree import ROOT
from trio_kafka.cli import main

GUIDE = (ROOT / "docs" / "how-to" / "read-log-files.md").read_text()
COMMANDS = re.findall(r"^    trio-kafka (log .*)$", GUIDE, re.MULTILINE)


@pytest.fixture
def data(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A log directory `data` beside, with a topic `orders`."""
    folder = tmp_path / "data"
    folder.mkdir()
    for archive in ("txn", "consumer_offsets", "log_dir_root"):
        extract(archive, folder)
    (folder / "txn-0").rename(folder / "orders-0")
    monkeypatch.chdir(tmp_path)
    return folder


@pytest.mark.usefixtures("data")
@pytest.mark.parametrize("command", COMMANDS)
def test_every_log_command_of_the_guide_succeeds_and_prints_output(
    command: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(command.split()) == 0

    assert len(capsys.readouterr().out.splitlines()) >= 1


@pytest.mark.usefixtures("data")
def test_log_dump_prints_the_rows_shown_in_the_guide(capsys: pytest.CaptureFixture[str]) -> None:
    main(["log", "dump", "data/orders-0"])
    lines = [line.strip() for line in capsys.readouterr().out.splitlines()]

    shown = re.findall(r"^ +(position +bytes.*|78 +246.*)$", GUIDE, re.MULTILINE)
    assert len(shown) == 2
    assert all(row in lines for row in shown)


def test_every_option_named_in_the_log_files_guide_exists(
    capsys: pytest.CaptureFixture[str],
) -> None:
    helps = []
    for command in ("dump", "verify", "stats"):
        assert main(["log", command, "--help"]) == 0
        helps.append(capsys.readouterr().out)

    ours = set(re.findall(r"--[a-z][a-z-]*", GUIDE.split("## If you know")[0]))
    assert ours <= set(re.findall(r"--[a-z-]+", "".join(helps)))
