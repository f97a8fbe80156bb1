"""`trio-kafka config unset`: settings of a topic, broker, logger or group."""

from argparse import ArgumentParser
from collections.abc import Sequence

from trio_kafka.cli.admin import declare_change
from trio_kafka.cli.config.changes import change_settings, declare_resources


def declare(parser: ArgumentParser) -> None:
    declare_resources(parser)
    parser.add_argument("setting", nargs="+", metavar="NAME")
    declare_change(parser)


def unset_values(
    *,
    kind: str,
    name: str,
    setting: Sequence[str],
    dry_run: bool,
    bootstrap: str,
    timeout: float,
    json: bool,
) -> int:
    """Set settings of a topic, broker, logger or group back to their defaults."""
    values = dict[str, str | None].fromkeys(setting)
    return change_settings(
        kind, [name], values, bootstrap=bootstrap, timeout=timeout, dry_run=dry_run, json=json
    )
