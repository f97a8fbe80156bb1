"""Transaction coordinator of a broker, for handlers, the leaders of partitions and the tree.

A transactional id belongs to one partition of `__transaction_state`, by the hash of the id, and to
the leader of that partition. Each request is an event of one shard. The topic is created when the
first client asks for a coordinator.
"""

from collections.abc import Awaitable, Callable, Iterator, Sequence
from functools import partial
from typing import Final, NoReturn

import trio

from trio_kafka.attributes import frozen
from trio_kafka.config.broker import BrokerConfig
from trio_kafka.coordinators.shards.coordinator import Coordinator
from trio_kafka.coordinators.shards.owned_topic import OwnedTopic
from trio_kafka.coordinators.shards.protocols import ShardState
from trio_kafka.coordinators.shards.runtime import ShardDependencies, ShardRuntime
from trio_kafka.coordinators.transactions.adding import (
    TransactionPartitions,
    add_partitions,
    verify_partitions,
)
from trio_kafka.coordinators.transactions.ending import End, end
from trio_kafka.coordinators.transactions.gate import WAIT, CoordinatorGate
from trio_kafka.coordinators.transactions.initializing import (
    Initialization,
    NewId,
    initialize,
    needs_producer_id,
)
from trio_kafka.coordinators.transactions.inspection import (
    TransactionFilter,
    describe_transaction,
    list_transactions,
)
from trio_kafka.coordinators.transactions.marker_writer import MarkerWriter
from trio_kafka.coordinators.transactions.records import TRANSACTION_RECORDS
from trio_kafka.coordinators.transactions.settings import transaction_settings
from trio_kafka.coordinators.transactions.spare_id import SpareId
from trio_kafka.coordinators.transactions.time_outs import TIMER_EVENTS
from trio_kafka.coordinators.transactions.transaction import ProducerIdentity, Transaction
from trio_kafka.coordinators.transactions.transaction_facts import transaction_figures
from trio_kafka.coordinators.transactions.transactions import Transactions, markers_written
from trio_kafka.errors import ErrorCode, KafkaError
from trio_kafka.introspect.tree import Figures, Node
from trio_kafka.metadata.delta import MetadataDelta
from trio_kafka.metadata.image import MetadataImage
from trio_kafka.metadata.names import TRANSACTION_STATE
from trio_kafka.model import TopicPartition
from trio_kafka.pending import Eventual, then
from trio_kafka.purgatory import Purgatory
from trio_kafka.replication.leader.markers import Markers

PURGATORIES: Final = (
    "InitProducerId",
    "AddPartitionsToTxn",
    "EndTxn",
    "DescribeTransactions",
    "ListTransactions",
    WAIT,
)
_STOPPED: Final = KafkaError(ErrorCode.COORDINATOR_NOT_AVAILABLE)
TIMEOUT_S: Final = 5.0  # longest wait for the commit of a record, as for offsets


@frozen(kw_only=True)
class TransactionDependencies:
    """Parts that the coordinator is built with. shards: those of its shards. create_topic: have
    `__transaction_state` created. next_producer_id: wait for a new id. markers: write markers.
    """

    shards: ShardDependencies
    create_topic: Callable[[], None]
    next_producer_id: Callable[[], Awaitable[int]]
    markers: Markers


