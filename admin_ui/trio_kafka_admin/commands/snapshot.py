"""`trio-kafka snapshot`: all pages of the admin UI as one HTML file."""

from argparse import ArgumentParser
from collections.abc import Mapping
from typing import Final

from trio_kafka_admin.commands.fetch import declare_target, fetch

COMMANDS: Final[Mapping[str, tuple[str, str]]] = {
    "": (f"{__name__}:snapshot", "Keep all pages of the admin UI as one HTML file."),
}


def declare(parser: ArgumentParser) -> None:
    declare_target(parser, file_name="trio-kafka-snapshot.html")
    parser.add_argument(
        "--anonymous",
        action="store_true",
        help="replace names of topics, groups, clients and machines",
    )


def snapshot(*, at: str | None, output: str, anonymous: bool) -> int:
    """Keep all pages of the admin UI as one HTML file, which opens without a broker.

    It has no contents of records and no secrets.
    """
    size = fetch(at, "snapshot", {"anonymous": int(anonymous)}, output)
    print(f"{output}: {size:,} bytes")
    return 0
