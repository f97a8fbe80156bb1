"""Pages whose Python blocks run as tests of pytest."""

import re
from pathlib import Path
from textwrap import dedent

import pytest

from tests.project.tree import ROOT

BLOCK = re.compile(r"^ *```python\n(.*?)^ *```$", re.MULTILINE | re.DOTALL)
OPTIONS = ["-p", "no:randomly", "-p", "no:cacheprovider", "-q"]


def python_blocks(page: str) -> list[str]:
    """Return the blocks of a page below `docs/` that are marked `python`, and nothing more."""
    return [dedent(block) for block in BLOCK.findall((ROOT / "docs" / page).read_text())]


def run_as_tests(pytester: pytest.Pytester, blocks: list[str], *, loop: str = "no:asyncio") -> None:
    """Run each block as a module of its own, and hold that each of its tests has passed.

    loop: option that says which plugin runs async tests.
    """
    for number, block in enumerate(blocks):
        Path(pytester.path, f"test_block{number}.py").write_text(block)
    count = sum(len(re.findall(r"def test_", block)) for block in blocks)

    outcome = pytester.runpytest_subprocess(*OPTIONS, "-p", loop)

    assert count > 0
    outcome.assert_outcomes(passed=count)
