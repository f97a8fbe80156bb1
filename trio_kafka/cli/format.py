"""`trio-kafka format`: give empty data directories their identity."""

from typing import Annotated

from cyclopts import Parameter

from trio_kafka.cli.logs import log_warnings, logging_as
from trio_kafka.cli.settings import REFUSED, Files, Options, read_settings


def format_storage(
    *files: Files,
    config: Options = None,
    cluster_id: str | None = None,
    ignore_formatted: Annotated[bool, Parameter(negative="")] = False,
) -> int:
    """Give the data directories of a broker their identity, before its first start.

    Parameters
    ----------
    cluster_id
        The cluster that the directories belong to; a new one if it is not given.
    ignore_formatted
        Leave directories that have an identity as they are, instead of refusing them.
    """
    loaded = read_settings(files, config)
    if loaded is None:
        return REFUSED
    with logging_as(loaded.config):
        log_warnings(loaded)
        from trio_kafka.broker.main import format_directories  # noqa: PLC0415 - as `start`

        return format_directories(
            loaded.config, cluster_id=cluster_id, ignore_formatted=ignore_formatted
        )
