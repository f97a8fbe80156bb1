"""The group coordinator as a part of the broker: it starts, serves, and stops."""

from trio.testing import MockClock

from tests.broker.kit import config_of
from trio_kafka.broker.groups import GROUPS
from trio_kafka.errors import ErrorCode
from trio_kafka.protocol.messages.k10_find_coordinator import FindCoordinatorRequest
from trio_kafka.testing.broker import served_broker
from trio_kafka.testing.simulation import simulated_world


async def test_it_runs_while_the_broker_does(autojump_clock: MockClock) -> None:
    async with served_broker(simulated_world()) as served:
        broker = served.broker
        assert broker.tasks.runs(GROUPS)
        assert broker.parts.groups is broker.groups
        await served.serve_groups("g")
        assert broker.groups.runtime.shards

    assert not broker.tasks.runs(GROUPS)
    assert broker.groups.runtime.shards == {}
    assert "coordinators" in broker.stop.durations


async def test_where_the_offsets_topic_cannot_be_made_clients_are_told_to_come_again(
    autojump_clock: MockClock, caplog
) -> None:
    settings = {"offsets.topic.replication.factor": "3"}
    async with served_broker(simulated_world(), settings) as served:
        for _ in range(2):
            answer = await served.ask(FindCoordinatorRequest(coordinator_keys=["g"]))
            (found,) = answer.coordinators
            assert found.error_code == ErrorCode.COORDINATOR_NOT_AVAILABLE

    assert "topic not created" in caplog.text


def test_an_embedded_node_keeps_one_copy_of_offsets() -> None:
    assert config_of({}).offsets_topic_replication_factor == 1
