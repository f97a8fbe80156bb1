"""`trio-kafka format`: give empty data directories their identity."""

from argparse import ArgumentParser
from collections.abc import Sequence
from functools import partial

from trio_kafka.cli.logs import log_warnings, logging_as
from trio_kafka.cli.output import declare_json, print_json
from trio_kafka.cli.settings import declare_settings, read_settings
from trio_kafka.config.broker import BrokerConfig


def declare(parser: ArgumentParser) -> None:
    declare_settings(parser)
    parser.add_argument(
        "--cluster-id",
        metavar="ID",
        help="id of the cluster that the directories belong to (default: a new id)",
    )
    parser.add_argument(
        "--ignore-formatted",
        action="store_true",
        help="leave formatted directories as they are, instead of failing",
    )
    declare_json(parser, "one JSON object: `cluster_id`, `node_id`, `directories`")


def format_storage(
    *,
    files: Sequence[str],
    config: Sequence[str],
    cluster_id: str | None,
    ignore_formatted: bool,
    json: bool,
) -> int:
    """Give the data directories of a broker their identity, before its first start."""
    loaded = read_settings(files, config)
    with logging_as(loaded.config):
        log_warnings(loaded)
        from trio_kafka.broker.main import format_directories  # noqa: PLC0415 - see start.py

        return format_directories(
            loaded.config,
            cluster_id=cluster_id,
            ignore_formatted=ignore_formatted,
            formatted=partial(_print_formatted, loaded.config) if json else None,
        )


def _print_formatted(config: BrokerConfig, cluster_id: str) -> None:
    directories = list(config.directories)
    print_json({"cluster_id": cluster_id, "node_id": config.node_id, "directories": directories})
