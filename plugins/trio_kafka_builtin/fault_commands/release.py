"""`trio-kafka fault release`: let the requests go on that a rule holds."""

from argparse import ArgumentParser

from trio_kafka_builtin.fault_commands.client import ask, declare_address, show


def declare(parser: ArgumentParser) -> None:
    parser.add_argument("name", metavar="NAME", help="name of the rule")
    declare_address(parser)


def release(*, name: str, at: str | None, json: bool) -> int:
    """Let the requests go on that a rule with `hold` holds.

    The rule stays in the list, and holds no more.
    """
    show([ask(at, "POST", name, "release")], as_json=json)
    return 0
