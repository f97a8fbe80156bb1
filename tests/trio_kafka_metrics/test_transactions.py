"""Metrics of transactions: ids by state, verification, markers, late transactions."""

from attrs import evolve
from trio.testing import MockClock

from tests.apis.transactional_ids import begin
from tests.trio_kafka_metrics.kit import harness, read
from trio_kafka.coordinators.transactions.coordinator import TransactionCoordinator
from trio_kafka.coordinators.transactions.states import TransactionState
from trio_kafka.errors import ErrorCode
from trio_kafka.log.producer_state import Producer
from trio_kafka.model import TopicPartition
from trio_kafka.replication.leader.transaction_gate import TransactionAsk
from trio_kafka_metrics.replicas import read_replicas
from trio_kafka_metrics.transactions import read_transactions

ADDING = "kafka_server_addpartitionstotxnmanager_verification"


async def test_transactional_ids_are_counted_by_state_and_refused_partitions_as_failures(
    autojump_clock: MockClock,
) -> None:
    async with harness() as plugin_harness:
        await plugin_harness.served.create_topic("t")
        identity = await begin(plugin_harness.served)
        gate = plugin_harness.parts[TransactionCoordinator].gate
        partitions = (TopicPartition("t", 0), TopicPartition("t", 1))
        question = TransactionAsk(
            transactional_id="payments",
            producer_id=identity.producer_id,
            producer_epoch=identity.epoch,
            partitions=partitions,
            adds=False,
            knows_generic_errors=True,
        )
        gate.admit(evolve(question, partitions=partitions[:1]))
        gate.admit(question)
        gate.times.recent_ms.extend([5.0] * 98)

        values = read(read_transactions, plugin_harness.parts)

    assert values["trio_kafka_transactional_ids{state=Ongoing}"] == 1
    assert values["trio_kafka_transactional_ids{state=PrepareAbort}"] == 0
    assert values["trio_kafka_transaction_coordinator_partitions{state=active}"] == 50
    assert values[f"{ADDING}failurerate_count"] == 1
    assert values[f"{ADDING}timems_count"] == 2
    assert values[f"{ADDING}timems{{quantile=0.50}}"] == 5.0
    assert values["trio_kafka_transaction_coordinator_partition_load_seconds_max"] >= 0


async def test_markers_that_wait_for_a_leader_and_for_a_retry_are_two_metrics(
    autojump_clock: MockClock,
) -> None:
    async with harness() as plugin_harness:
        await plugin_harness.served.create_topic("t")
        await begin(plugin_harness.served)
        coordinator = plugin_harness.parts[TransactionCoordinator]
        (transaction,) = coordinator.coordinator.shard_of("payments").machine.by_id.values()
        prepared = evolve(transaction, state=TransactionState.PREPARE_ABORT)
        writer = coordinator.marker_writer
        errors = (ErrorCode.NOT_LEADER_OR_FOLLOWER, ErrorCode.NOT_ENOUGH_REPLICAS)
        for number, error in enumerate(errors):
            writer.send(evolve(prepared, transactional_id=f"id-{number}"))
            job = writer._jobs[f"id-{number}"]
            writer._take(job, {TopicPartition("t", 0): error})

        values = read(read_transactions, plugin_harness.parts)

    assert values["trio_kafka_transaction_markers_unknown_destination_queue_size"] == 1
    assert values["trio_kafka_transaction_markers_log_append_retry_queue_size"] == 1


async def test_partition_is_late_five_minutes_after_the_longest_timeout(
    autojump_clock: MockClock,
) -> None:
    async with harness() as plugin_harness:
        await plugin_harness.served.create_topic("t")
        log = plugin_harness.parts.replicas.partition("t", 0).local_log()
        producers = log.producers
        late_ms = plugin_harness.parts.config.transaction_max_timeout_ms + 300_000

        def late(age_ms: int) -> float:
            oldest = Producer(
                producer_id=5, timestamp=log.now_ms() - age_ms, transaction_first_offset=0
            )
            producers.restore(oldest)
            name = "kafka_server_replicamanager_partitionswithlatetransactionscount"
            return read(read_replicas, plugin_harness.parts)[name]

        assert late(late_ms) == 0
        assert late(late_ms + 1) == 1
        producers.clear()
