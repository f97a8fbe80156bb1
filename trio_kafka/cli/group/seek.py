"""`trio-kafka group seek`: other committed offsets of a group without members."""

from argparse import ArgumentParser
from collections.abc import Mapping, Sequence
from typing import Unpack

from trio_kafka.cli import FAILED, CommandFailedError
from trio_kafka.cli.admin import Change, ChangeOptions, declare_change, open_cluster, report
from trio_kafka.cli.broker_client import open_client, parse_addresses
from trio_kafka.cli.group.lag import show
from trio_kafka.cli.group.places import new_offsets, parse_target, read_csv
from trio_kafka.cli.near_names import nearest
from trio_kafka.cli.topics import UNKNOWN, check_leaders, find_topics, partition_numbers
from trio_kafka.clients.admin.group_values import ConsumerGroupDescription
from trio_kafka.clients.blocking import BlockingAdmin
from trio_kafka.clients.consumer.values import OffsetAndMetadata
from trio_kafka.clients.errors import ClientError
from trio_kafka.model import TopicPartition


def declare(parser: ArgumentParser) -> None:
    parser.add_argument("group", metavar="GROUP")
    target = parser.add_mutually_exclusive_group(required=True)
    target.add_argument(
        "--to",
        metavar="WHERE",
        help="earliest, latest, an offset, +N or -N records (--to=-5), or @TIME, such as"
        " @2026-01-31T12:00 or @2h: two hours ago",
    )
    target.add_argument("--from-file", metavar="FILE", help="CSV: topic,partition,offset")
    parser.add_argument(
        "-t",
        "--topic",
        action="append",
        default=[],
        metavar="TOPIC",
        help="only this topic, or glob; default: all that the group has offsets for",
    )
    parser.add_argument(
        "-p",
        "--partition",
        action="append",
        type=int,
        default=[],
        metavar="NUMBER",
        help="only this partition; may be repeated",
    )
    declare_change(parser)


def seek(
    *,
    group: str,
    to: str | None,
    from_file: str | None,
    topic: Sequence[str],
    partition: Sequence[int],
    **options: Unpack[ChangeOptions],
) -> int:
    """Move the committed offsets of a group; look at it with --dry-run first.

    A group with members is left alone: it would go on from where it is.
    """
    bootstrap, dry_run, timeout = options["bootstrap"], options["dry_run"], options["timeout"]
    target = None if to is None else parse_target(to)
    with open_cluster(bootstrap, timeout) as admin:
        committed = _committed(admin, group)
        if target is not None:
            if not (committed or topic):
                hint = nearest(group, list(admin.list_groups())) or ": name topics with --topic"
                raise CommandFailedError(f"group {group}: it has no offsets to move{hint}", FAILED)
            places = _places(bootstrap, timeout, topic, partition, committed)
            offsets = new_offsets(admin, places, target, committed)
        else:
            offsets = read_csv(from_file or "")
        _check_idle(admin, group)
        errors: Mapping[TopicPartition, ClientError] = {}
        if not dry_run:
            rows = {at: OffsetAndMetadata(offset) for at, offset in offsets.items()}
            errors = admin.alter_consumer_group_offsets(group, rows).errors
    tool = ["kafka-consumer-groups.sh", "--bootstrap-server", bootstrap, "--group", group]
    tool += ["--reset-offsets", "--execute"]
    changes = {
        at: Change(
            verb="move",
            words=f"group {group} in {at.topic}-{at.partition} from {show(committed.get(at))} to"
            f" {offset}",
            kafka=[*tool, "--topic", f"{at.topic}:{at.partition}", "--to-offset", str(offset)],
            data={
                "group": group,
                "topic": at.topic,
                "partition": at.partition,
                "before": committed.get(at),
                "offset": offset,
            },
        )
        for at, offset in sorted(offsets.items())
    }
    return report(changes, errors, dry_run=dry_run, json=options["json"])


def _committed(admin: BlockingAdmin, group: str) -> dict[TopicPartition, int | None]:
    rows = admin.list_consumer_group_offsets({group: None})[group]
    return {at: None if row is None else row.offset for at, row in rows.items()}


def _places(
    bootstrap: str,
    timeout: float,
    topics: Sequence[str],
    numbers: Sequence[int],
    committed: Mapping[TopicPartition, int | None],
) -> list[TopicPartition]:
    """Return the partitions to move. Raises CommandFailedError if there are none."""
    if not topics:
        places = [at for at in sorted(committed) if not numbers or at.partition in numbers]
        if not places:
            raise CommandFailedError(
                "the group has no offsets there: name topics with --topic", FAILED
            )
        return places
    with open_client(parse_addresses(bootstrap), timeout, unknown=UNKNOWN) as send:
        rows = find_topics(send, topics)
    places = []
    for row in rows:
        chosen = sorted(set(numbers)) or partition_numbers(row)
        check_leaders(row, chosen)
        places += [TopicPartition(row.name or "", number) for number in chosen]
    return places


def _check_idle(admin: BlockingAdmin, group: str) -> None:
    """Raise CommandFailedError for a group with members."""
    descriptions: Mapping[str, ConsumerGroupDescription] = admin.describe_consumer_groups(
        [group]
    ).values_by_item
    description = descriptions.get(group)
    if description is not None and description.members:
        raise CommandFailedError(
            f"group {group}: it has {len(description.members)} members: stop them first, see"
            f" `trio-kafka group members {group}`",
            FAILED,
        )
