"""Decisions about the transactions of an epoch, a micro-batch of one stream. Pure: no I/O.

Each task writes in a transaction and leaves it open. The driver makes the list of them durable;
this list is the decision: whatever is on it will be committed, whatever is not will be aborted, by
this process or by one after a restart. Each run of a query has transactional ids of its own, so no
task of one run can touch what another run has listed.

The caller holds the fence of the query when it decides: no other process adds a list between the
reading of `last` and `open_now` and the writing of this one. Then everything that is open while
epoch N is not decided belongs to N or to an epoch before, and what is not listed is garbage.
"""

from collections.abc import Iterable, Mapping
from typing import Final, Self

from trio_kafka.attributes import frozen
from trio_kafka.strict_json import dump_json, parse_json
from trio_kafka_spark.client.coordinator import Transaction
from trio_kafka_spark.client.errors import SourceError

LOST: Final = "KAFKA_TRANSACTION_LOST"
SUPERSEDED: Final = "KAFKA_EPOCH_SUPERSEDED"
BAD_LIST: Final = "KAFKA_EPOCH_LIST_UNREADABLE"
_VERSION: Final = 1
_SHOWN: Final = 10  # ids in an error


@frozen
class Run:
    """One run of a query: the query's id stays over restarts, the run's does not."""

    query: str
    run: str


@frozen(kw_only=True)
class Epoch:
    """The list of one epoch: these transactions, and no others, hold its records.

    garbage: what else was open then, left by tasks that were killed: it is aborted.
    """

    number: int
    transactions: tuple[Transaction, ...]
    garbage: tuple[Transaction, ...] = ()

    def to_bytes(self) -> bytes:
        """Return the value of the record that makes the list durable."""
        content = {
            "version": _VERSION,
            "epoch": self.number,
            "transactions": _as_rows(self.transactions),
            "garbage": _as_rows(self.garbage),
        }
        return dump_json(content, compact=True).encode()

    @classmethod
    def from_bytes(cls, value: bytes) -> Self:
        """Read the value of a record. Raises SourceError."""
        try:
            content = parse_json(value.decode())
            if content["version"] != _VERSION:
                raise ValueError(f"version {content['version']}, expected {_VERSION}")
            return cls(
                number=int(content["epoch"]),
                transactions=_from_rows(content["transactions"]),
                garbage=_from_rows(content["garbage"]),
            )
        except (KeyError, TypeError, ValueError) as error:
            raise SourceError(
                BAD_LIST,
                f"the list of an epoch cannot be read: {error}; it was written by a later version,"
                " or by another program",
            ) from error


@frozen(kw_only=True)
class Decision:
    """Steps of the driver: store the list `write`, if there is one; then end transactions."""

    write: Epoch | None
    commit: tuple[Transaction, ...]
    abort: tuple[Transaction, ...]


def decide(
    number: int,
    prepared: Iterable[Transaction],
    *,
    last: Epoch | None,
    open_now: Mapping[str, Transaction],
    own: str,
) -> Decision:
    """Decide on an epoch whose tasks have all succeeded.

    prepared: transactions of its tasks. last: the latest list of the query. open_now: open
    transactions of the query, of any run. own: begin of the ids of this run. Raises SourceError
    where a transaction is not open any more, and where a later epoch is decided: nothing is
    committed then.
    """
    prepared = tuple(prepared)
    if last is not None and last.number > number:
        raise SourceError(
            SUPERSEDED,
            f"epoch {number}: another run of this query has already decided epoch {last.number};"
            " nothing was committed by this run. Two runs have one checkpoint: stop this one; or"
            " the checkpoint was set back: use a new one",
        )
    if last is not None and last.number == number:
        # Another run decided, or this is the replay of an epoch whose commit Spark has not noted.
        # What is open of other runs may belong to the next epoch, but for the garbage of then.
        own_open = _others(open_now, listed=last.transactions, own=own)
        return Decision(
            write=None, commit=last.transactions, abort=tuple({*last.garbage, *own_open})
        )
    check_open(f"epoch {number}", prepared, open_now)
    garbage = _others(open_now, listed=prepared, own="")
    return Decision(
        write=Epoch(number=number, transactions=prepared, garbage=garbage),
        commit=prepared,
        abort=garbage,
    )


def decide_abort(
    number: int,
    *,
    last: Epoch | None,
    open_now: Mapping[str, Transaction],
    own: str,
) -> tuple[Transaction, ...]:
    """Return what to abort when an epoch has failed: all of this run, but for what is listed.

    Spark aborts an epoch also when its commit has failed, which may be after the decision.
    """
    is_decided = last is not None and last.number == number
    listed = last.transactions if is_decided and last is not None else ()
    return _others(open_now, listed=listed, own=own)


def check_open(
    work: str, prepared: Iterable[Transaction], open_now: Mapping[str, Transaction]
) -> None:
    """Raise SourceError if a transaction ended before the decision. work: the epoch, or the write.

    Nothing is committed then, so a restart loses and doubles nothing.
    """
    lost = [each for each in prepared if open_now.get(each.transactional_id) != each]
    if lost:
        raise SourceError(
            LOST,
            f"{work}: {len(lost)} transactions ended before the commit: {names_of(lost)}."
            " Nothing was committed: start the query again, which writes all of it again. If they"
            " were open for longer than transactionTimeoutMs, raise it; if not, check that this"
            " principal may describe these transactional ids",
        )


def lost_after(
    work: str, lost: Iterable[Transaction], listed: Iterable[Transaction]
) -> SourceError:
    """Return the error of transactions that ended after the decision, with what to do."""
    lost = tuple(lost)
    return SourceError(
        LOST,
        f"{work}: {len(lost)} of {len(tuple(listed))} transactions ended by time-out between the"
        f" decision and their commit: {names_of(lost)}. Their records are not visible, those of"
        " the others are. Run the query once with exactlyOnce=false, which writes the whole epoch"
        " again, then with true; and raise transactionTimeoutMs above the longest outage",
    )


def names_of(transactions: Iterable[Transaction]) -> str:
    """Return transactional ids with producer ids and epochs, a few of them."""
    names = [
        f"{each.transactional_id} (producer id {each.producer_id}, epoch {each.epoch})"
        for each in transactions
    ]
    more = f" and {len(names) - _SHOWN} more" if len(names) > _SHOWN else ""
    return ", ".join(names[:_SHOWN]) + more


def _as_rows(transactions: Iterable[Transaction]) -> list[list[str | int]]:
    return [[each.transactional_id, each.producer_id, each.epoch] for each in transactions]


def _from_rows(rows: Iterable[tuple[str, int, int]]) -> tuple[Transaction, ...]:
    return tuple(
        Transaction(transactional_id=str(name), producer_id=int(number), epoch=int(epoch))
        for name, number, epoch in rows
    )


def _others(
    open_now: Mapping[str, Transaction], *, listed: Iterable[Transaction], own: str
) -> tuple[Transaction, ...]:
    kept = set(listed)
    return tuple(
        each for name, each in open_now.items() if each not in kept and name.startswith(own)
    )
