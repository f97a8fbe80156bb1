"""`trio-kafka version`: the release, and the release of Kafka whose protocol and files it has."""

from argparse import ArgumentParser
from importlib import metadata
from typing import Final

_KAFKA: Final = "4.4"


def declare(parser: ArgumentParser) -> None:
    # Not `declare_json`: this command imports nothing else.
    parser.add_argument("--json", action="store_true", help="print one JSON object")


def version(*, json: bool = False) -> int:
    """Print the version of trio-kafka, and of the Kafka release that it follows."""
    release = metadata.version("trio-kafka")
    if json:
        print(f'{{"trio_kafka": "{release}", "kafka": "{_KAFKA}"}}')
    else:
        print(f"trio-kafka {release} (Kafka {_KAFKA})")
    return 0
