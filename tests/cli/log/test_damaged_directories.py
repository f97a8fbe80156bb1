"""The commands never fail themselves, whatever is in the files."""

import random
import shutil
from pathlib import Path

import pytest

from tests.cli.log.kit import ARCHIVES, extract
from trio_kafka.cli import main

COMMANDS = (
    ("dump", "--records"),
    ("dump", "--records", "--json", "--decoder", "metadata"),
    ("verify",),
    ("verify", "--quick", "--json"),
    ("stats", "--records"),
)


def damage(folder: Path, chance: random.Random) -> None:
    """One to three changes: bytes flipped, cut, put in, overwritten, files removed."""
    for _ in range(chance.randint(1, 3)):
        files = [path for path in sorted(folder.rglob("*")) if path.is_file()]
        if not files:
            return
        path = chance.choice(files)
        content = bytearray(path.read_bytes())
        at = chance.randrange(len(content) + 1)
        match chance.randrange(5):
            case 0:
                content[at : at + 1] = chance.randbytes(1)
            case 1:
                del content[at:]
            case 2:
                content[at:at] = chance.randbytes(chance.randint(1, 200))
            case 3:
                content[at : at + 4] = b"\xff" * 4
            case 4:
                path.unlink()
                continue
        path.chmod(0o600)
        path.write_bytes(content)


@pytest.mark.parametrize("archive", ARCHIVES)
def test_every_log_command_on_a_damaged_directory_ends_with_status_0_or_1(
    archive: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    chance = random.Random(archive)
    whole = tmp_path / "whole"
    whole.mkdir()
    extract(archive, whole)
    for number in range(4):
        folder = tmp_path / str(number)
        shutil.copytree(whole, folder)
        damage(folder, chance)

        statuses = [main(["log", *command, str(folder)]) for command in COMMANDS]

        assert set(statuses) <= {0, 1}
        shown = capsys.readouterr()
        assert "Traceback" not in shown.err
