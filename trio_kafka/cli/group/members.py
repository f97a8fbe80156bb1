"""`trio-kafka group members`: the members of groups, and what each of them reads."""

from argparse import ArgumentParser
from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from trio_kafka.cli.admin import TIMEOUT_S, open_cluster
from trio_kafka.cli.broker_options import declare_broker
from trio_kafka.cli.group.groups import declare_groups, find_groups
from trio_kafka.cli.output import LEFT, columns, declare_json, print_answer
from trio_kafka.clients.admin.group_values import ConsumerGroupDescription, MemberDescription

_HEAD: Final = ("group", "member", "host", "client", "static", "partitions")
Groups = Mapping[str, ConsumerGroupDescription]


def declare(parser: ArgumentParser) -> None:
    declare_groups(parser)
    declare_broker(parser, TIMEOUT_S)
    declare_json(parser, "one JSON object: `members`")


def members(*, group: Sequence[str], bootstrap: str, timeout: float, json: bool) -> int:
    """Show the members of groups, with their hosts and partitions."""
    with open_cluster(bootstrap, timeout) as admin:
        groups = admin.describe_consumer_groups(find_groups(admin, group)).all()
    return print_answer(groups, as_data, as_text, json=json)


def as_data(groups: Groups) -> dict[str, object]:
    """Return the members for JSON."""
    return {
        "members": [
            {
                "group": name,
                "member_id": member.member_id,
                "host": member.host,
                "client_id": member.client_id,
                "group_instance_id": member.group_instance_id,
                "partitions": [[at.topic, at.partition] for at in sorted(member.assignment)],
            }
            for name, group in groups.items()
            for member in group.members
        ]
    }


def as_text(groups: Groups) -> Iterator[str]:
    """Yield the lines of a table."""
    rows = [
        [
            name,
            member.member_id,
            member.host,
            member.client_id,
            member.group_instance_id or "-",
            _places(member),
        ]
        for name, group in groups.items()
        for member in group.members
    ]
    yield from columns(_HEAD, rows, [LEFT] * 6)


def _places(member: MemberDescription) -> str:
    return " ".join(f"{at.topic}-{at.partition}" for at in sorted(member.assignment)) or "-"
