"""Limits of transactions, each below, at and above its bound."""

import pytest
import trio
from trio.testing import MockClock

from tests.apis.kit import broker
from tests.apis.transactional_ids import ID, initialize, serve_transactions
from trio_kafka.coordinators.transactions.coordinator import TransactionCoordinator
from trio_kafka.errors import ErrorCode
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
