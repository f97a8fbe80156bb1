"""Fault rules of a broker that `trio-kafka start --testing` runs.

One line for each command `trio-kafka fault NAME`. Importing this imports no command.
"""

from collections.abc import Mapping
from typing import Final

_HERE: Final = "trio_kafka_builtin.fault_commands"
COMMANDS: Final[Mapping[str, tuple[str, str]]] = {
    "add": (f"{_HERE}.add:add", "Add a rule, or the rules of a file."),
    "list": (f"{_HERE}.list:list_rules", "Show the rules with their counts."),
    "wait": (f"{_HERE}.wait:wait", "Wait until a rule has had some hits."),
    "release": (f"{_HERE}.release:release", "Let the requests go on that a rule holds."),
    "remove": (f"{_HERE}.remove:remove", "Remove rules by name."),
    "clear": (f"{_HERE}.clear:clear", "Remove all rules."),
}

__all__ = ["COMMANDS"]
