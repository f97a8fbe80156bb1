"""`trio-kafka profile use`: choose the profile of all commands."""

from argparse import ArgumentParser

from attrs import evolve

from trio_kafka.cli import CommandFailedError
from trio_kafka.cli.output import declare_json, print_answer
from trio_kafka.cli.saved_profiles import read_profiles, write_profiles


def declare(parser: ArgumentParser) -> None:
    parser.add_argument("name", nargs="?", metavar="NAME")
    parser.add_argument("--none", action="store_true", help="go back to no profile")
    declare_json(parser, "one JSON object: `used`")


def use(*, name: str | None, none: bool, json: bool) -> int:
    """Choose the profile of commands that no option and no variable tells a cluster."""
    if (name is None) != none:
        raise CommandFailedError("give a NAME, or --none")
    profiles = read_profiles()
    if name is not None:
        profiles.find(name)
    write_profiles(evolve(profiles, used=name))
    text = f"done: commands use {f'profile {name}' if name else 'no profile'}"
    return print_answer(name, lambda used: {"used": used}, lambda _: [text], json=json)
