"""`trio-kafka group list`: the groups of a cluster."""

from argparse import ArgumentParser
from collections.abc import Iterator, Sequence
from typing import Final

from trio_kafka.cli import CommandFailedError
from trio_kafka.cli.admin import TIMEOUT_S, open_cluster
from trio_kafka.cli.broker_options import declare_broker
from trio_kafka.cli.group.groups import declare_groups, find_groups
from trio_kafka.cli.near_names import nearest
from trio_kafka.cli.output import LEFT, columns, declare_json, print_answer
from trio_kafka.clients.admin.group_values import GroupListing

STATES: Final = (
    "Stable",
    "Empty",
    "Dead",
    "PreparingRebalance",
    "CompletingRebalance",
    "Assigning",
    "Reconciling",
    "NotReady",
)
_HEAD: Final = ("group", "type", "state", "protocol")


def declare(parser: ArgumentParser) -> None:
    declare_groups(parser, needed=False)
    parser.add_argument(
        "--state",
        action="append",
        default=[],
        metavar="STATE",
        help=f"only in this state: {', '.join(STATES)}; may be repeated",
    )
    declare_broker(parser, TIMEOUT_S)
    declare_json(parser, "one JSON object: `groups`")


def list_groups(
    *, group: Sequence[str], state: Sequence[str], bootstrap: str, timeout: float, json: bool
) -> int:
    """Show the groups of a cluster, with their type and state."""
    states = list(map(_state, state))
    with open_cluster(bootstrap, timeout) as admin:
        names = find_groups(admin, group)
        listings = admin.list_groups(states=states).all()
    shown = [listings[name] for name in names if name in listings]
    return print_answer(shown, as_data, as_text, json=json)


def _state(text: str) -> str:
    """Return Kafka's name of a state. Raises CommandFailedError."""
    for state in STATES:
        if state.lower() == text.lower():
            return state
    hint = nearest(text, STATES) or f": want one of {', '.join(STATES)}"
    raise CommandFailedError(f"--state {text}: no such state{hint}")


def as_data(groups: Sequence[GroupListing]) -> dict[str, object]:
    """Return the groups for JSON."""
    return {
        "groups": [
            {
                "group": row.group_id,
                "type": row.type,
                "state": row.state,
                "protocol_type": row.protocol_type,
            }
            for row in groups
        ]
    }


def as_text(groups: Sequence[GroupListing]) -> Iterator[str]:
    """Yield the lines of a table."""
    rows = [[row.group_id, row.type, row.state, row.protocol_type or "-"] for row in groups]
    yield from columns(_HEAD, rows, [LEFT] * 4)
