"""`trio-kafka topic alter`: settings of topics."""

from argparse import ArgumentParser
from collections.abc import Sequence

from trio_kafka.cli import CommandFailedError
from trio_kafka.cli.admin import declare_change, parse_pairs
from trio_kafka.cli.broker_client import open_client, parse_addresses
from trio_kafka.cli.config.changes import change_settings
from trio_kafka.cli.topic.list import declare_topics
from trio_kafka.cli.topics import UNKNOWN, find_topics


def declare(parser: ArgumentParser) -> None:
    declare_topics(parser)
    parser.add_argument(
        "-s", "--set", action="append", default=[], metavar="NAME=VALUE", help="may be repeated"
    )
    parser.add_argument(
        "-u",
        "--unset",
        action="append",
        default=[],
        metavar="NAME",
        help="back to the default; may be repeated",
    )
    declare_change(parser)


def alter(
    *,
    topic: Sequence[str],
    regex: bool,
    set: Sequence[str],  # noqa: A002 - the name of the option
    unset: Sequence[str],
    dry_run: bool,
    bootstrap: str,
    timeout: float,
    json: bool,
) -> int:
    """Change settings of topics."""
    values = dict[str, str | None](parse_pairs("--set", set)) | dict.fromkeys(unset)
    if not values:
        raise CommandFailedError("give --set NAME=VALUE, or --unset NAME")
    with open_client(parse_addresses(bootstrap), timeout, unknown=UNKNOWN) as send:
        names = [row.name or "" for row in find_topics(send, topic, regex=regex)]
    return change_settings(
        "topics", names, values, bootstrap=bootstrap, timeout=timeout, dry_run=dry_run, json=json
    )
