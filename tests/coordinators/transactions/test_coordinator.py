"""The coordinator of a broker: time-outs, used-up epochs, figures, the end of markers."""

import trio
from attrs import evolve
from trio.testing import MockClock

from tests.apis.kit import broker
from tests.apis.transactional_ids import (
    ID,
    NEW_PROTOCOL,
    add_request,
    begin,
    end,
    initialize,
    state_of,
)
from trio_kafka.coordinators.transactions.coordinator import TransactionCoordinator
from trio_kafka.coordinators.transactions.transaction import LAST_EPOCH
from trio_kafka.errors import ErrorCode
from trio_kafka.testing.broker import ServedBroker


async def test_transaction_of_a_silent_producer_is_aborted(autojump_clock: MockClock) -> None:
    async with broker() as served:
        await served.create_topic("t")
        identity = await begin(served)

        await trio.sleep(80)

        assert state_of(served) == "CompleteAbort"
        assert served.broker.replicas.partition("t", 0).local_log().end_offset == 1
        answer = await served.ask(add_request(identity, {"t": [0]}), 3)
        (topic,) = answer.results_by_topic_v3_and_below
        assert topic.results_by_partition[0].partition_error_code == ErrorCode.PRODUCER_FENCED


async def test_deleted_topic_does_not_hold_up_the_end(autojump_clock: MockClock) -> None:
    async with broker() as served:
        await served.create_topic("t")
        await served.create_topic("u")
        identity = await begin(served, {"t": [0], "u": [0]})
        await served.broker.parts.controller.delete_topics(["t"])

        assert (await end(served, identity)).error_code == 0
        await trio.sleep(1)

        assert state_of(served) == "CompleteCommit"


async def test_used_up_epochs_are_followed_by_a_new_producer_id(
    autojump_clock: MockClock,
) -> None:
    async with broker() as served:
        await served.create_topic("t")
        identity = await begin(served)
        use_up(served)
        last = evolve(identity, epoch=LAST_EPOCH)

        code = ErrorCode.COORDINATOR_LOAD_IN_PROGRESS
        assert (await end(served, last, version=NEW_PROTOCOL)).error_code == code
        await trio.sleep(0.1)
        answer = await end(served, last, version=NEW_PROTOCOL)

        assert (answer.error_code, answer.producer_epoch) == (0, 0)
        assert answer.producer_id != identity.producer_id
        await trio.sleep(0.1)
        assert state_of(served) == "CompleteCommit"


def use_up(served: ServedBroker) -> None:
    """Give the producer of the id its last epoch."""
    shard = served.broker[TransactionCoordinator].coordinator.shard_of(ID)
    transaction = evolve(shard.machine.by_id[ID], producer_epoch=LAST_EPOCH)
    shard.apply(lambda machine, _now_ms: machine.store(transaction))


async def test_figures_count_ids_open_transactions_and_markers(autojump_clock: MockClock) -> None:
    async with broker() as served:
        await served.create_topic("t")
        identity = await begin(served)
        await initialize(served, "idle")
        coordinator = served.broker[TransactionCoordinator]
        figures = coordinator._figures()
        assert (figures["transactional_ids"], figures["ongoing"]) == (2, 1)

        await end(served, identity)
        await trio.sleep(0.1)

        figures = coordinator._figures()
        assert (figures["ongoing"], figures["markers_sent"]) == (0, 1)
