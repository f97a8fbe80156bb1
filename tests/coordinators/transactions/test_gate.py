"""The gate of the leaders: adds or verifies, and answers with the coordinator's own errors."""

from trio.testing import MockClock

from tests.apis.kit import broker
from tests.apis.transactional_ids import ID, begin, initialize, state_of
from trio_kafka.coordinators.transactions.coordinator import TransactionCoordinator
from trio_kafka.coordinators.transactions.transaction import ProducerIdentity
from trio_kafka.errors import ErrorCode
from trio_kafka.model import TopicPartition
from trio_kafka.replication.leader.transaction_gate import TransactionAsk
from trio_kafka.testing.broker import ServedBroker

PARTITION = TopicPartition("t", 0)


def admit(
    served: ServedBroker, identity: ProducerIdentity, *, adds: bool, name: str = ID
) -> object:
    question = TransactionAsk(
        transactional_id=name,
        producer_id=identity.producer_id,
        producer_epoch=identity.epoch,
        partitions=(PARTITION,),
        adds=adds,
        knows_generic_errors=True,
    )
    return served.broker[TransactionCoordinator].gate.admit(question)


async def test_partition_of_the_transaction_is_admitted_and_others_are_not(
    autojump_clock: MockClock,
) -> None:
    async with broker() as served:
        await served.create_topic("t")
        identity = await initialize(served)
        assert admit(served, identity, adds=False) == {PARTITION: ErrorCode.TRANSACTION_ABORTABLE}

        await begin(served)

        fenced = {PARTITION: ErrorCode.PRODUCER_FENCED}
        assert admit(served, identity, adds=False) == fenced
        newer = ProducerIdentity(identity.producer_id, identity.epoch + 1)
        assert admit(served, newer, adds=False) == {}


async def test_partition_is_added_for_a_client_of_the_new_protocol(
    autojump_clock: MockClock,
) -> None:
    async with broker() as served:
        await served.create_topic("t")
        identity = await initialize(served)

        assert admit(served, identity, adds=True) == {}

        assert state_of(served) == "Ongoing"


async def test_error_of_the_question_is_that_of_each_partition(autojump_clock: MockClock) -> None:
    async with broker() as served:
        identity = ProducerIdentity(1, 0)

        assert admit(served, identity, adds=True) == {PARTITION: ErrorCode.NOT_COORDINATOR}
