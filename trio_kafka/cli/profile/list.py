"""`trio-kafka profile list`: the named clusters."""

from argparse import ArgumentParser
from collections.abc import Iterator
from typing import Final

from trio_kafka.cli.cluster_address import SERVERS
from trio_kafka.cli.output import LEFT, columns, declare_json, print_answer
from trio_kafka.cli.saved_profiles import Profiles, read_profiles

_HEAD: Final = ("profile", "addresses", "used")


def declare(parser: ArgumentParser) -> None:
    declare_json(parser, "one JSON object: `profiles`")


def list_profiles(*, json: bool) -> int:
    """Show the named clusters, and which one commands ask without an option."""
    return print_answer(read_profiles(), as_data, as_text, json=json)


def as_data(profiles: Profiles) -> dict[str, object]:
    """Return the profiles for JSON, by name."""
    rows = [
        {"name": name, "bootstrap": settings.get(SERVERS), "used": name == profiles.used}
        for name, settings in sorted(profiles.profiles.items())
    ]
    return {"profiles": rows}


def as_text(profiles: Profiles) -> Iterator[str]:
    """Yield the lines of a table."""
    rows = [
        [name, settings.get(SERVERS, "-"), "yes" if name == profiles.used else ""]
        for name, settings in sorted(profiles.profiles.items())
    ]
    yield from columns(_HEAD, rows, [LEFT] * 3)
