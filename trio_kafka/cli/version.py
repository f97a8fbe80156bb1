"""`trio-kafka version`: the release, and the release of Kafka whose protocol and files it has."""

from argparse import ArgumentParser
from importlib import metadata
from typing import Final

from trio_kafka.records.leaf import RECORDS_BY

_KAFKA: Final = "4.4"


def declare(parser: ArgumentParser) -> None:
    # Not `declare_json`: this command imports little else.
    parser.add_argument("--json", action="store_true", help="print one JSON object")


def version(*, json: bool = False) -> int:
    """Print the version of trio-kafka, of the Kafka that it follows, and what reads records."""
    release = metadata.version("trio-kafka")
    if json:
        print(f'{{"trio_kafka": "{release}", "kafka": "{_KAFKA}", "records": "{RECORDS_BY}"}}')
    else:
        print(f"trio-kafka {release} (Kafka {_KAFKA}; records: {RECORDS_BY})")
    return 0
