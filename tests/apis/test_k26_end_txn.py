"""EndTxn in both protocols, up to the markers that readers see."""

import pytest
from trio.testing import MockClock

from tests.apis.kit import broker, stable
from tests.apis.transactional_ids import (
    ID,
    NEW_PROTOCOL,
    OLD_PROTOCOL,
    begin,
    end,
    initialize,
    serve_transactions,
    state_of,
)
from trio_kafka.coordinators.transactions.transaction import ProducerIdentity
from trio_kafka.errors import ErrorCode
from trio_kafka.protocol.messages.k26_end_txn import EndTxnRequest
from trio_kafka.testing.broker import served_broker
from trio_kafka.testing.simulation import simulated_world


@pytest.mark.parametrize("version", stable(EndTxnRequest))
@pytest.mark.parametrize("commits", [True, False])
async def test_ended_transaction_is_complete_when_its_markers_are_written(
    autojump_clock: MockClock, version: int, commits: bool
) -> None:
    async with broker() as served:
        await served.create_topic("t", partitions=2)
        identity = await begin(served, {"t": [0, 1]})

        answer = await end(served, identity, commits=commits, version=version)

        assert answer.error_code == 0
        if version >= NEW_PROTOCOL:
            after = ProducerIdentity(answer.producer_id, answer.producer_epoch)
            assert after == ProducerIdentity(identity.producer_id, identity.epoch + 1)
        await served.ask(EndTxnRequest("", 1, 0, True), 4)  # the task of the markers had its turn
        assert state_of(served) == ("CompleteCommit" if commits else "CompleteAbort")
        for number in (0, 1):
            log = served.broker.replicas.partition("t", number).local_log()
            assert log.end_offset == 1


@pytest.mark.parametrize(
    ("version", "code"),
    [(1, ErrorCode.INVALID_PRODUCER_EPOCH), (2, ErrorCode.PRODUCER_FENCED)],
)
async def test_fenced_producer_gets_the_error_that_its_version_knows(
    autojump_clock: MockClock, version: int, code: ErrorCode
) -> None:
    async with broker() as served:
        old = await initialize(served)
        await initialize(served)

        assert (await end(served, old, version=version)).error_code == code


async def test_invalid_ends_are_refused(autojump_clock: MockClock) -> None:
    async with broker() as served:
        identity = await initialize(served)

        assert (await end(served, identity)).error_code == ErrorCode.INVALID_TXN_STATE
        empty = EndTxnRequest("", identity.producer_id, identity.epoch, True)
        assert (await served.ask(empty, OLD_PROTOCOL)).error_code == ErrorCode.INVALID_REQUEST
        await serve_transactions(served, "unknown")
        unknown = EndTxnRequest("unknown", identity.producer_id, identity.epoch, True)
        assert (
            await served.ask(unknown, OLD_PROTOCOL)
        ).error_code == ErrorCode.INVALID_PRODUCER_ID_MAPPING


async def test_transaction_without_partitions_is_aborted_by_the_new_protocol(
    autojump_clock: MockClock,
) -> None:
    async with broker() as served:
        identity = await initialize(served)

        answer = await end(served, identity, commits=False, version=NEW_PROTOCOL)

        assert (answer.error_code, answer.producer_epoch) == (0, identity.epoch + 1)


async def test_open_transaction_of_an_earlier_life_is_ended_after_a_restart(
    autojump_clock: MockClock,
) -> None:
    world = simulated_world()
    async with served_broker(world) as served:
        await served.create_topic("t")
        identity = await begin(served)

    async with served_broker(world) as served:
        await serve_transactions(served, ID)
        assert state_of(served) == "Ongoing"
        assert (await end(served, identity)).error_code == 0
        assert state_of(served) in ("PrepareCommit", "CompleteCommit")
