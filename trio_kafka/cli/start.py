"""`trio-kafka start`: run a broker until it is told to stop."""

from typing import Annotated

from cyclopts import Parameter

from trio_kafka.cli.logs import log_warnings, logging_as
from trio_kafka.cli.settings import REFUSED, File, Options, read_settings


def start(
    file: File = None,
    /,
    *,
    config: Options = None,
    format_if_empty: Annotated[bool, Parameter(negative="")] = False,
) -> int:
    """Run a broker until it is told to stop (SIGTERM or SIGINT).

    Without process.roles in its settings it is a node on its own: broker and controller in one.

    Parameters
    ----------
    format_if_empty
        Format data directories that are empty, instead of refusing to start.
    """
    loaded = read_settings(file, config)
    if loaded is None:
        return REFUSED
    with logging_as(loaded.config):
        log_warnings(loaded)
        # Imported when the settings are known to be good: a refusal is quick.
        from trio_kafka.broker.main import serve  # noqa: PLC0415

        return serve(loaded.config, format_if_empty=format_if_empty)
