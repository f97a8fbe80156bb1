"""The transaction coordinator as a part of the broker: it starts, serves, and stops."""

from trio.testing import MockClock

from tests.apis.transactional_ids import ID, begin, serve_transactions, state_of
from trio_kafka.broker.parts.transactions import FOLLOWED, TRANSACTIONS_TASK
from trio_kafka.coordinators.transactions.coordinator import TransactionCoordinator
from trio_kafka.metadata.delta import MetadataDelta
from trio_kafka.metadata.image import MetadataImage
from trio_kafka.metadata.publisher import changes
from trio_kafka.metadata.replay import replay
from trio_kafka.protocol.stored.metadata.features import FeatureLevelRecord
from trio_kafka.protocol.stored.metadata.producer_ids import ProducerIdsRecord
from trio_kafka.replication.leader.transaction_gate import Admissions
from trio_kafka.testing.broker import served_broker
from trio_kafka.testing.simulation import simulated_world


async def test_transaction_coordinator_runs_until_the_broker_stops(
    autojump_clock: MockClock,
) -> None:
    async with served_broker(simulated_world()) as served:
        coordinator = served.broker[TransactionCoordinator]
        assert served.broker.tasks.runs(TRANSACTIONS_TASK)
        assert served.broker[Admissions].gate is coordinator.gate
        assert "__transaction_state" not in served.broker.metadata.image.topics
        await serve_transactions(served, ID)
        assert coordinator.runtime.shards

    assert not served.broker.tasks.runs(TRANSACTIONS_TASK)
    assert coordinator.runtime.shards == {}


async def test_transactions_are_loaded_after_a_restart(autojump_clock: MockClock) -> None:
    world = simulated_world()
    async with served_broker(world) as served:
        await served.create_topic("t")
        await begin(served)

    async with served_broker(world) as served:
        await serve_transactions(served, ID)
        assert state_of(served) == "Ongoing"


def test_features_concern_transactions_and_producer_ids_do_not() -> None:
    image = MetadataImage()
    features, producer_ids = MetadataDelta(image), MetadataDelta(image)
    replay(features, FeatureLevelRecord(name="transaction.version", feature_level=1))
    replay(producer_ids, ProducerIdsRecord(1, 1, 1000))

    assert changes(features, FOLLOWED)
    assert not changes(producer_ids, FOLLOWED)
