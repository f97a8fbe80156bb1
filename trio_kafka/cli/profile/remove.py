"""`trio-kafka profile remove`: remove profiles."""

from argparse import ArgumentParser
from collections.abc import Sequence

from trio_kafka.cli.output import declare_json, print_answer
from trio_kafka.cli.saved_profiles import read_profiles, write_profiles


def declare(parser: ArgumentParser) -> None:
    parser.add_argument("name", nargs="+", metavar="NAME")
    declare_json(parser, "one JSON object: `removed`")


def remove(*, name: Sequence[str], json: bool) -> int:
    """Remove profiles, all of them or none."""
    profiles = read_profiles()
    names = list(dict.fromkeys(name))
    for word in names:
        profiles = profiles.without(word)
    write_profiles(profiles)
    return print_answer(
        names,
        lambda rows: {"removed": rows},
        lambda rows: [f"done: removed profile {word}" for word in rows],
        json=json,
    )
