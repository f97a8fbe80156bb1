"""`trio-kafka format`: give empty data directories their identity."""

import os
from argparse import ArgumentParser
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from trio_kafka.cli import CommandFailedError
from trio_kafka.cli.logs import log_warnings, logging_as
from trio_kafka.cli.output import declare_json, print_json
from trio_kafka.cli.settings import declare_settings, read_settings
from trio_kafka.config.broker import BrokerConfig

if TYPE_CHECKING:
    from trio_kafka.protocol.stored.metadata.security import UserScramCredentialRecord


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
    parser.add_argument(
        "--add-scram",
        action="append",
        default=[],
        metavar="USER",
        help="a first user: SCRAM-SHA-256=[name=ann,password=secret]; may be repeated."
        " @FILE: read it from a file",
    )
    declare_json(parser, "one JSON object: `cluster_id`, `node_id`, `directories`")


def format_storage(
    *,
    files: Sequence[str],
    config: Sequence[str],
    cluster_id: str | None,
    ignore_formatted: bool,
    add_scram: Sequence[str],
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
            users=[_user(text) for text in add_scram],
            formatted=partial(_print_formatted, loaded.config) if json else None,
        )


def _user(text: str) -> "UserScramCredentialRecord":
    """Return the record of a first user. Raises CommandFailedError, which shows no secret."""
    from trio_kafka.security.sasl.first_users import first_user  # noqa: PLC0415 - rare

    try:
        if text.startswith("@"):
            text = Path(text[1:]).read_text(encoding="utf-8")
        return first_user(text, os.urandom)
    except OSError as error:
        raise CommandFailedError(f"--add-scram {text}: {error.strerror}") from error
    except ValueError as error:
        raise CommandFailedError(f"--add-scram: {error}") from error


def _print_formatted(config: BrokerConfig, cluster_id: str) -> None:
    directories = list(config.directories)
    print_json({"cluster_id": cluster_id, "node_id": config.node_id, "directories": directories})
