import os
import subprocess
from pathlib import Path

import pytest

from tests.benchmarks.compare import TREE, main, options
from tests.project.tree import ROOT


def test_unknown_revision_ends_the_command_with_one_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    subprocess.run(["git", "init", "--quiet"], cwd=tmp_path, check=True)

    assert main(["absent"], root=tmp_path) == 2

    assert capsys.readouterr().err == (
        "bench: no commit is named 'absent': want a commit, branch or tag of this repository\n"
    )
    assert not (tmp_path / "build").exists()


def test_unknown_row_ends_the_command_before_anything_is_exported(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["HEAD", "absent"], root=tmp_path) == 2

    assert capsys.readouterr().err == "bench: no row matches 'absent'\n"
    assert list(tmp_path.iterdir()) == []


def test_make_passes_revision_and_rows_to_the_comparison() -> None:
    environment = {name: value for name, value in os.environ.items() if name != "MAKEFLAGS"}
    command = ["make", "--dry-run", "bench", "BASE=a5bb673", "ARGS=start --repetitions 2"]

    result = subprocess.run(
        command, cwd=ROOT, env=environment, capture_output=True, text=True, check=True
    )

    last = result.stdout.splitlines()[-1]
    arguments = last.partition("tests.benchmarks.compare ")[2].replace("'", "").split()
    chosen = options(arguments)
    assert (chosen.base, chosen.rows, chosen.repetitions) == ("a5bb673", ["start"], 2)


@pytest.mark.long
@pytest.mark.slow
def test_comparison_with_the_last_commit_prints_a_line_and_leaves_no_data(
    capsys: pytest.CaptureFixture[str],
) -> None:
    arguments = ["--repetitions", "1", "--warm-ups", "0", "--seconds", "0.2"]

    assert main(["HEAD", "api-versions-1x32", *arguments]) == 0

    header, line = capsys.readouterr().out.splitlines()
    assert header.split()[2:4] == ["HEAD", TREE]
    assert line.split()[0] == "api-versions-1x32"
    assert list((ROOT / "build" / "bench").glob("data-*")) == []
