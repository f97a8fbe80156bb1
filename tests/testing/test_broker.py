"""A whole broker in a test, in the simulated world and in the real one."""

from pathlib import Path

import pytest
import trio
from trio.testing import MockClock

from trio_kafka.config.setting import ConfigError
from trio_kafka.protocol.messages.k00_produce import ProduceRequest
from trio_kafka.protocol.messages.k03_metadata import MetadataRequest
from trio_kafka.protocol.messages.k18_api_versions import ApiVersionsRequest
from trio_kafka.protocol.messages.k22_init_producer_id import InitProducerIdRequest
from trio_kafka.testing.broker import newest, served_broker
from trio_kafka.testing.planes import until
from trio_kafka.testing.simulation import simulated_world
from trio_kafka.world.real import RealWorld

TWO_LISTENERS = {
    "listeners": "ONE://127.0.0.1:0,TWO://127.0.0.1:0",
    "listener.security.protocol.map": "ONE:PLAINTEXT,TWO:PLAINTEXT",
    "inter.broker.listener.name": "ONE",
}
# Of Apache Kafka 4.4.0, as its answer to ApiVersions lists them.
KAFKAS = {
    0: (0, 13),
    1: (4, 18),
    2: (1, 11),
    3: (0, 13),
    18: (0, 5),
    19: (2, 7),
    20: (1, 6),
    22: (0, 5),
    32: (1, 4),
    60: (0, 2),
}


async def test_served_broker_answers_in_virtual_time(autojump_clock: MockClock) -> None:
    async with served_broker(simulated_world()) as served:
        topic_id = await served.create_topic("t", 2, {"retention.ms": "1000"})
        (topic,) = (await served.ask(MetadataRequest(topics=None))).topics

    assert (topic.name, topic.topic_id, len(topic.partitions)) == ("t", topic_id, 2)


async def test_topics_are_kept_over_a_restart_in_the_same_world(autojump_clock: MockClock) -> None:
    world = simulated_world()
    async with served_broker(world) as served:
        topic_id = await served.create_topic("t")
    async with served_broker(world) as served:
        (topic,) = (await served.ask(MetadataRequest(topics=None))).topics

    assert topic.topic_id == topic_id


async def test_served_broker_answers_over_real_sockets_on_a_free_port(tmp_path: Path) -> None:
    async with served_broker(RealWorld(), {"log.dirs": str(tmp_path / "data")}) as served:
        answer = await served.ask(MetadataRequest())

        assert [broker.port for broker in answer.brokers] == [served.broker.endpoint.port]
    assert (tmp_path / "data" / "meta.properties").is_file()


async def test_refused_creation_of_a_topic_fails_the_test(autojump_clock: MockClock) -> None:
    async with served_broker(simulated_world()) as served:
        with pytest.raises(AssertionError, match="error 37"):
            await served.create_topic("t", 0)


async def test_connection_uses_the_named_listener_or_the_first(autojump_clock: MockClock) -> None:
    async with served_broker(simulated_world(), TWO_LISTENERS) as served:
        async with served.connect("TWO") as other:
            answer = await other.ask(MetadataRequest(), 5)
            assert [broker.port for broker in answer.brokers] == [
                served.broker.endpoints["TWO"].port
            ]
        async with served.connect() as other:
            answer = await other.ask(MetadataRequest(), 5)
            assert [broker.port for broker in answer.brokers] == [
                served.broker.endpoints["ONE"].port
            ]


async def test_closed_connections_are_counted_by_their_reason(autojump_clock: MockClock) -> None:
    async with served_broker(simulated_world()) as served:
        async with served.connect():
            await trio.sleep(0.1)
            assert served.closed("left") == 0

        await until(lambda: served.closed("left") == 1)


async def test_wrong_setting_of_a_served_broker_is_refused(autojump_clock: MockClock) -> None:
    with pytest.raises(ConfigError, match=r"num\.io\.threads"):
        async with served_broker(simulated_world(), {"num.io.threads": "0"}):
            pass


async def test_served_versions_are_those_of_kafka(autojump_clock: MockClock) -> None:
    async with served_broker(simulated_world()) as served:
        rows = (await served.ask(ApiVersionsRequest("trio", "1"))).api_keys

    result = {row.api_key: (row.min_version, row.max_version) for row in rows}
    assert {key: result[key] for key in KAFKAS} == KAFKAS


def test_newest_version_of_a_request_is_never_unstable() -> None:
    assert newest(InitProducerIdRequest) == 5
    assert newest(ProduceRequest) == 13
    assert newest(ApiVersionsRequest) == 5
