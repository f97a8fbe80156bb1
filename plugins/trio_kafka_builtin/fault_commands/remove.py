"""`trio-kafka fault remove`: remove rules by name."""

from argparse import ArgumentParser
from collections.abc import Sequence

from trio_kafka_builtin.fault_commands.client import ask, declare_address, show


def declare(parser: ArgumentParser) -> None:
    parser.add_argument("names", nargs="+", metavar="NAME", help="name of a rule")
    declare_address(parser)


def remove(*, names: Sequence[str], at: str | None, json: bool) -> int:
    """Remove rules, release the requests that they hold, and show their last counts.

    The first name without a rule ends the command.
    """
    removed = []
    for name in names:
        removed.append(ask(at, "GET", name))
        ask(at, "DELETE", name)
    show(removed, as_json=json)
    return 0
