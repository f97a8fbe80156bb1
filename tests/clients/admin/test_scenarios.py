"""Both admin clients against a broker process.

`--against apache-kafka` runs the same scenarios against Apache Kafka 4.4. What takes a fault of the
network is in `test_opening.py`, in one loop.
"""

from collections.abc import Callable, Iterator
from uuid import uuid4

import pytest
import trio

from tests.clients.admin import scenarios
from tests.clients.admin.scenarios import PLAIN, TIME_MS, WITH_RECORDS, Scenario
from trio_kafka.clients import ProducerRecord, blocking, open_admin, open_consumer, open_producer
from trio_kafka.clients.admin.calls.call import Plan
from trio_kafka.clients.admin.groups import MemberToRemove
from trio_kafka.clients.admin.topic_values import NewTopic
from trio_kafka.errors import ErrorCode
from trio_kafka.model import TopicPartition
from trio_kafka.testing.processes import BrokerProcess

pytestmark = [pytest.mark.slow, pytest.mark.timeout(120)]

Runner = Callable[[Plan[object]], object]
TIMEOUT_S = 30.0


@pytest.fixture(params=["trio", "blocking"])
def run(request: pytest.FixtureRequest, shared_broker: BrokerProcess) -> Iterator[Runner]:
    """Runs a plan with one of the clients."""
    config = {"bootstrap.servers": shared_broker.bootstrap, "default.api.timeout.ms": 20_000}
    if request.param == "blocking":
        with blocking.open_admin(config) as admin:
            yield admin.run
        return

    async def run_on_trio(plan: Plan[object]) -> object:
        async with open_admin(config) as admin:
            return await admin.run(plan)

    yield lambda plan: trio.run(run_on_trio, plan)


def new_name() -> str:
    return f"a-{uuid4().hex[:12]}"


def name_of(scenario: Scenario) -> str:
    return scenario.__name__


@pytest.mark.parametrize("scenario", PLAIN, ids=name_of)
def test_scenario_passes_with_both_clients(run: Runner, scenario: Scenario) -> None:
    run(scenario(new_name()))


@pytest.mark.parametrize("scenario", WITH_RECORDS, ids=name_of)
def test_scenario_with_ten_records_passes_with_both_clients(
    run: Runner, shared_broker: BrokerProcess, scenario: Scenario
) -> None:
    name = new_name()
    run(scenarios.new_topic(name, 2))
    trio.run(write_records, shared_broker.bootstrap, name)

    run(scenario(name))


async def write_records(bootstrap: str, topic: str) -> None:
    """Write ten records, a second apart, each in a batch of its own."""
    async with open_producer({"bootstrap.servers": bootstrap}) as producer:
        for number in range(10):
            record = ProducerRecord(topic, b"x", partition=0, timestamp_ms=TIME_MS + number * 1000)
            await (await producer.send(record))


async def test_open_transaction_is_seen_and_ended(shared_broker: BrokerProcess) -> None:
    name = new_name()
    config = {"bootstrap.servers": shared_broker.bootstrap}
    async with (
        open_admin(config) as admin,
        open_producer({**config, "transactional.id": name}) as producer,
    ):
        (await admin.create_topics([NewTopic(name, num_partitions=1)])).all()
        with pytest.raises(KeyError):
            async with producer.transaction():
                await (await producer.send(ProducerRecord(name, b"x")))
                await admin.run(
                    scenarios.open_transaction_is_seen_in_its_partition_and_ended_by_a_marker(name)
                )
                raise KeyError


@pytest.mark.parametrize("protocol", ["classic", "consumer"])
async def test_members_of_a_group_are_described_and_classic_ones_are_removed(
    shared_broker: BrokerProcess, protocol: str
) -> None:
    name = new_name()
    config = {"bootstrap.servers": shared_broker.bootstrap}
    async with (
        open_admin(config) as admin,
        open_consumer({**config, "group.id": name, "group.protocol": protocol}) as consumer,
    ):
        (await admin.create_topics([NewTopic(name, num_partitions=2)])).all()
        consumer.subscribe([name])
        with trio.fail_after(TIMEOUT_S):
            while not consumer.assignment:
                await consumer.poll(0.1)

        description = (await admin.describe_consumer_groups([name]))[name]
        deleted = await admin.delete_groups([name])
        await admin.delete_consumer_group_offsets(name, [TopicPartition(name, 0)])

        assert (description.type.lower(), description.state) == (protocol, "Stable")
        (member,) = description.members
        assert member.assignment == {TopicPartition(name, 0), TopicPartition(name, 1)}
        assert member.client_id == consumer.client.settings.client_id
        assert deleted.errors[name].code is ErrorCode.NON_EMPTY_GROUP
        if protocol == "classic":
            removed = await admin.remove_members_from_consumer_group(name)
            assert removed.all() == {MemberToRemove(member_id=member.member_id): None}
