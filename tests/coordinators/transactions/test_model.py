"""No sequence of events breaks a transaction: producers, time, refusals, slow commits and reloads.

The model knows what each producer was told. It is held against the markers that were sent.
"""

from functools import partial

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from tests.coordinators.transactions.kit import (
    FIRST,
    ID,
    REFUSED,
    ROTATED_ID,
    SECOND,
    TransactionsKit,
    check_invariants,
)
from trio_kafka.coordinators.transactions.states import IDLE, TransactionState
from trio_kafka.coordinators.transactions.transaction import ProducerIdentity, Transaction
from trio_kafka.coordinators.transactions.transactions import markers_written

PARTITIONS = st.sampled_from([(FIRST,), (SECOND,), (FIRST, SECOND)])


class Transactions(RuleBasedStateMachine):
    """Two producers of one transactional id. identities: of each, the newest last."""

    version = 0

    def __init__(self) -> None:
        super().__init__()
        self.kit = TransactionsKit(self.version or 1)
        self.identities: list[ProducerIdentity] = []
        self.decisions: dict[tuple[int, int, int], TransactionState] = {}
        self.holds = False

    # Clients

    @rule(continues=st.booleans())
    def initialize(self, continues: bool) -> None:
        expected = self.identities[-1] if continues and self.identities else None
        answer = self.kit.initialize(expected, new_id=ROTATED_ID + len(self.kit.driver.log))
        if isinstance(answer, ProducerIdentity):
            self.identities.append(answer)

    @precondition(lambda self: self.identities)
    @rule(newest=st.booleans(), partitions=PARTITIONS)
    def add(self, newest: bool, partitions: tuple[object, ...]) -> None:
        identity = self.identities[-1 if newest else 0]
        answer = self.kit.add(identity, *partitions, version=self.version)
        if answer is None:
            assert identity == self.kit.transaction.identity

    @precondition(lambda self: self.identities)
    @rule(newest=st.booleans(), commits=st.booleans())
    def end(self, newest: bool, commits: bool) -> None:
        identity = self.identities[-1 if newest else 0]
        answer = self.kit.end(
            identity,
            commits=commits,
            version=self.version,
            new_id=ROTATED_ID + len(self.kit.driver.log),
        )
        if isinstance(answer, ProducerIdentity):
            self.identities.append(answer)

    # Surroundings

    @rule()
    def write_markers(self) -> None:
        for transaction in self.kit.sent:
            self._decided(transaction)
        self.kit.write_markers()
        self.kit.driver.now_ms += 1  # no two transactions of one epoch begin at the same time

    @precondition(lambda self: self.kit.sent)
    @rule()
    def repeat_a_late_completion(self) -> None:
        self._decided(self.kit.sent[0])
        self.kit.driver.apply(partial(markers_written, self.kit.sent[0]))
        self.kit.driver.now_ms += 1

    @rule(ms=st.sampled_from([1, 50, 30_000, 80_000]))
    def wait(self, ms: int) -> None:
        self.kit.driver.advance(ms)

    @rule()
    def hold_commits(self) -> None:
        self.kit.driver.hold = self.holds = True

    @rule()
    def commit(self) -> None:
        self.kit.driver.commit()
        self.holds = False

    @rule()
    def refuse(self) -> None:
        self.kit.driver.refuse = None if self.kit.driver.refuse else REFUSED

    @rule()
    def reload(self) -> None:
        """Lose what is not committed. Producers whose answer is lost ask again."""
        refuses = self.kit.driver.refuse
        self.kit.reload()
        self.kit.driver.refuse = refuses
        self.holds = False
        transaction = self.kit.machine.by_id.get(ID)
        if transaction is not None and transaction.is_prepared:
            assert self.kit.sent == [transaction]

    # Invariants

    def _decided(self, transaction: Transaction) -> None:
        """A marker leaves the shard only for a stored decision, and never for two of them."""
        key = (transaction.producer_id, transaction.producer_epoch, transaction.started_ms)
        assert self.decisions.setdefault(key, transaction.state) is transaction.state
        committed = self.kit.driver.records[: self.kit.driver.committed_end]
        assert any(
            record.value is not None
            and record.value.producer_epoch == transaction.producer_epoch
            and record.value.transaction_status in (2, 3)
            for record in committed
        )

    @invariant()
    def states_are_consistent(self) -> None:
        check_invariants(self.kit.machine)
        transaction = self.kit.machine.by_id.get(ID)
        if transaction is not None:
            assert bool(transaction.partitions) <= (transaction.state not in IDLE)
            assert transaction.producer_epoch >= 0

    @invariant()
    def nothing_waits_for_ever(self) -> None:
        """A prepared transaction has its markers sent, unless its record is not committed."""
        transaction = self.kit.machine.by_id.get(ID)
        if transaction is not None and transaction.is_prepared and not self.holds:
            waits = ("completion", ID) in self.kit.driver.timers
            assert waits or transaction in self.kit.sent


class NewProtocol(Transactions):
    """The same under transaction version 2."""

    version = 2


Transactions.TestCase.settings = NewProtocol.TestCase.settings = settings(stateful_step_count=40)
TestOldProtocol = Transactions.TestCase
TestNewProtocol = NewProtocol.TestCase
