"""docs/how-to/embed.md: its programs run, its test passes."""

import re
import subprocess
import sys
from pathlib import Path
from textwrap import dedent

import pytest

from tests.project.tree import ROOT

GUIDE = (ROOT / "docs" / "how-to" / "embed.md").read_text()
PROGRAM, THREADED, TEST = (
    dedent(block)
    for block in re.findall(r"^ *```python\n(.*?)^ *```$", GUIDE, re.MULTILINE | re.DOTALL)
)


@pytest.mark.slow
def test_program_in_the_embed_guide_serves_and_stops_cleanly(tmp_path: Path) -> None:
    (tmp_path / "embedded.py").write_text(PROGRAM)

    done = subprocess.run(
        [sys.executable, "embedded.py"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=50,
        check=False,
    )

    assert done.returncode == 0, done.stderr
    assert re.fullmatch(r"a broker serves at 127\.0\.0\.1:\d+\n", done.stdout)
    assert (tmp_path / "data" / ".kafka_cleanshutdown").exists()


def test_broker_in_a_thread_in_the_embed_guide_serves(capsys: pytest.CaptureFixture[str]) -> None:
    exec(THREADED, {})

    assert re.fullmatch(r"127\.0\.0\.1:\d+\n\[b'one', b'two'\]\n", capsys.readouterr().out)


def test_example_test_in_the_embed_guide_passes() -> None:
    names: dict[str, object] = {}
    exec(TEST, names)
    [test] = [value for name, value in names.items() if name.startswith("test_")]

    test()
