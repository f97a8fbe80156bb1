"""`trio-kafka start`: run a broker until a signal stops it."""

from argparse import ArgumentParser
from collections.abc import Sequence

from trio_kafka.cli.logs import log_warnings, logging_as
from trio_kafka.cli.output import declare_json
from trio_kafka.cli.settings import declare_settings, read_settings


def declare(parser: ArgumentParser) -> None:
    declare_settings(parser)
    parser.add_argument(
        "--embedded",
        action="store_true",
        help="a broker to try: data in ./data, formatted if it is empty; Kafka at 127.0.0.1:9092,"
        " HTTP at port 9644, or free ports where these are taken; prints its addresses when it"
        " is ready; other settings override these",
    )
    parser.add_argument(
        "--format-if-empty",
        action="store_true",
        help="format empty data directories, instead of failing",
    )
    parser.add_argument(
        "--testing",
        action="store_true",
        help="a broker for tests: free ports on loopback, files in memory, test"
        " controls over HTTP; prints one line of JSON with its addresses, as --json does, and"
        " `testing`; other settings override these",
    )
    parser.add_argument(
        "--with-parent",
        action="store_true",
        help="stop when the process that has started this one ends",
    )
    declare_json(
        parser,
        "one JSON object on one line when the broker is ready: `bootstrap`, `http`, `ui`,"
        " `directories`, `node_id`",
    )


def start(
    *,
    files: Sequence[str],
    config: Sequence[str],
    embedded: bool,
    format_if_empty: bool,
    testing: bool,
    with_parent: bool,
    json: bool,
) -> int:
    """Run a broker until SIGTERM, SIGINT or SIGHUP.

    Without process.roles in its settings it is a node on its own: broker and controller in one.
    """
    # Imports wait until they are needed: a refusal is quick, and a broker pays for what it uses.
    below, ready = None, None
    if testing or with_parent:
        from trio_kafka.cli import testing_broker  # noqa: PLC0415

        if with_parent:
            testing_broker.end_with_parent()
    if testing:
        ready = testing_broker.print_testing_addresses
        below = testing_broker.quick_settings()
    elif embedded or json:
        from trio_kafka.cli import embedded as embedding  # noqa: PLC0415

        ready = embedding.print_addresses if json else embedding.print_banner
        below = embedding.embedded_settings() if embedded else None
    loaded = read_settings(files, config, below)
    with logging_as(loaded.config):
        log_warnings(loaded)
        from trio_kafka.broker.main import serve, this_machine  # noqa: PLC0415

        return serve(
            loaded.config,
            format_if_empty=format_if_empty or embedded or testing,
            ready=ready,
            machine=testing_broker.machine_for(loaded.config) if testing else this_machine,
        )
