"""Pages whose Python blocks run as tests of pytest, all pages in one run."""

import re
import subprocess
import sys
from collections import Counter
from pathlib import Path
from textwrap import dedent

from tests.project.tree import ROOT
from trio_kafka.attributes import frozen

BLOCK = re.compile(r"^ *```python\n(.*?)^ *```$", re.MULTILINE | re.DOTALL)
OPTIONS = ("-p", "no:randomly", "-p", "no:cacheprovider", "-p", "no:asyncio", "-q", "-rA")
# Pages of the documentation, by the name of their module, and how many blocks each has.
PAGES = {
    "administer": ("docs/how-to/administer-with-trio.md", 2),
    "consume": ("docs/how-to/consume-with-trio.md", 4),
    "exactly_once": ("docs/how-to/exactly-once.md", 3),
    "produce": ("docs/how-to/produce-with-trio.md", 3),
    "readme": ("README.md", 1),
    "testing": ("docs/how-to/test-your-application.md", 10),
}
RESULT = re.compile(r"^(PASSED|FAILED|ERROR) test_(\w+?)_block\d+\.py\b", re.MULTILINE)


@frozen
class Outcome:
    """End of a run of all pages. results: how often each, with the name of the page's module."""

    results: Counter[tuple[str, str]]
    printed: str

    def check(self, name: str) -> None:
        """Hold that each test of a page has passed. Raises AssertionError with all output."""
        blocks, count = blocks_of(name), PAGES[name][1]

        assert len(blocks) == count
        assert self.results["PASSED", name] == sum(map(count_tests, blocks)) > 0, self.printed
        assert not self.results["FAILED", name] + self.results["ERROR", name], self.printed


def python_blocks(page: str) -> list[str]:
    """Return the blocks of a page that are marked `python`, and nothing more."""
    return [dedent(block) for block in BLOCK.findall((ROOT / page).read_text())]


def blocks_of(name: str) -> list[str]:
    """Return the blocks of a page that run as tests; those of the README are few among others."""
    result = python_blocks(PAGES[name][0])
    return [block for block in result if count_tests(block)] if name == "readme" else result


def count_tests(block: str) -> int:
    return len(re.findall(r"def test_", block))


def run_all(directory: Path) -> Outcome:
    """Run each block of each page as a module of its own, in one process of pytest."""
    for name in PAGES:
        for number, block in enumerate(blocks_of(name)):
            (directory / f"test_{name}_block{number}.py").write_text(block)
    (directory / "pytest.ini").write_text("[pytest]\n")
    done = subprocess.run(
        [sys.executable, "-m", "pytest", *OPTIONS],
        cwd=directory,
        capture_output=True,
        text=True,
        check=False,
    )
    return Outcome(Counter(RESULT.findall(done.stdout)), done.stdout + done.stderr)
