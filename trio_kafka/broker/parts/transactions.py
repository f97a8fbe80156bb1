"""The transaction coordinator as a part of the node."""

from functools import partial
from typing import Final

import trio

from trio_kafka.broker.node import Node, Part, Stage, tasks_end
from trio_kafka.broker.parts.producer_ids import ProducerIds
from trio_kafka.broker.parts.topic_creation import TopicCreation
from trio_kafka.config.broker import BrokerConfig
from trio_kafka.coordinators.shards.batch_accumulator import Batching
from trio_kafka.coordinators.shards.runtime import ShardDependencies
from trio_kafka.coordinators.transactions.coordinator import (
    TransactionCoordinator,
    TransactionDependencies,
)
from trio_kafka.metadata.effective import DynamicSettings
from trio_kafka.metadata.names import TRANSACTION_STATE
from trio_kafka.metadata.publisher import Loader
from trio_kafka.purgatory import Timers
from trio_kafka.replication.leader.markers import LocalMarkers
from trio_kafka.replication.leader.transaction_gate import Admissions
from trio_kafka.replication.table import Replicas

TRANSACTIONS_TASK: Final = "transaction-coordinator"

FOLLOWED: Final = ("topics", "deleted_topics", "features")


async def _open(node: Node) -> TransactionCoordinator:
    """Start the coordinator after the replicas: a shard needs its partition. Loading runs
    concurrently.
    """
    transactions, loader = _make(node), node[Loader]
    # No checkpoint between the next two statements: no image may be published in between.
    transactions.start(loader.image)
    loader.add(transactions, *FOLLOWED)
    await node.tasks.start(TRANSACTIONS_TASK, transactions.run)
    admissions = node[Admissions]
    admissions.gate = transactions.gate
    node[DynamicSettings].follow(partial(_follow_settings, admissions))
    return transactions


def _follow_settings(admissions: Admissions, config: BrokerConfig) -> None:
    admissions.verifies = config.transaction_partition_verification_enable


def _make(node: Node) -> TransactionCoordinator:
    shards = ShardDependencies(
        broker=node.node_id,
        find_partition=node[Replicas].find,
        timers=node[Timers],
        clock=node.world.clock,
        buffer=node.config.transaction_state_log_load_buffer_size,
        batching=Batching(deferred=node.deferred),
    )
    dependencies = TransactionDependencies(
        shards=shards,
        create_topic=lambda: node[TopicCreation].want([TRANSACTION_STATE]),
        next_producer_id=node[ProducerIds].next_id,
        markers=node[LocalMarkers],
    )
    return TransactionCoordinator(node.config, dependencies, node.tree)


async def _answer_parked(node: Node) -> None:
    await trio.lowlevel.checkpoint()
    node[TransactionCoordinator].stop()


TRANSACTIONS: Final = Part(
    kind=TransactionCoordinator,
    open=_open,
    stops={Stage.NETWORK: _answer_parked, Stage.COORDINATORS: tasks_end(TRANSACTIONS_TASK)},
    step="replication",
)
