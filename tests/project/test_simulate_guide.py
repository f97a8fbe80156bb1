"""docs/how-to/simulate.md: its tests pass, and its table names every kind of fault."""

import re

import pytest

from tests.project.tree import ROOT
from trio_kafka.testing.simulate.decorator import SEED, SEEDS
from trio_kafka.testing.simulate.replay_log import LOG
from trio_kafka.testing.simulate.schedule import ARGUMENTS, KINDS

GUIDE = (ROOT / "docs" / "how-to" / "simulate.md").read_text()
BLOCKS = re.findall(r"^```python\n(.*?)^```$", GUIDE, re.MULTILINE | re.DOTALL)


@pytest.mark.slow
@pytest.mark.parametrize("block", BLOCKS, ids=["seeds", "schedules", "notes"])
def test_example_tests_in_the_simulate_guide_pass(block: str) -> None:
    names: dict[str, object] = {"__name__": "guide"}
    exec(block, names)
    [test] = [value for name, value in names.items() if name.startswith("test_")]

    test()


def test_simulate_guide_lists_every_kind_of_fault_with_its_arguments() -> None:
    rows = dict(re.findall(r"^\| (\w+) \| (`\w+\(.*) \|$", GUIDE, re.MULTILINE))

    assert {group: re.findall(r"`(\w+)\(([^)]*)\)`", text) for group, text in rows.items()} == {
        group: [(kind, ", ".join(argument.name for argument in ARGUMENTS[kind])) for kind in kinds]
        for group, kinds in KINDS.items()
    }


def test_simulate_guide_names_the_environment_variables() -> None:
    assert all(f"{name}=" in GUIDE for name in (SEED, SEEDS, LOG))


def test_simulate_guide_has_at_most_130_lines() -> None:
    assert len(GUIDE.splitlines()) <= 130
