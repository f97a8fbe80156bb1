"""Options and checks that the benchmarks share."""

import sys
from argparse import ArgumentParser
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Final

from trio_kafka.cli import CommandFailedError
from trio_kafka.cli.bench.measurement import Measurement
from trio_kafka.cli.broker_client import open_client, parse_addresses
from trio_kafka.cli.broker_options import declare_broker
from trio_kafka.cli.client_settings import client_errors, settings_for
from trio_kafka.cli.output import declare_json, print_answer
from trio_kafka.cli.topics import UNKNOWN, check_leaders, find_topics

if TYPE_CHECKING:
    from trio_kafka.clients.settings.common import ClientSettings

TIMEOUT_S: Final = 30.0
_JSON: Final = (
    "one JSON object: `records`, `bytes`, `seconds`, `records_per_s`, `bytes_per_s`,"
    " `cpu_us_per_record`, `latency_ms` where it was measured"
)


def declare_bench(parser: ArgumentParser, records: int) -> None:
    """Declare the topic, `--records`, and what every command with a client has."""
    parser.add_argument("topic", metavar="TOPIC", help="an existing topic")
    parser.add_argument(
        "-n",
        "--records",
        type=int,
        default=records,
        metavar="NUMBER",
        help="how many (%(default)s)",
    )
    declare_json(parser, _JSON)
    declare_broker(parser, TIMEOUT_S)


def check_positive(**numbers: float | None) -> None:
    """Raise CommandFailedError for a number that is not above 0."""
    for name, number in numbers.items():
        if number is not None and number <= 0:
            raise CommandFailedError(f"--{name} {number}: want more than 0")


def check_topic(topic: str, bootstrap: str, timeout_s: float) -> None:
    """Raise CommandFailedError unless the topic exists and has leaders."""
    with open_client(parse_addresses(bootstrap), timeout_s, unknown=UNKNOWN) as send:
        (described,) = find_topics(send, [topic])
        check_leaders(described, [row.partition_index for row in described.partitions])


def settings_of(
    cls: type["ClientSettings"], bootstrap: str, defaults: Mapping[str, object]
) -> dict[str, object]:
    """Return the settings of a client: those of the user go over defaults."""
    return {"client.id": "trio-kafka-bench", **defaults, **settings_for(cls, bootstrap)}


def run_bench(run: Callable[[], Measurement], *, bootstrap: str, json: bool) -> int:
    """Run a benchmark, and print its figures; return the exit status."""
    with client_errors(bootstrap):
        measurement = run()
    return print_answer(measurement, Measurement.as_data, Measurement.lines, json=json)


def show_progress(records: int, total: int, seconds: float) -> None:
    """Print a line on the standard error, if that is a terminal."""
    if sys.stderr.isatty():
        rate = records / seconds if seconds else 0.0
        print(f"{records:,} of {total:,} records, {rate:,.0f} records/s", file=sys.stderr)
