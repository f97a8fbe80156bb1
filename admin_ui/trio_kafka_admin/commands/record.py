"""`trio-kafka record`: a trace of what runs in the next seconds."""

from argparse import ArgumentParser
from collections.abc import Mapping
from typing import Final

from trio_kafka_admin.commands.fetch import declare_target, fetch

SECONDS: Final = 10
COMMANDS: Final[Mapping[str, tuple[str, str]]] = {
    "": (f"{__name__}:record", "Record what runs in the next seconds, for Perfetto."),
}


def declare(parser: ArgumentParser) -> None:
    declare_target(parser, file_name="trio-kafka-trace.json")
    parser.add_argument(
        "--seconds", type=int, default=SECONDS, help=f"how long, 1 to 20 (default: {SECONDS})"
    )


def record(*, at: str | None, output: str, seconds: int) -> int:
    """Record which task runs when, and each request that ends, with its way through the broker.

    Open the file at ui.perfetto.dev or chrome://tracing.
    """
    size = fetch(at, "trace", {"seconds": seconds}, output, more_s=seconds)
    print(f"{output}: {size:,} bytes")
    return 0
