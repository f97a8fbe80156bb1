"""`trio-kafka txn list`: the transactional ids that the brokers coordinate."""

from argparse import ArgumentParser
from collections.abc import Iterator, Sequence
from typing import Final

from trio_kafka.cli import FAILED, CommandFailedError
from trio_kafka.cli.broker_options import declare_broker
from trio_kafka.cli.output import LEFT, RIGHT, columns, declare_json, print_answer
from trio_kafka.cli.txn.remedies import TIMEOUT_S, UNKNOWN, open_transactions_client, refusal
from trio_kafka.clients.admin.transactions import TransactionListing
from trio_kafka.clients.errors import UnsupportedError
from trio_kafka.errors import ErrorCode

STATES: Final = (
    "Empty",
    "Ongoing",
    "PrepareCommit",
    "PrepareAbort",
    "CompleteCommit",
    "CompleteAbort",
    "PrepareEpochFence",
    "Dead",
)
_HEAD: Final = ("transactional id", "producer id", "state")
NO_FILTER: Final = "the server does not know this filter: leave it out, or update the broker"


def declare(parser: ArgumentParser) -> None:
    parser.add_argument(
        "--state",
        action="append",
        default=[],
        metavar="STATE",
        help=f"only ids in this state: {', '.join(STATES)}; may be repeated",
    )
    parser.add_argument(
        "--producer-id",
        action="append",
        type=int,
        default=[],
        metavar="ID",
        help="only the id that uses this producer id; may be repeated",
    )
    parser.add_argument(
        "--duration-filter",
        type=int,
        default=-1,
        metavar="MS",
        help="only ids with a transaction that is open for longer",
    )
    parser.add_argument(
        "--transactional-id-pattern",
        metavar="REGEX",
        help="only ids that this regular expression (RE2/J) matches as a whole",
    )
    declare_broker(parser, TIMEOUT_S)
    declare_json(parser, "one JSON object: `transactions`")


def list_ids(
    *,
    state: Sequence[str],
    producer_id: Sequence[int],
    duration_filter: int,
    transactional_id_pattern: str | None,
    bootstrap: str,
    json: bool,
    timeout: float,
) -> int:
    """Show the transactional ids of the cluster, with producer id and state."""
    with open_transactions_client(bootstrap, timeout) as admin:
        listings = admin.list_transactions(
            states=state,
            producer_ids=producer_id,
            longer_than_ms=duration_filter,
            pattern=transactional_id_pattern,
        )
    has_filter = duration_filter >= 0 or transactional_id_pattern is not None
    for error in listings.by_broker.errors.values():
        unknown = [name for name in state if name not in STATES]
        if error.code is ErrorCode.INVALID_REQUEST and unknown:
            names = ", ".join(unknown)
            raise CommandFailedError(
                f"unknown state {names}: `trio-kafka txn list --help` names the states"
            )
        if isinstance(error, UnsupportedError) and has_filter:
            raise CommandFailedError(f"{bootstrap}: {NO_FILTER}", FAILED)
        if isinstance(error, UnsupportedError):
            raise CommandFailedError(f"{bootstrap}: {UNKNOWN}", FAILED)
        raise refusal("transactional ids", error)
    return print_answer(list(listings.values()), as_data, as_text, json=json)


def as_data(listings: Sequence[TransactionListing]) -> dict[str, object]:
    """Return the ids for JSON, in their order."""
    return {
        "transactions": [
            {
                "transactional_id": row.transactional_id,
                "producer_id": row.producer_id,
                "state": row.state,
            }
            for row in listings
        ]
    }


def as_text(listings: Sequence[TransactionListing]) -> Iterator[str]:
    """Yield the lines of a table."""
    cells = [[row.transactional_id, str(row.producer_id), row.state] for row in listings]
    yield from columns(_HEAD, cells, [LEFT, RIGHT, LEFT])
