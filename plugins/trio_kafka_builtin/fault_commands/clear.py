"""`trio-kafka fault clear`: remove all rules."""

from argparse import ArgumentParser

from trio_kafka_builtin.fault_commands.client import ask, declare_address, show


def declare(parser: ArgumentParser) -> None:
    declare_address(parser)


def clear(*, at: str | None, json: bool) -> int:
    """Remove all rules, release the requests that they hold, and show their last counts."""
    removed = ask(at, "GET")["rules"]
    ask(at, "DELETE")
    show(removed, as_json=json)
    return 0
