"""`trio-kafka topic offsets`: first and last offsets of partitions, or those of a time."""

from argparse import ArgumentParser
from collections.abc import Iterator, Sequence
from typing import Final

from trio_kafka.cli.admin import TIMEOUT_S, open_cluster
from trio_kafka.cli.broker_client import open_client, parse_addresses
from trio_kafka.cli.broker_options import declare_broker
from trio_kafka.cli.output import LEFT, RIGHT, columns, declare_json, print_answer
from trio_kafka.cli.records.times import TIME_FORMS, time_option
from trio_kafka.cli.topic.list import declare_topics
from trio_kafka.cli.topics import UNKNOWN, find_topics, partition_numbers
from trio_kafka.clients.admin.records import EARLIEST, LATEST, for_timestamp
from trio_kafka.model import TopicPartition

_HEAD: Final = ("topic", "partition", "first", "end", "records")
_HEAD_AT: Final = ("topic", "partition", "offset")
Rows = Sequence[tuple[TopicPartition, Sequence[int]]]


def declare(parser: ArgumentParser) -> None:
    declare_topics(parser)
    parser.add_argument(
        "--time", metavar="TIME", help=f"first offset at or after a time: {TIME_FORMS}"
    )
    declare_broker(parser, TIMEOUT_S)
    declare_json(parser, "one JSON object: `offsets`")


def offsets(
    *,
    topic: Sequence[str],
    regex: bool,
    time: str | None,
    bootstrap: str,
    timeout: float,
    json: bool,
) -> int:
    """Show the first offset and the end of partitions, or the offset of a time; -1: none."""
    specs = [EARLIEST, LATEST] if time is None else [for_timestamp(time_option("--time", time))]
    with open_client(parse_addresses(bootstrap), timeout, unknown=UNKNOWN) as send:
        places = [
            TopicPartition(row.name or "", number)
            for row in find_topics(send, topic, regex=regex)
            for number in partition_numbers(row)
        ]
    with open_cluster(bootstrap, timeout) as admin:
        results = [admin.list_offsets(dict.fromkeys(places, spec)).all() for spec in specs]
    rows = [(at, [result[at].offset for result in results]) for at in places]
    return print_answer(rows, as_data, as_text, json=json)


def as_data(rows: Rows) -> dict[str, object]:
    """Return the offsets for JSON."""
    names = ("first", "end") if len(rows) and len(rows[0][1]) == 2 else ("offset",)
    return {
        "offsets": [
            {
                "topic": at.topic,
                "partition": at.partition,
                **dict(zip(names, numbers, strict=True)),
            }
            for at, numbers in rows
        ]
    }


def as_text(rows: Rows) -> Iterator[str]:
    """Yield the lines of a table."""
    cells: list[list[str]] = []
    head: Sequence[str] = _HEAD_AT
    for at, numbers in rows:
        row = [at.topic, str(at.partition), *map(str, numbers)]
        if len(numbers) == 2:
            head = _HEAD
            row.append(str(numbers[1] - numbers[0]))
        cells.append(row)
    yield from columns(head, cells, [LEFT, *[RIGHT] * (len(head) - 1)])
