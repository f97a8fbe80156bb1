"""docs/tutorial/first-api.md, block by block: what it says to write is written, what it says to run
is run, in a network of its own.
"""

import re
from pathlib import Path

import pytest

from tests.project.shell_pages import Block, blocks, can_isolate, run_blocks
from tests.project.tree import ROOT

PAGE = ROOT / "docs" / "tutorial" / "first-api.md"
# As `pip install -e` leaves the package: in the path, its entry points known.
INSTALLED = """mkdir dice/dice-1.dist-info
printf 'Metadata-Version: 2.1\\nName: dice\\nVersion: 1\\n' > dice/dice-1.dist-info/METADATA
printf '[trio_kafka.plugins]\\ndice = dice:dice\\n' > dice/dice-1.dist-info/entry_points.txt"""
# The environment of these tests stands for the environment of the page.
REPLACED = {
    "python3 -m venv": ":",
    ". rolls/": ":",
    'pip install "./trio-kafka': ":",
    "pip install -e dice": INSTALLED,
}


def as_command(block: Block) -> str:
    """A shell block as it stands, or the writing of a block whose first line names its file."""
    if block.language == "sh":
        return block.text
    name, _, rest = block.text.partition("\n")
    if block.language == "python":
        return f"cat > {name.removeprefix('# ')} <<'END_OF_FILE'\n{rest}END_OF_FILE"
    return f"grep -F '{block.text.splitlines()[-1]}' dice/pyproject.toml"


@pytest.mark.slow
@pytest.mark.timeout(150)
def test_all_blocks_of_the_first_api_tutorial_run_as_described(tmp_path: Path) -> None:
    if not can_isolate():
        pytest.skip("unshare gives no network namespace here: install util-linux and iproute2")
    steps = list(blocks(PAGE))

    printed = run_blocks(
        [as_command(block) for block in steps],
        tmp_path,
        replaced=REPLACED,
        path=str(tmp_path / "dice"),
    )

    shell = [text for block, text in zip(steps, printed, strict=True) if block.language == "sh"]
    assert "3 passed" in shell[1]
    assert "3 passed" in shell[2]
    assert "api:Roll(10150)" in shell[4]
    assert re.fullmatch(r"rolled( \d+){3}\n", shell[5])
    assert shell[-1].splitlines()[-1] == "rolled 20 20 20"
    assert "It prints `rolled 20 20 20`" in PAGE.read_text()