class TransactionCoordinator:
    """Coordinates the transactional ids whose partitions are led here.

    topic: finds the coordinator of an id. runtime: the shards. coordinator: asks them. gate: for
    leaders of partitions.
    """

    def __init__(
        self, config: BrokerConfig, dependencies: TransactionDependencies, node: Node
    ) -> None:
        self.settings = transaction_settings(config)
        node = node.add("transaction-coordinator", "part", self._figures)
        shards = dependencies.shards
        self.runtime: ShardRuntime[Transactions] = ShardRuntime(
            TRANSACTION_STATE,
            TRANSACTION_RECORDS,
            self._machine,
            dependencies=shards,
            node=node,
        )
        self.topic = OwnedTopic(
            self.runtime,
            new_count=config.transaction_state_log_num_partitions,
            create=dependencies.create_topic,
        )
        self.coordinator = Coordinator(
            self.topic,
            self.runtime,
            purgatories={name: Purgatory(name, shards.timers, node) for name in PURGATORIES},
            timeout_s=TIMEOUT_S,
        )
        self.gate = CoordinatorGate(self.coordinator, shards.clock.elapsed)
        self.marker_writer = MarkerWriter(
            dependencies.markers,
            shards.timers,
            coordinator_epoch=self._coordinator_epoch,
            image=lambda: self.runtime.image,
            written=self._markers_written,
            elapsed=shards.clock.elapsed,
        )
        self._wall = shards.clock.wall
        self._spare_id = SpareId(dependencies.next_producer_id)

    def _machine(self) -> Transactions:
        return Transactions(
            self.marker_writer.send, TIMER_EVENTS, self.settings, describe=self._describe
        )

    def _describe(self, transaction: Transaction) -> Figures:
        return transaction_figures(transaction, self.now_ms, self.marker_writer)

    @property
    def now_ms(self) -> int:
        """Wall clock."""
        return int(self._wall() * 1000)

    @property
    def machines(self) -> list[Transactions]:
        """Machines of all active shards, for inspection."""
        shards = self.runtime.shards.values()
        return [shard.machine for shard in shards if shard.state is ShardState.ACTIVE]

    @property
    def is_complete(self) -> bool:
        """True if this broker has every transactional id: all partitions of the topic are led
        here, and loaded.
        """
        return len(self.machines) == (self.runtime.count or 0)

    def _coordinator_epoch(self, transactional_id: str) -> int:
        """Return the leader epoch of an id's partition, which fences earlier coordinators."""
        topic = self.runtime.image.topics[TRANSACTION_STATE]
        return topic.partitions[self.topic.partition_of(transactional_id)].leader_epoch

    def _markers_written(self, transaction: Transaction) -> None:
        event = partial(markers_written, transaction)
        self.coordinator.apply(transaction.transactional_id, event)

    # Requests. Errors are values, as answers encode them in their own ways.

    def needs_producer_id(self, request: Initialization) -> bool:
        """Return whether a producer needs a new producer id, see `Initialization`."""
        try:
            shard = self.coordinator.shard_of(request.transactional_id)
        except KafkaError:
            return False  # `initialize` says it, after what is wrong with the request itself
        return shard.state is ShardState.ACTIVE and needs_producer_id(request, shard.machine)

    def initialize(self, request: Initialization) -> Eventual[ProducerIdentity | KafkaError]:
        """Give a producer its id and epoch, see `initializing.initialize`.

        INVALID_TRANSACTION_TIMEOUT: above `transaction.max.timeout.ms`. CONCURRENT_TRANSACTIONS
        also if a producer id is needed that the request does not bring along.
        """
        if not 0 < request.timeout_ms <= self.settings.longest_timeout_ms:
            return KafkaError(
                ErrorCode.INVALID_TRANSACTION_TIMEOUT,
                f"transaction timeout of {request.timeout_ms} ms: expected 1 to"
                f" {self.settings.longest_timeout_ms}",
            )
        answer: Eventual[ProducerIdentity | NewId | KafkaError]
        answer = self.coordinator.ask(
            request.transactional_id, partial(initialize, request), "InitProducerId"
        )
        return then(answer, _identity)

    def add(self, request: TransactionPartitions) -> Eventual[KafkaError | None]:
        """Add partitions to a transaction, see `adding.add_partitions`."""
        event = partial(add_partitions, request)
        answer: Eventual[KafkaError | None]
        answer = self.coordinator.ask(request.transactional_id, event, "AddPartitionsToTxn")
        return answer

    def verify(
        self, request: TransactionPartitions
    ) -> Eventual[dict[TopicPartition, ErrorCode] | KafkaError]:
        """Verify partitions, see `adding.verify_partitions`."""
        event = partial(verify_partitions, request)
        answer: Eventual[dict[TopicPartition, ErrorCode] | KafkaError]
        answer = self.coordinator.ask(request.transactional_id, event, "AddPartitionsToTxn")
        return answer

    def end(self, request: End) -> Eventual[ProducerIdentity | KafkaError]:
        """Commit or abort a transaction, see `ending.end`.

        Raises KafkaError(NOT_COORDINATOR).
        """
        shard = self.coordinator.shard_of(request.transactional_id)
        transaction = shard.machine.by_id.get(request.transactional_id)
        if transaction is not None and transaction.is_used_up:
            request = request.with_id(self._spare_id.take())
        answer: Eventual[ProducerIdentity | KafkaError]
        answer = self.coordinator.ask(request.transactional_id, partial(end, request), "EndTxn")
        return answer

    def describe(
        self, transactional_ids: Sequence[str]
    ) -> Eventual[list[Transaction | KafkaError]]:
        """Describe ids, in order, see `inspection.describe_transaction`.

        COORDINATOR_NOT_AVAILABLE for each after `stop`, as in Kafka.
        """
        if self.runtime.is_stopped:
            return [_STOPPED] * len(transactional_ids)
        events = ((name, partial(describe_transaction, name)) for name in transactional_ids)
        return self.coordinator.ask_many(events, "DescribeTransactions")

    def list(self, chosen: TransactionFilter) -> Eventual[list[list[Transaction] | KafkaError]]:
        """List the ids of all shards, see `inspection.list_transactions`.

        COORDINATOR_NOT_AVAILABLE after `stop`: a stopped coordinator has no shards, and a client
        must not take that for no transactions.
        """
        if self.runtime.is_stopped:
            return [_STOPPED]
        return self.coordinator.ask_everywhere(
            partial(list_transactions, chosen), "ListTransactions"
        )

    # Life

    def start(self, image: MetadataImage) -> None:
        """Take over the first image."""
        self.runtime.start(image)

    def publish(self, delta: MetadataDelta, image: MetadataImage, /) -> Iterator[None]:
        """Take over changed metadata. Partitions must have taken them over before."""
        return self.runtime.publish(delta, image)

    async def run(
        self, *, task_status: trio.TaskStatus[None] = trio.TASK_STATUS_IGNORED
    ) -> NoReturn:
        """Load and serve, until cancelled."""
        async with trio.open_nursery() as nursery:
            await nursery.start(self.marker_writer.run, name="transaction markers")
            nursery.start_soon(self._spare_id.run, name="spare producer id")
            await self.runtime.run(task_status=task_status)

    def stop(self) -> None:
        """Stop serving. Pending requests are answered with NOT_COORDINATOR."""
        self.runtime.stop()

    def _figures(self) -> Figures:
        machines = self.machines
        return {
            **self.runtime.figures(),
            "transactional_ids": sum(len(machine.by_id) for machine in machines),
            "ongoing": sum(len(machine.ongoing) for machine in machines),
            **{f"markers_{name}": value for name, value in self.marker_writer.figures().items()},
        }


def _identity(answer: ProducerIdentity | NewId | KafkaError) -> ProducerIdentity | KafkaError:
    if isinstance(answer, NewId):
        # The id was not needed when the request came: clients try again.
        return KafkaError(ErrorCode.CONCURRENT_TRANSACTIONS)
    return answer
