"""Facts of transactional ids: state, age, partitions, and what their end waits for."""

from collections.abc import Callable, Sequence
from itertools import chain
from typing import Final, NamedTuple

from trio_kafka.coordinators.transactions.marker_writer import MarkerWriter
from trio_kafka.coordinators.transactions.states import PREPARED, TransactionState
from trio_kafka.coordinators.transactions.transaction import NO_TIME, Transaction
from trio_kafka.coordinators.transactions.transactions import Transactions
from trio_kafka.introspect.facts.transactions import TransactionFacts
from trio_kafka.introspect.tree import Figures
from trio_kafka.scheduling.chunked_work import Steps

_A_STEP: Final = 256  # ids: about 0.2 ms
_OPEN: Final = frozenset({TransactionState.ONGOING, *PREPARED})


class RankedTransaction(NamedTuple):
    """Transactional id with its place among the others: open transactions first, the oldest of them
    first, then by id.
    """

    is_at_rest: bool
    started_ms: int
    transactional_id: str
    machine: Transactions


def ranked_transactions(
    machines: Sequence[Transactions],
    writer: MarkerWriter,
    is_visible: Callable[[str], bool],
    *,
    only_open: bool,
) -> Steps[list[RankedTransaction]]:
    """Return the ids that the reader may see, in their order.

    only_open: leave out ids without an open transaction, and do not look at them.
    """
    ranking, looked_at = list[RankedTransaction](), 0
    for machine in machines:
        names = chain(machine.ongoing, writer.names) if only_open else machine.by_id
        for name in tuple(names):
            looked_at += 1
            if not looked_at % _A_STEP:
                yield
            transaction = machine.by_id.get(name)
            if transaction is None or not is_visible(name):
                continue  # an id of another shard, or removed meanwhile
            is_open = transaction.state in _OPEN
            if is_open or not only_open:
                started_ms = transaction.started_ms if is_open else NO_TIME
                ranking.append(RankedTransaction(not is_open, started_ms, name, machine))
    yield
    ranking.sort(key=lambda entry: entry[:3])
    return ranking


def transaction_facts(
    transaction: Transaction,
    machine: Transactions,
    writer: MarkerWriter,
    now_ms: int,
    *,
    may_describe: Callable[[str], bool],
) -> TransactionFacts:
    """Return the facts of one id. may_describe: of a topic."""
    age_s = _age_s(transaction, now_ms)
    left_s = _left_s(transaction, age_s)
    partitions = dict[str, list[int]]()
    for at in sorted(transaction.partitions, key=lambda at: (at.topic, at.partition)):
        if may_describe(at.topic):
            partitions.setdefault(at.topic, []).append(at.partition)
    return TransactionFacts(
        transactional_id=transaction.transactional_id,
        state=transaction.state.value,
        state_s=_seconds(now_ms - transaction.updated_ms),
        producer_id=transaction.producer_id,
        epoch=transaction.producer_epoch,
        version=transaction.client_version,
        timeout_s=transaction.timeout_ms / 1000,
        age_s=age_s,
        left_s=left_s,
        partitions={topic: tuple(numbers) for topic, numbers in partitions.items()},
        partitions_total=len(transaction.partitions),
        waits_for=_waits_for(transaction, writer, left_s),
        parked=machine.parked.count(transaction.transactional_id),
    )


def transaction_figures(transaction: Transaction, now_ms: int, writer: MarkerWriter) -> Figures:
    """Return figures of one id for the tree."""
    age_s = _age_s(transaction, now_ms)
    left_s = _left_s(transaction, age_s)
    return {
        "state": transaction.state.value,
        "age_s": age_s,
        "left_s": left_s,
        "producer_id": transaction.producer_id,
        "producer_epoch": transaction.producer_epoch,
        "partitions": len(transaction.partitions),
        "timeout_ms": transaction.timeout_ms,
        "waits_for": _waits_for(transaction, writer, left_s),
    }


def _age_s(transaction: Transaction, now_ms: int) -> float | None:
    """Return the age of an open transaction; None: there is none."""
    if transaction.state not in _OPEN:
        return None
    return _seconds(now_ms - transaction.started_ms)


def _left_s(transaction: Transaction, age_s: float | None) -> float | None:
    """Return the time until the timeout; None: it has no meaning any more."""
    if transaction.state is not TransactionState.ONGOING or age_s is None:
        return None
    return max(transaction.timeout_ms / 1000 - age_s, 0.0)


def _seconds(span_ms: int) -> float:
    return max(span_ms, 0) / 1000  # the wall clock may step back


def _waits_for(transaction: Transaction, writer: MarkerWriter, left_s: float | None) -> str:
    """Return what the end of a transaction waits for, without names that a reader may not see."""
    if left_s is not None:
        return "its producer" if left_s else "the next search for transactions above their timeout"
    if not transaction.is_prepared:
        return ""
    progress = writer.progress(transaction.transactional_id)
    if progress is None:
        return "the record that all markers are written, or a newer coordinator"
    errors = " ".join(sorted(error.name for error in progress.errors))
    refused = f", refused last with {errors}" if errors else ""
    count = len(progress.remaining)
    return f"markers in {count:,} partition{'s' if count != 1 else ''}{refused}"
