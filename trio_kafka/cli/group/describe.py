"""`trio-kafka group describe`: state, members and lag of groups."""

from argparse import ArgumentParser
from collections.abc import Iterator, Sequence
from typing import Final

from trio_kafka.cli.admin import TIMEOUT_S, open_cluster
from trio_kafka.cli.broker_options import declare_broker
from trio_kafka.cli.group.groups import PartitionLag, declare_groups, find_groups, read_lags
from trio_kafka.cli.group.lag import show
from trio_kafka.cli.output import LEFT, RIGHT, columns, declare_json, print_answer
from trio_kafka.clients.admin.group_values import ConsumerGroupDescription
from trio_kafka.protocol.texts import printable

_HEAD: Final = ("topic", "partition", "committed", "end", "lag", "member", "host", "client")
Described = Sequence[tuple[ConsumerGroupDescription, Sequence[PartitionLag]]]


def declare(parser: ArgumentParser) -> None:
    declare_groups(parser)
    declare_broker(parser, TIMEOUT_S)
    declare_json(parser, "one JSON object: `groups`")


def describe(*, group: Sequence[str], bootstrap: str, timeout: float, json: bool) -> int:
    """Show state, members and lag of groups."""
    with open_cluster(bootstrap, timeout) as admin:
        names = find_groups(admin, group)
        descriptions = admin.describe_consumer_groups(names).all()
        described = [
            (descriptions[name], read_lags(admin, name, descriptions[name].members))
            for name in names
        ]
    return print_answer(described, as_data, as_text, json=json)


def as_data(described: Described) -> dict[str, object]:
    """Return the groups for JSON."""
    return {
        "groups": [
            {
                "group": group.group_id,
                "type": group.type,
                "state": group.state,
                "assignor": group.partition_assignor,
                "members": len(group.members),
                "partitions": [
                    {
                        "topic": row.at.topic,
                        "partition": row.at.partition,
                        "committed": row.committed,
                        "end": row.end,
                        "lag": row.lag,
                        "member_id": None if row.member is None else row.member.member_id,
                    }
                    for row in lags
                ],
            }
            for group, lags in described
        ]
    }


def as_text(described: Described) -> Iterator[str]:
    """Yield the lines: a head and a table for each group."""
    for number, (group, lags) in enumerate(described):
        if number:
            yield ""
        yield printable(
            f"group {group.group_id}  type {group.type}  state {group.state}"
            f"  members {len(group.members)}  assignor {group.partition_assignor or '-'}"
        )
        rows = []
        for row in lags:
            member = row.member
            owner = (
                ["-"] * 3 if member is None else [member.member_id, member.host, member.client_id]
            )
            numbers = map(show, (row.committed, row.end, row.lag))
            rows.append([row.at.topic, str(row.at.partition), *numbers, *owner])
        yield from columns(_HEAD, rows, [LEFT, *[RIGHT] * 4, *[LEFT] * 3])
