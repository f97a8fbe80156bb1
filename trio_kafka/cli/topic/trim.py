"""`trio-kafka topic trim`: delete the oldest records of a topic."""

import json
from argparse import ArgumentParser
from collections.abc import Mapping, Sequence
from typing import Unpack

from trio_kafka.cli import FAILED, CommandFailedError
from trio_kafka.cli.admin import Change, ChangeOptions, declare_change, open_cluster, report
from trio_kafka.cli.broker_client import open_client, parse_addresses
from trio_kafka.cli.records.times import TIME_FORMS, time_option
from trio_kafka.cli.topics import UNKNOWN, check_leaders, find_topics, partition_numbers
from trio_kafka.clients.admin.records import EARLIEST, LATEST, OffsetSpec, for_timestamp
from trio_kafka.clients.blocking import BlockingAdmin
from trio_kafka.clients.errors import ClientError
from trio_kafka.model import TopicPartition


def declare(parser: ArgumentParser) -> None:
    parser.add_argument("topic", metavar="TOPIC")
    parser.add_argument(
        "-p",
        "--partition",
        action="append",
        type=int,
        default=[],
        metavar="NUMBER",
        help="only this partition; may be repeated",
    )
    before = parser.add_mutually_exclusive_group(required=True)
    before.add_argument("--before-offset", type=int, metavar="OFFSET")
    before.add_argument("--before-time", metavar="TIME", help=TIME_FORMS)
    before.add_argument("--all", action="store_true", help="all records that are there now")
    declare_change(parser)


def trim(
    *,
    topic: str,
    partition: Sequence[int],
    before_offset: int | None,
    before_time: str | None,
    all: bool,  # noqa: A002, ARG001 - the option that neither of the others is
    **options: Unpack[ChangeOptions],
) -> int:
    """Delete the records of a topic before an offset or a time. There is no way back."""
    bootstrap, dry_run, timeout = options["bootstrap"], options["dry_run"], options["timeout"]
    spec = (
        LATEST if before_time is None else for_timestamp(time_option("--before-time", before_time))
    )
    with open_client(parse_addresses(bootstrap), timeout, unknown=UNKNOWN) as send:
        (row,) = find_topics(send, [topic])
    numbers = sorted(set(partition)) or partition_numbers(row)
    check_leaders(row, numbers)
    places = [TopicPartition(topic, number) for number in numbers]
    errors: Mapping[TopicPartition, ClientError] = {}
    with open_cluster(bootstrap, timeout) as admin:
        firsts, ends = (
            {at: row.offset for at, row in admin.list_offsets(dict.fromkeys(places, end)).items()}
            for end in (EARLIEST, LATEST)
        )
        if before_offset is None:
            offsets = _offsets(admin, places, spec, ends)
        else:
            offsets = dict.fromkeys(places, before_offset)
            _check_ends(offsets, ends)
        offsets = {at: offset for at, offset in offsets.items() if offset > firsts[at]}
        if not dry_run and offsets:
            errors = admin.delete_records(offsets).errors
    kafka = ["kafka-delete-records.sh", "--bootstrap-server", bootstrap]
    kafka += ["--offset-json-file", "/dev/stdin"]
    rows = [
        {"topic": at.topic, "partition": at.partition, "offset": offset}
        for at, offset in offsets.items()
    ]
    stdin = json.dumps({"version": 1, "partitions": rows})
    changes = {
        at: Change(
            verb="delete",
            words=f"records of {at.topic}-{at.partition} before offset {offset}, at most"
            f" {offset - firsts[at]:,}",
            kafka=kafka,
            stdin=stdin,
            data={"topic": at.topic, "partition": at.partition, "before_offset": offset},
        )
        for at, offset in offsets.items()
    }
    nothing = "there are no records before that"
    return report(changes, errors, dry_run=dry_run, json=options["json"], nothing=nothing)


def _check_ends(offsets: Mapping[TopicPartition, int], ends: Mapping[TopicPartition, int]) -> None:
    """Raise CommandFailedError for an offset behind the end of its partition."""
    for at, offset in offsets.items():
        if offset > ends[at]:
            raise CommandFailedError(
                f"partition {at.topic}-{at.partition}: OFFSET_OUT_OF_RANGE: it ends at offset"
                f" {ends[at]}, before {offset}: nothing was deleted",
                FAILED,
            )


def _offsets(
    admin: BlockingAdmin,
    places: Sequence[TopicPartition],
    spec: OffsetSpec,
    ends: Mapping[TopicPartition, int],
) -> dict[TopicPartition, int]:
    """Return the first offset to keep of each partition; the end, if all records are older."""
    offsets = admin.list_offsets(dict.fromkeys(places, spec)).all()
    return {at: ends[at] if row.offset < 0 else row.offset for at, row in offsets.items()}
