"""`trio-kafka group lag`: how far groups are behind, once or again and again."""

import time
from argparse import ArgumentParser
from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from trio_kafka.cli.admin import TIMEOUT_S, open_cluster
from trio_kafka.cli.broker_options import declare_broker
from trio_kafka.cli.group.groups import PartitionLag, declare_groups, find_groups, read_lags
from trio_kafka.cli.output import LEFT, RIGHT, columns, declare_json, print_answer, print_json_line
from trio_kafka.clients.admin.group_values import MemberDescription
from trio_kafka.clients.blocking import BlockingAdmin

_HEAD: Final = ("group", "topic", "partition", "committed", "end", "lag")
Lags = Mapping[str, Sequence[PartitionLag]]


def declare(parser: ArgumentParser) -> None:
    declare_groups(parser, needed=False)
    parser.add_argument(
        "--watch", type=float, metavar="SECONDS", help="print it again and again, until Ctrl-C"
    )
    declare_broker(parser, TIMEOUT_S)
    declare_json(parser, "one JSON object: `lags`; with --watch one a line")


def lag(
    *, group: Sequence[str], watch: float | None, bootstrap: str, timeout: float, json: bool
) -> int:
    """Show how many records each group has not processed yet, by partition."""
    with open_cluster(bootstrap, timeout) as admin:
        names = find_groups(admin, group)
        while True:
            members = _members(admin, names)
            lags = {name: read_lags(admin, name, members.get(name, ())) for name in names}
            if watch is None:
                return print_answer(lags, as_data, as_text, json=json)
            if json:
                print_json_line(as_data(lags))
            else:
                print("\n".join([*as_text(lags), ""]), flush=True)
            try:
                time.sleep(watch)
            except KeyboardInterrupt:
                return 0


def _members(
    admin: BlockingAdmin, groups: Sequence[str]
) -> Mapping[str, Sequence[MemberDescription]]:
    """Return the members of groups, which may read partitions without a committed offset.

    A group that cannot be described, as one of another kind, has none.
    """
    descriptions = admin.describe_consumer_groups(groups).values_by_item
    return {name: description.members for name, description in descriptions.items()}


def as_data(lags: Lags) -> dict[str, object]:
    """Return the lags for JSON; null where it is not known."""
    return {
        "lags": [
            {
                "group": group,
                "topic": row.at.topic,
                "partition": row.at.partition,
                "committed": row.committed,
                "end": row.end,
                "lag": row.lag,
            }
            for group, rows in lags.items()
            for row in rows
        ]
    }


def as_text(lags: Lags) -> Iterator[str]:
    """Yield the lines of a table, and a line with the sum of each group."""
    cells = [
        [group, row.at.topic, str(row.at.partition), *map(show, (row.committed, row.end, row.lag))]
        for group, rows in lags.items()
        for row in rows
    ]
    yield from columns(_HEAD, cells, [LEFT, LEFT, RIGHT, RIGHT, RIGHT, RIGHT])
    for group, rows in lags.items():
        yield f"{group}: {sum(row.lag or 0 for row in rows):,} records behind"


def show(number: int | None) -> str:
    """Return a number; `-` where it is not known."""
    return "-" if number is None else str(number)
