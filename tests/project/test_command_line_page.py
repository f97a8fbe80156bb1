"""docs/reference/command-line.md names every command that prints JSON."""

from tests.project.tree import ROOT
from trio_kafka.cli.commands import COMMANDS

PAGE = (ROOT / "docs" / "reference" / "command-line.md").read_text()


def test_command_line_page_describes_the_json_of_every_command() -> None:
    assert [name for name in COMMANDS if f"| `{name}` | " not in PAGE] == []
