"""`trio-kafka fault list`: show the rules of a broker."""

from argparse import ArgumentParser

from trio_kafka_builtin.fault_commands.client import ask, declare_address, show


def declare(parser: ArgumentParser) -> None:
    declare_address(parser)


def list_rules(*, at: str | None, json: bool) -> int:
    """Show the rules in force with their counts, in the order in which they apply.

    SEEN counts the requests that matched, HITS those that got the fault, HELD those that the rule
    holds at present.
    """
    show(ask(at, "GET")["rules"], as_json=json)
    return 0
