"""Settings of transactions in a whole broker: limits below, at and above their bounds, intervals,
verification.
"""

import pytest
import trio
from trio.testing import MockClock

from tests.apis.kit import broker
from tests.apis.transactional_ids import (
    ID,
    add_request,
    begin,
    end,
    initialize,
    serve_transactions,
    state_of,
)
from tests.apis.transactions import produce_in_transaction
from trio_kafka.controller.configs import ConfigChange, Operation
from trio_kafka.coordinators.transactions.coordinator import TransactionCoordinator
from trio_kafka.errors import ErrorCode
from trio_kafka.metadata.image import ConfigResourceType
from trio_kafka.protocol.messages.k22_init_producer_id import InitProducerIdRequest


@pytest.mark.parametrize("more", [-1, 0, 1])
async def test_transaction_timeout_above_transaction_max_timeout_ms_is_refused(
    autojump_clock: MockClock, more: int
) -> None:
    async with broker({"transaction.max.timeout.ms": "2000"}) as served:
        await serve_transactions(served, ID)

        answer = await served.ask(InitProducerIdRequest(ID, 2000 + more), 5)

    assert answer.error_code == (ErrorCode.INVALID_TRANSACTION_TIMEOUT if more > 0 else 0)


@pytest.mark.parametrize(("after_s", "stays"), [(59, True), (62, False)])
async def test_unused_transactional_id_is_removed_after_transactional_id_expiration_ms(
    autojump_clock: MockClock, after_s: float, stays: bool
) -> None:
    """Looked for each second, so one that is a minute old goes within a second or two."""
    settings = {
        "transactional.id.expiration.ms": "60000",
        "transaction.remove.expired.transaction.cleanup.interval.ms": "1000",
    }
    async with broker(settings) as served:
        await initialize(served)
        await trio.sleep(after_s)

        machine = served.broker[TransactionCoordinator].coordinator.shard_of(ID).machine
        assert (ID in machine.by_id) == stays


@pytest.mark.parametrize(("interval_ms", "after_s"), [(1000, 61.5), (10_000, 70.5)])
async def test_transaction_is_aborted_by_the_first_search_after_its_timeout(
    autojump_clock: MockClock, interval_ms: int, after_s: float
) -> None:
    settings = {
        "transaction.abort.timed.out.transaction.cleanup.interval.ms": str(interval_ms),
    }
    async with broker(settings) as served:
        await served.create_topic("t")
        await begin(served)

        await trio.sleep(59.5)
        open_state = state_of(served)
        await trio.sleep(after_s - 59.5)

        assert (open_state, state_of(served)) == ("Ongoing", "CompleteAbort")


@pytest.mark.parametrize("longest_ms", [0, 300])
async def test_partition_waits_for_markers_as_long_as_add_partitions_to_txn_retry_backoff_max_ms(
    autojump_clock: MockClock, longest_ms: int
) -> None:
    settings = {"add.partitions.to.txn.retry.backoff.max.ms": str(longest_ms)}
    async with broker(settings) as served:
        await served.create_topic("t")
        identity = await begin(served)
        served.broker.replicas.partition("t", 0).isr = ()  # markers are refused
        await end(served, identity)

        began = trio.current_time()
        answer = await served.ask(add_request(identity, {"t": [0]}), 3)
        waited_s = trio.current_time() - began

    (topic,) = answer.results_by_topic_v3_and_below
    (row,) = topic.results_by_partition
    assert row.partition_error_code == ErrorCode.CONCURRENT_TRANSACTIONS
    assert longest_ms / 1000 <= waited_s < longest_ms / 1000 + 0.1


async def test_batches_are_verified_unless_transaction_partition_verification_enable_is_false(
    autojump_clock: MockClock,
) -> None:
    name = "transaction.partition.verification.enable"
    async with broker({name: "false"}) as served:
        for topic in "abc":
            await served.create_topic(topic)
        await serve_transactions(served, "tx")

        async def code(topic: str, version: int = 11) -> int:
            (row,) = await produce_in_transaction(served, topic, b"x", version=version)
            return row.error_code

        unverified = await code("a")
        added = await code("b", version=12)  # the new protocol adds: it is asked for always
        await served.broker.controller.alter_configs(
            {(ConfigResourceType.BROKER, ""): [ConfigChange(name, Operation.SET, "true")]}
        )
        verified = await code("c")

    assert unverified == 0
    assert added == verified == ErrorCode.INVALID_PRODUCER_ID_MAPPING
