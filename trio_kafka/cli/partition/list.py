"""`trio-kafka partition list`: replicas by directory, and what moves."""

from argparse import ArgumentParser
from collections.abc import Iterator, Sequence
from typing import Final

from trio_kafka.attributes import frozen
from trio_kafka.cli.admin import TIMEOUT_S, open_cluster
from trio_kafka.cli.broker_client import open_client, parse_addresses
from trio_kafka.cli.broker_options import declare_broker
from trio_kafka.cli.output import LEFT, RIGHT, columns, declare_json, print_answer
from trio_kafka.cli.partition.replicas import Replica, read_directories, replicas_in
from trio_kafka.cli.topic.list import declare_topics
from trio_kafka.cli.topics import UNKNOWN, find_topics, partition_numbers
from trio_kafka.clients.admin.reassignments import Reassignments
from trio_kafka.model import TopicPartition
from trio_kafka.protocol.texts import printable

_HEAD: Final = ("topic", "partition", "broker", "bytes", "directory", "state")


@frozen(kw_only=True)
class Placement:
    """Replicas, and reassignments in progress. offline: words about unreadable directories."""

    replicas: Sequence[Replica]
    reassignments: Reassignments
    offline: Sequence[str]


def declare(parser: ArgumentParser) -> None:
    declare_topics(parser, needed=False)
    parser.add_argument("--moving", action="store_true", help="only what moves now")
    declare_broker(parser, TIMEOUT_S)
    declare_json(parser, "one JSON object: `replicas`, `reassignments`")


def list_partitions(
    *,
    topic: Sequence[str],
    regex: bool,
    moving: bool,
    bootstrap: str,
    timeout: float,
    json: bool,
) -> int:
    """Show in which directory of which broker replicas are, their size, and what moves."""
    partitions = None
    if topic:
        with open_client(parse_addresses(bootstrap), timeout, unknown=UNKNOWN) as send:
            partitions = [
                TopicPartition(row.name or "", number)
                for row in find_topics(send, topic, regex=regex)
                for number in partition_numbers(row)
            ]
    with open_cluster(bootstrap, timeout) as admin:
        directories = read_directories(admin, partitions)
        reassignments = admin.list_partition_reassignments(partitions)
    replicas = replicas_in(directories)
    moves = {row.at for row in replicas if row.is_future}
    placement = Placement(
        replicas=[row for row in replicas if not moving or row.at in moves],
        reassignments=reassignments,
        offline=[
            f"broker {node}: {path}: {description.error}"
            for node, paths in directories.items()
            for path, description in paths.items()
            if description.error is not None
        ],
    )
    return print_answer(placement, as_data, as_text, json=json)


def as_data(placement: Placement) -> dict[str, object]:
    """Return the replicas for JSON."""
    return {
        "replicas": [
            {
                "topic": row.at.topic,
                "partition": row.at.partition,
                "broker": row.at.broker,
                "directory": row.directory,
                "bytes": row.size,
                "offset_lag": row.offset_lag,
                "is_future": row.is_future,
            }
            for row in placement.replicas
        ],
        "reassignments": [
            {
                "topic": at.topic,
                "partition": at.partition,
                "replicas": list(row.replicas),
                "adding": list(row.adding_replicas),
                "removing": list(row.removing_replicas),
            }
            for at, row in sorted(placement.reassignments.items())
        ],
        "offline": list(placement.offline),
    }


def as_text(placement: Placement) -> Iterator[str]:
    """Yield the lines of a table, and a line for each reassignment and directory in trouble."""
    moves = {row.at for row in placement.replicas if row.is_future}
    rows = [
        [
            row.at.topic,
            *map(str, (row.at.partition, row.at.broker, row.size)),
            row.directory,
            _state(row, is_moving=row.at in moves),
        ]
        for row in placement.replicas
    ]
    yield from columns(_HEAD, rows, [LEFT, RIGHT, RIGHT, RIGHT, LEFT, LEFT])
    for at, reassignment in sorted(placement.reassignments.items()):
        adding, removing, replicas = (
            ",".join(map(str, nodes)) or "none"
            for nodes in (
                reassignment.adding_replicas,
                reassignment.removing_replicas,
                reassignment.replicas,
            )
        )
        yield printable(
            f"{at.topic}-{at.partition}: replicas {replicas}, adding {adding}, removing {removing}"
        )
    yield from map(printable, placement.offline)


def _state(row: Replica, *, is_moving: bool) -> str:
    if row.is_future:
        return f"moves here, {row.offset_lag} records behind"
    if is_moving:
        return "moves away"
    return "-" if row.offset_lag <= 0 else f"{row.offset_lag} records behind"
