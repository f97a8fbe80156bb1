"""`trio-kafka profile show`: the settings of a profile."""

from argparse import ArgumentParser
from typing import Final

from trio_kafka.cli.output import LEFT, columns, declare_json, print_answer
from trio_kafka.cli.saved_profiles import read_profiles, shown

_HEAD: Final = ("setting", "value")


def declare(parser: ArgumentParser) -> None:
    parser.add_argument("name", metavar="NAME")
    declare_json(parser, "one JSON object: `name`, `settings`")


def show(*, name: str, json: bool) -> int:
    """Show the settings of a profile. Values of secrets are hidden."""
    settings = shown(read_profiles().find(name))
    return print_answer(
        settings,
        lambda rows: {"name": name, "settings": rows},
        lambda rows: columns(_HEAD, [[*row] for row in rows.items()], [LEFT, LEFT]),
        json=json,
    )
