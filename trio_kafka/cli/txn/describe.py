"""`trio-kafka txn describe`: one or several transactional ids in full."""

from argparse import ArgumentParser
from collections.abc import Iterator, Sequence

from trio_kafka.cli.broker_options import declare_broker
from trio_kafka.cli.near_names import nearest
from trio_kafka.cli.output import declare_json, print_answer
from trio_kafka.cli.txn.partition_producers import number_or
from trio_kafka.cli.txn.remedies import TIMEOUT_S, now_ms, open_transactions_client, refusal
from trio_kafka.clients.admin.transactions import TransactionDescription
from trio_kafka.clients.blocking import BlockingAdmin
from trio_kafka.protocol.texts import printable


def declare(parser: ArgumentParser) -> None:
    parser.add_argument(
        "transactional_id", nargs="+", metavar="ID", help="transactional id; may be repeated"
    )
    declare_broker(parser, TIMEOUT_S)
    declare_json(parser, "one JSON object: `transactions`; times in ms, -1 where there is none")


def describe(*, transactional_id: Sequence[str], bootstrap: str, json: bool, timeout: float) -> int:
    """Show transactional ids with producer, state, timeout, age of the open transaction and its
    partitions.
    """
    with open_transactions_client(bootstrap, timeout) as admin:
        states = describe_ids(admin, transactional_id)
    return print_answer(states, as_data, as_text, json=json)


def describe_ids(
    admin: BlockingAdmin, transactional_ids: Sequence[str]
) -> list[TransactionDescription]:
    """Return the states of ids, in order. Raises CommandFailedError for the first error."""
    results = admin.describe_transactions(transactional_ids)
    for name, error in results.errors.items():
        hint = nearest(name, list(admin.list_transactions()))
        raise refusal(f"transactional id {name}", error, hint)
    return list(results.values())


def as_data(states: Sequence[TransactionDescription]) -> dict[str, object]:
    """Return the states for JSON."""
    return {"transactions": [_data(state) for state in states]}


def _data(state: TransactionDescription) -> dict[str, object]:
    return {
        "transactional_id": state.transactional_id,
        "state": state.state,
        "producer_id": state.producer_id,
        "producer_epoch": state.producer_epoch,
        "timeout_ms": state.transaction_timeout_ms,
        "start_time_ms": number_or(state.transaction_start_time_ms),
        "duration_ms": _duration_ms(state),
        "partitions": partitions_by_topic(state),
    }


def partitions_by_topic(state: TransactionDescription) -> dict[str, list[int]]:
    """Return the numbers of the partitions by topic."""
    numbers: dict[str, list[int]] = {}
    for at in sorted(state.partitions):
        numbers.setdefault(at.topic, []).append(at.partition)
    return numbers


def _duration_ms(state: TransactionDescription) -> int:
    """Return the age of the open transaction, by this machine's clock; -1: none is open."""
    if state.transaction_start_time_ms is None:
        return -1
    return max(now_ms() - state.transaction_start_time_ms, 0)


def as_text(states: Sequence[TransactionDescription]) -> Iterator[str]:
    """Yield lines of names and values; a blank line between two ids."""
    for number, state in enumerate(states):
        if number:
            yield ""
        age_ms = _duration_ms(state)
        partitions = map(str, sorted(state.partitions))
        for name, value in (
            ("transactional id", state.transactional_id),
            ("state", state.state),
            ("producer id", state.producer_id),
            ("producer epoch", state.producer_epoch),
            ("timeout", f"{state.transaction_timeout_ms / 1000:g} s"),
            ("open for", "-" if age_ms < 0 else f"{age_ms / 1000:.1f} s"),
            ("partitions", " ".join(partitions) or "-"),
        ):
            yield f"{name + ':':18}{printable(str(value))}"
