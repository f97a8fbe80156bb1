"""One shard of transactional ids in virtual time: requests in a few words, markers as sent."""

from functools import partial
from typing import Any

from attrs import evolve

from trio_kafka.coordinators.shards.effects import Ticket
from trio_kafka.coordinators.transactions.adding import (
    TransactionPartitions,
    add_partitions,
    verify_partitions,
)
from trio_kafka.coordinators.transactions.ending import End, end
from trio_kafka.coordinators.transactions.initializing import Initialization, initialize
from trio_kafka.coordinators.transactions.records import TRANSACTION_RECORDS
from trio_kafka.coordinators.transactions.settings import TransactionSettings
from trio_kafka.coordinators.transactions.states import TransactionState
from trio_kafka.coordinators.transactions.time_outs import TIMER_EVENTS
from trio_kafka.coordinators.transactions.transaction import (
    LAST_EPOCH,
    ProducerIdentity,
    Transaction,
)
from trio_kafka.coordinators.transactions.transactions import (
    TRANSACTION_VERSION,
    Transactions,
    markers_written,
)
from trio_kafka.errors import ErrorCode, KafkaError
from trio_kafka.metadata.image import MetadataImage
from trio_kafka.model import TopicPartition
from trio_kafka.testing.machines import MachineDriver

ID = "payments"
TIMEOUT_MS = 60_000
FIRST, SECOND = TopicPartition("t", 0), TopicPartition("t", 1)
NEW_ID = 100  # producer id that a request brings along
ROTATED_ID = 200


class TransactionsKit:
    """Transactional ids of one shard. sent: prepared transactions whose markers are to be written.

    level: of `transaction.version` in the cluster.
    """

    def __init__(self, level: int = 1, settings: TransactionSettings | None = None) -> None:
        self.level = level
        self.sent: list[Transaction] = []
        self._settings = settings or TransactionSettings()
        self.driver: MachineDriver[Transactions] = MachineDriver(
            self._machine, codec=TRANSACTION_RECORDS, decodes=False
        )

    def _machine(self) -> Transactions:
        machine = Transactions(self.sent.append, TIMER_EVENTS, self._settings)
        machine.image = evolve(MetadataImage(), features={TRANSACTION_VERSION: self.level})
        return machine

    def reload(self) -> None:
        """Lose everything but the committed records."""
        self.sent.clear()
        self.driver = self.driver.reload()

    @property
    def machine(self) -> Transactions:
        return self.driver.machine

    @property
    def transaction(self) -> Transaction:
        return self.machine.by_id[ID]

    @property
    def state(self) -> TransactionState:
        return self.transaction.state

    # Requests. Each returns the answer, or the name of an error; "waits" for none yet.

    def initialize(
        self,
        expected: ProducerIdentity | None = None,
        *,
        new_id: int | None = NEW_ID,
        name: str = ID,
        timeout_ms: int = TIMEOUT_MS,
    ) -> Any:
        request = Initialization(
            transactional_id=name,
            timeout_ms=timeout_ms,
            expected=expected,
            new_producer_id=new_id,
        )
        return self.answer(self.driver.submit(partial(initialize, request)))

    def add(self, identity: ProducerIdentity, *partitions: TopicPartition, version: int = 0) -> Any:
        return self.answer(self.submit_add(identity, *partitions, version=version))

    def submit_add(
        self, identity: ProducerIdentity, *partitions: TopicPartition, version: int = 0
    ) -> Ticket:
        request = TransactionPartitions(
            transactional_id=ID,
            identity=identity,
            partitions=partitions or (FIRST,),
            version=version,
        )
        return self.driver.submit(partial(add_partitions, request))

    def verify(self, identity: ProducerIdentity, *partitions: TopicPartition) -> Any:
        request = TransactionPartitions(
            transactional_id=ID, identity=identity, partitions=partitions or (FIRST,)
        )
        return self.answer(self.driver.submit(partial(verify_partitions, request)))

    def end(
        self,
        identity: ProducerIdentity,
        *,
        commits: bool = True,
        version: int = 0,
        new_id: int | None = None,
    ) -> Any:
        request = End(
            transactional_id=ID,
            identity=identity,
            commits=commits,
            version=version,
            new_producer_id=new_id,
        )
        return self.answer(self.driver.submit(partial(end, request)))

    def answer(self, ticket: Ticket) -> Any:
        answer = self.driver.answers.get(ticket, "waits")
        return answer.code.name if isinstance(answer, KafkaError) else answer

    def write_markers(self) -> None:
        """Every partition of the transactions that were sent gets its marker."""
        sent, self.sent[:] = tuple(self.sent), []
        for transaction in sent:
            self.driver.apply(partial(markers_written, transaction))

    def ongoing(self, *partitions: TopicPartition, version: int = 0) -> ProducerIdentity:
        """Begin a transaction."""
        identity: ProducerIdentity = self.initialize()
        assert self.add(identity, *partitions, version=version) is None
        return identity

    def use_up(self, epoch: int = LAST_EPOCH) -> ProducerIdentity:
        """Give the producer the last epoch of its id, or the one that only a fence gives."""
        self.initialize()
        transaction = evolve(self.transaction, producer_epoch=epoch)
        self.driver.apply(lambda machine, _now_ms: machine.store(transaction))
        return transaction.identity


REFUSED = KafkaError(ErrorCode.NOT_ENOUGH_REPLICAS)


def check_invariants(machine: Transactions) -> None:
    """Fail if the ids with an open transaction do not follow from the states."""
    assert set(machine.ongoing) == {
        name
        for name, transaction in machine.by_id.items()
        if transaction.state is TransactionState.ONGOING
    }
