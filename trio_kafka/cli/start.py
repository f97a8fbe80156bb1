"""`trio-kafka start`: run a broker until it is told to stop."""

from argparse import ArgumentParser
from collections.abc import Sequence

from trio_kafka.cli.logs import log_warnings, logging_as
from trio_kafka.cli.settings import REFUSED, declare_settings, read_settings


def declare(parser: ArgumentParser) -> None:
    declare_settings(parser)
    parser.add_argument(
        "--embedded",
        action="store_true",
        help="a broker to try: data in ./data, formatted if it is empty; at 127.0.0.1:9092, or at"
        " a free port if that one is taken; prints its address when it serves; settings go over"
        " this",
    )
    parser.add_argument(
        "--format-if-empty",
        action="store_true",
        help="format data directories that are empty, instead of refusing to start",
    )


def start(
    *, files: Sequence[str], config: Sequence[str], embedded: bool, format_if_empty: bool
) -> int:
    """Run a broker until it is told to stop (SIGTERM or SIGINT).

    Without process.roles in its settings it is a node on its own: broker and controller in one.
    """
    # Imports wait until they are needed: a refusal is quick, and a broker pays for what it uses.
    below = None
    if embedded:
        from trio_kafka.cli.embedded import embedded_settings, print_banner  # noqa: PLC0415

        below = embedded_settings()
    loaded = read_settings(files, config, below)
    if loaded is None:
        return REFUSED
    with logging_as(loaded.config):
        log_warnings(loaded)
        from trio_kafka.broker.main import serve  # noqa: PLC0415

        return serve(
            loaded.config,
            format_if_empty=format_if_empty or embedded,
            ready=print_banner if embedded else None,
        )
