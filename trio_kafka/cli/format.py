"""`trio-kafka format`: give empty data directories their identity."""

from argparse import ArgumentParser
from collections.abc import Sequence

from trio_kafka.cli.logs import log_warnings, logging_as
from trio_kafka.cli.settings import REFUSED, declare_settings, read_settings


def declare(parser: ArgumentParser) -> None:
    declare_settings(parser)
    parser.add_argument(
        "--cluster-id",
        metavar="ID",
        help="the cluster that the directories belong to; a new one if it is not given",
    )
    parser.add_argument(
        "--ignore-formatted",
        action="store_true",
        help="leave directories that have an identity as they are, instead of refusing them",
    )


def format_storage(
    *, files: Sequence[str], config: Sequence[str], cluster_id: str | None, ignore_formatted: bool
) -> int:
    """Give the data directories of a broker their identity, before its first start."""
    loaded = read_settings(files, config)
    if loaded is None:
        return REFUSED
    with logging_as(loaded.config):
        log_warnings(loaded)
        from trio_kafka.broker.main import format_directories  # noqa: PLC0415 - as `start`

        return format_directories(
            loaded.config, cluster_id=cluster_id, ignore_formatted=ignore_formatted
        )
