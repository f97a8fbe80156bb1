"""docs/reference/command-line.md names every command that prints JSON."""

from tests.project.tree import ROOT
from trio_kafka.cli import COMMANDS

PAGE = (ROOT / "docs" / "reference" / "command-line.md").read_text()


def test_every_command_has_its_json_described() -> None:
    assert [name for name in COMMANDS if f"| `{name}` | " not in PAGE] == []
