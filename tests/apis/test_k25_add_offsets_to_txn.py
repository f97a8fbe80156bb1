"""AddOffsetsToTxn: the partition of the group becomes part of the transaction."""

import pytest
from trio.testing import MockClock

from tests.apis.kit import broker, stable
from tests.apis.transactional_ids import ID, initialize, state_of
from trio_kafka.coordinators.transactions.coordinator import TransactionCoordinator
from trio_kafka.errors import ErrorCode
from trio_kafka.model import TopicPartition
from trio_kafka.protocol.messages.k25_add_offsets_to_txn import AddOffsetsToTxnRequest


@pytest.mark.parametrize("version", stable(AddOffsetsToTxnRequest))
async def test_partition_of_the_group_is_added(autojump_clock: MockClock, version: int) -> None:
    async with broker() as served:
        identity = await initialize(served)
        request = AddOffsetsToTxnRequest(ID, identity.producer_id, identity.epoch, "g")

        assert (await served.ask(request, version)).error_code == 0

        assert state_of(served) == "Ongoing"
        machine = served.broker[TransactionCoordinator].coordinator.shard_of(ID).machine
        number = served.broker.groups.topic.partition_of("g")
        assert machine.by_id[ID].partitions == {TopicPartition("__consumer_offsets", number)}


@pytest.mark.parametrize(
    ("version", "code"),
    [(1, ErrorCode.INVALID_PRODUCER_EPOCH), (2, ErrorCode.PRODUCER_FENCED)],
)
async def test_fenced_producer_gets_the_error_that_its_version_knows(
    autojump_clock: MockClock, version: int, code: ErrorCode
) -> None:
    async with broker() as served:
        identity = await initialize(served)
        request = AddOffsetsToTxnRequest(ID, identity.producer_id, identity.epoch + 1, "g")

        assert (await served.ask(request, version)).error_code == code


async def test_empty_transactional_id_is_invalid(autojump_clock: MockClock) -> None:
    async with broker() as served:
        answer = await served.ask(AddOffsetsToTxnRequest("", 1, 0, "g"), 3)

        assert answer.error_code == ErrorCode.INVALID_REQUEST
