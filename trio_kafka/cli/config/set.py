"""`trio-kafka config set`: settings of a topic, broker, logger or group."""

from argparse import ArgumentParser
from collections.abc import Sequence

from trio_kafka.cli.admin import declare_change, parse_pairs
from trio_kafka.cli.config.changes import change_settings, declare_resources


def declare(parser: ArgumentParser) -> None:
    declare_resources(parser)
    parser.add_argument("setting", nargs="+", metavar="NAME=VALUE")
    declare_change(parser)


def set_values(
    *,
    kind: str,
    name: str,
    setting: Sequence[str],
    dry_run: bool,
    bootstrap: str,
    timeout: float,
    json: bool,
) -> int:
    """Set values of a topic, broker, logger or group."""
    values = dict[str, str | None](parse_pairs("SETTING", setting))
    return change_settings(
        kind, [name], values, bootstrap=bootstrap, timeout=timeout, dry_run=dry_run, json=json
    )
