"""State machine of one partition of `__transaction_state`: the transactional ids of that partition.

A decision leaves the machine only when its record is committed. Answers wait in the shard; so do
markers: `prepare` has them sent after the commit, and `loaded` has them sent again, as a broker may
have stopped between the two. Sans-IO: no clock, no tasks.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from itertools import chain, islice
from typing import Final, Self

from trio_kafka.coordinators.shards.effects import CoordinatorRecord, Effects, Ticket, TimerKey
from trio_kafka.coordinators.shards.protocols import Change, Event, WaitTimes
from trio_kafka.coordinators.transactions.parked_requests import PARKED, ParkedRequests
from trio_kafka.coordinators.transactions.records import stored_transaction, transaction_record
from trio_kafka.coordinators.transactions.settings import (
    DEFAULT_TRANSACTION_SETTINGS,
    TransactionSettings,
)
from trio_kafka.coordinators.transactions.states import TransactionState
from trio_kafka.coordinators.transactions.transaction import Transaction, completed
from trio_kafka.errors import ErrorCode, KafkaError
from trio_kafka.introspect.log import get_logger
from trio_kafka.introspect.tree import Figures, Node
from trio_kafka.introspect.waits import Wait
from trio_kafka.metadata.delta import MetadataDelta
from trio_kafka.metadata.image import MetadataImage
from trio_kafka.scheduling.chunked_work import Steps, emptied

TRANSACTION_VERSION: Final = "transaction.version"
TIME_OUTS: Final[TimerKey] = ("time-outs",)  # the next search for transactions that are too old
EXPIRY: Final[TimerKey] = ("expiry",)  # the next search for ids that are not used any more
_COMPLETION: Final = "completion"  # kind of a timer: write again that all markers are written
_COMPLETION_MS: Final = 1000
_A_STEP: Final = 64  # ids in one step
_SHOWN: Final = 200  # ids in the tree
_logger: Final = get_logger(__name__)
TimerEvent = Callable[["Transactions", int], Effects | Steps[Effects]]


class Transactions:
    """Transactional ids of one shard. by_id: changed by replay only. ongoing: those with an open
    transaction.

    image: of the metadata.
    """

    def __init__(
        self,
        send: Callable[[Transaction], None],
        timers: Mapping[str, TimerEvent],
        settings: TransactionSettings = DEFAULT_TRANSACTION_SETTINGS,
        *,
        describe: Callable[[Transaction], Figures] | None = None,
    ) -> None:
        """send: have the markers of a prepared transaction written. timers: events by the kind of
        timer. describe: return figures of an id for the tree.
        """
        self.by_id: dict[str, Transaction] = {}
        self.ongoing: dict[str, None] = {}
        self.image = MetadataImage()
        self.settings = settings
        self.parked: ParkedRequests[Transactions] = ParkedRequests()
        self._send = send
        self._timers = timers
        self._describe = describe or _figures

    @property
    def version(self) -> int:
        """Level of `transaction.version` in the cluster."""
        return self.image.features.get(TRANSACTION_VERSION, 0)

    def transaction(self, transactional_id: str) -> Transaction:
        """Return the state of an id. Raises KafkaError(INVALID_PRODUCER_ID_MAPPING)."""
        transaction = self.by_id.get(transactional_id)
        if transaction is None:
            raise KafkaError(ErrorCode.INVALID_PRODUCER_ID_MAPPING)
        return transaction

    # Replay

    def replay(self, record: CoordinatorRecord) -> None:
        """Apply a record, written here or by an earlier leader."""
        name = record.key.transactional_id
        try:
            transaction = stored_transaction(record)
        except ValueError as error:
            _logger.exception("transaction skipped", transactional_id=name, reason=str(error))
            return
        if transaction is None:
            self.by_id.pop(name, None)
        else:
            self.by_id[name] = transaction
        if transaction is not None and transaction.state is TransactionState.ONGOING:
            self.ongoing[name] = None
        else:
            self.ongoing.pop(name, None)

    def replay_transactional(self, producer_id: int, record: CoordinatorRecord) -> None:
        """Apply a record of a transaction, as any other: no producer writes to this topic."""
        del producer_id
        self.replay(record)

    def end_transaction(self, producer_id: int, *, committed: bool) -> Steps[None]:
        """Ignore a marker: no producer writes to this topic."""
        del producer_id, committed
        yield from ()

    # Effects

    def store(self, transaction: Transaction) -> Effects:
        """Return the effects that store a state."""
        return Effects([transaction_record(transaction, self.version)])

    def prepare(self, *transactions: Transaction) -> Effects:
        """Return the effects that store prepared transactions, and then have markers written."""
        return Effects(
            [transaction_record(transaction, self.version) for transaction in transactions],
            committed=partial(self._send_all, transactions),
            atomic=False,
        )

    def _send_all(
        self, transactions: Sequence[Transaction], now_ms: int, *, first: int = 0
    ) -> Effects:
        """Have markers sent for the first ones; the next step follows."""
        del now_ms
        end = first + _A_STEP
        for transaction in transactions[first:end]:
            self._send(transaction)
        if end >= len(transactions):
            return Effects()
        return Effects(committed=partial(self._send_all, transactions, first=end))

    # Events

    def loaded(self, now_ms: int) -> Steps[Effects]:
        """Handle the first event: everything stored has been replayed."""
        del now_ms
        prepared: list[Transaction] = []
        for number, transaction in enumerate(tuple(self.by_id.values()), 1):
            if transaction.is_prepared:
                prepared.append(transaction)
            if not number % _A_STEP:
                yield
        effects = Effects(committed=partial(self._send_all, prepared))
        if self.ongoing:
            effects.set_timer(TIME_OUTS, self.settings.time_out_check_ms)
        return effects.set_timer(EXPIRY, self.settings.expiry_check_ms)

    def timer(self, key: TimerKey, now_ms: int) -> Effects | Steps[Effects]:
        """Handle a timer that is due."""
        kind = str(key[0])
        if kind == _COMPLETION:
            return self._complete(str(key[1]), now_ms)
        if kind == PARKED:
            return self.parked.give_up(str(key[1]))
        return self._timers[kind](self, now_ms)

    def image_changed(
        self, delta: MetadataDelta, image: MetadataImage, *, busy: bool
    ) -> Sequence[Change[Self]]:
        """Take over new metadata: no state depends on it."""
        del delta, busy
        self.image = image
        return ()

    def _complete(self, transactional_id: str, now_ms: int) -> Effects:
        transaction = self.by_id.get(transactional_id)
        if transaction is None or not transaction.is_prepared:
            return Effects()
        return markers_written(transaction, self, now_ms)

    # Requests that wait for the end of the transaction before

    def park(self, transactional_id: str, event: "Event[Transactions]", ticket: Ticket) -> Effects:
        """Take an event again when all markers are written; the answer is CONCURRENT_TRANSACTIONS
        after `longest_wait_ms`.
        """
        longest_wait_ms = self.settings.longest_wait_ms
        return self.parked.park(transactional_id, event, ticket, longest_wait_ms)

    def waits(self, key: str, ticket: Ticket, times: WaitTimes) -> tuple[Wait, ...]:
        """Return the waits of a parked request for the markers. key: transactional id."""
        transaction = self.by_id.get(key)
        return () if transaction is None else self.parked.waits(transaction, ticket, times)

    # Life

    def close(self) -> Steps[None]:
        """Break all cycles in a machine that is no longer used."""
        self._send, self._describe = _ignore, _figures
        self.parked.clear()
        yield from emptied(self.by_id)
        yield from emptied(self.ongoing)

    def nodes(self, parent: Node) -> Iterator[Node]:
        """Yield one node for each transactional id, those with an open transaction first."""
        names = chain(self.ongoing, (name for name in self.by_id if name not in self.ongoing))
        for name in tuple(islice(names, _SHOWN)):
            figures = partial(self._describe, self.by_id[name])
            yield Node(name, "transaction", figures, parent=parent)
        more = len(self.by_id) - _SHOWN
        if more > 0:
            yield Node(f"{more} more transactional ids", "part", parent=parent)


def markers_written(transaction: Transaction, machine: Transactions, now_ms: int) -> Effects:
    """Note that every partition of a prepared transaction has its marker.

    Nothing happens if the state is another one by now: a shard that was loaded again has had the
    markers written twice. A refused record is written again later.
    """
    if machine.by_id.get(transaction.transactional_id) != transaction:
        return Effects()
    key = (_COMPLETION, transaction.transactional_id)
    effects = machine.store(completed(transaction, now_ms))
    effects.committed = partial(machine.parked.resume, transaction.transactional_id, machine)
    effects.refused = lambda _error, _now_ms: Effects().set_timer(key, _COMPLETION_MS)
    return effects


def _figures(transaction: Transaction) -> Figures:
    """Return figures without a clock."""
    return {"state": transaction.state.value}


def _ignore(_transaction: Transaction) -> None:
    """Receive what is sent after `close`."""
