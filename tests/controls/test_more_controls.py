"""Controls of the test kit that no other test of one module shows.

docs/reference/test-controls.md maps the controls of other test brokers to them.
"""

import time
from collections.abc import Awaitable, Callable, Mapping
from typing import Any

import pytest
import trio
from confluent_kafka import Consumer
from trio.testing import MockClock

from tests.apis.kit import batch, produce, write
from trio_kafka.controls.api_limits import ApiLimits
from trio_kafka.controls.faults import FaultRule, Faults
from trio_kafka.controls.interceptors import Forward, Interceptors
from trio_kafka.controls.recorder import Recorder
from trio_kafka.errors import ErrorCode
from trio_kafka.pending import NO_ANSWER
from trio_kafka.plugin import Context, ProtocolError
from trio_kafka.protocol.messages.k03_metadata import (
    MetadataRequest,
    MetadataRequestTopic,
    MetadataResponse,
)
from trio_kafka.protocol.messages.k11_join_group import JoinGroupRequest, JoinGroupRequestProtocol
from trio_kafka.protocol.messages.k12_heartbeat import HeartbeatRequest
from trio_kafka.protocol.messages.k60_describe_cluster import DescribeClusterRequest
from trio_kafka.protocol.messages.k68_consumer_group_heartbeat import (
    ConsumerGroupHeartbeatRequest,
)
from trio_kafka.testing.broker import ServedBroker, newest, served_broker
from trio_kafka.testing.kafka.threaded import running_broker
from trio_kafka.testing.ports import unused_port
from trio_kafka.testing.scripted_client import connected
from trio_kafka.testing.simulation import simulated_world

MOVED = ErrorCode.NOT_LEADER_OR_FOLLOWER


async def metadata(served: ServedBroker, *topics: str, **more: Any) -> MetadataResponse:
    named = [MetadataRequestTopic(name=name) for name in topics]
    answer: MetadataResponse = await served.ask(MetadataRequest(named, **more))
    return answer


# --- coroutines


async def test_interceptor_can_answer_close_the_connection_or_send_no_answer(
    autojump_clock: MockClock,
) -> None:
    async with served_broker(simulated_world()) as served:
        interceptors, outcome = Interceptors(served.broker), list[Any]()

        @interceptors.on("Heartbeat")
        async def decide(request: Any, context: Context, forward: Forward) -> Any:
            verdict = outcome.pop(0)
            if verdict == "close":
                raise ProtocolError("closed by the test")
            return NO_ANSWER if verdict == "silent" else await forward(request)

        outcome += ["silent", "forward"]
        with trio.move_on_after(5) as scope:
            await served.ask(HeartbeatRequest("g", 1, "m"))
        assert scope.cancelled_caught
        async with served.connect() as other:
            assert (await other.ask(HeartbeatRequest("g", 1, "m"), 0)).error_code != 0
            outcome.append("close")
            with pytest.raises((EOFError, ConnectionError)):
                await other.ask(HeartbeatRequest("g", 1, "m"), 0)


async def test_interceptor_can_remove_itself_and_add_rules_while_running(
    autojump_clock: MockClock,
) -> None:
    async with served_broker(simulated_world()) as served:
        await served.create_topic("t")
        interceptors, faults = Interceptors(served.broker), Faults(served.broker)

        @interceptors.on("Produce")
        async def once(request: Any, context: Context, forward: Forward) -> Any:
            once.remove()
            faults.add(FaultRule(api="Produce", error=MOVED, times=1))
            return await forward(request)

        result = [(await produce(served, "t", batch(b"a"))).error_code for _ in range(3)]

        assert result == [0, MOVED, 0]


async def test_interceptor_can_answer_metadata_with_a_stale_leader(
    autojump_clock: MockClock,
) -> None:
    async with served_broker(simulated_world()) as served:
        await served.create_topic("t")
        interceptors = Interceptors(served.broker)

        @interceptors.on("Metadata")
        async def stale(request: Any, context: Context, forward: Forward) -> Any:
            answer = await forward(request)
            for topic in answer.topics:
                topic.partitions[0].leader_id, topic.partitions[0].leader_epoch = 7, 0
            return answer

        (topic,) = (await metadata(served, "t")).topics
        stale.remove()
        (now,) = (await metadata(served, "t")).topics

        assert (topic.partitions[0].leader_id, topic.partitions[0].leader_epoch) == (7, 0)
        assert now.partitions[0].leader_id == 1


async def test_controls_attached_to_a_restarted_broker_stay_in_force(
    autojump_clock: MockClock,
) -> None:
    world = simulated_world()
    async with served_broker(world) as served:
        await served.create_topic("t")
        faults, recorder = Faults(served.broker), Recorder(served.broker)
        limits, interceptors = ApiLimits(served.broker), Interceptors(served.broker)
        fault = faults.add(FaultRule(api="Produce", topic="t", error=MOVED))
        recorder.start()
        limits.cap_versions("Heartbeat", 2)

        @interceptors.on("Heartbeat")
        async def count(request: Any, context: Context, forward: Forward) -> Any:
            return await forward(request)

        assert (await produce(served, "t", batch(b"a"))).error_code == MOVED
    async with served_broker(world) as served:
        for control in (faults, recorder, limits, interceptors):
            control.attach(served.broker)

        assert (await produce(served, "t", batch(b"a"))).error_code == MOVED
        await served.ask(HeartbeatRequest("g", 1, "m"), 2)
        assert (fault.hits, count.calls, len(recorder.requests("Produce"))) == (2, 1, 2)
        assert limits.limited == {"Heartbeat": (0, 2)}
        recorder.stop()
        faults.clear()
        interceptors.clear()
        assert len(served.broker.parts.interceptors) == 0


# --- settings


Check = Callable[[ServedBroker], Awaitable[bool]]


async def has_new_topics(served: ServedBroker) -> bool:
    await metadata(served, "new", allow_auto_topic_creation=True)
    await trio.sleep(1)
    (topic,) = (await metadata(served, "new", allow_auto_topic_creation=False)).topics
    return topic.error_code == 0 and len(topic.partitions) == 5


async def rejects_a_session_of_2_s(served: ServedBroker) -> bool:
    await served.serve_groups("g")
    join = JoinGroupRequest(
        "g",
        session_timeout_ms=2000,
        rebalance_timeout_ms=2000,
        protocol_type="consumer",
        protocols=[JoinGroupRequestProtocol("range", b"")],
    )
    code = (await served.ask(join)).error_code
    return bool(code == ErrorCode.INVALID_SESSION_TIMEOUT)


async def tells_heartbeat_interval(served: ServedBroker) -> bool:
    await served.serve_groups("g")
    beat = ConsumerGroupHeartbeatRequest(
        "g",
        "AAAAAAAAAAAAAAAAAAAAAA",
        rebalance_timeout_ms=1000,
        subscribed_topic_names=["t"],
        topic_partitions=[],
    )
    answer = await served.ask(beat, newest(ConsumerGroupHeartbeatRequest))
    return bool(answer.heartbeat_interval_ms == 123)


async def tells_address_and_rack(served: ServedBroker) -> bool:
    (broker,) = (await served.ask(DescribeClusterRequest())).brokers
    return (broker.host, broker.port, broker.rack) == ("there", 9, "r1")


@pytest.mark.parametrize(
    ("settings", "holds"),
    [
        ({"num.partitions": "5"}, has_new_topics),
        ({"group.min.session.timeout.ms": "3000"}, rejects_a_session_of_2_s),
        (
            {"group.max.session.timeout.ms": "1000", "group.min.session.timeout.ms": "500"},
            rejects_a_session_of_2_s,
        ),
        (
            {
                "group.consumer.min.heartbeat.interval.ms": "100",
                "group.consumer.heartbeat.interval.ms": "123",
            },
            tells_heartbeat_interval,
        ),
        (
            {"advertised.listeners": "PLAINTEXT://there:9", "broker.rack": "r1"},
            tells_address_and_rack,
        ),
    ],
    ids=lambda value: next(iter(value)) if isinstance(value, dict) else "",
)
async def test_broker_of_a_test_applies_the_given_kafka_settings(
    autojump_clock: MockClock, settings: Mapping[str, str], holds: Check
) -> None:
    async with served_broker(simulated_world(), settings) as served:
        assert await holds(served)


async def test_unknown_topics_are_not_created_when_auto_create_is_off(
    autojump_clock: MockClock,
) -> None:
    settings = {"auto.create.topics.enable": "false", "num.partitions": "5"}
    async with served_broker(simulated_world(), settings) as served:
        assert not await has_new_topics(served)


def test_running_broker_has_the_topics_and_port_of_its_arguments() -> None:
    port = unused_port()
    with running_broker(topics={"orders": 3, "other": 1}, port=port) as kafka:
        assert kafka.bootstrap == f"127.0.0.1:{port}"
        assert kafka.topics() == ["orders", "other"]
        assert len(kafka.topic("orders").offsets) == 3
        kafka.delete_topic("other")
        assert kafka.topics() == ["orders"]


def test_consumer_of_a_running_broker_gets_its_assignment_without_rebalance_delay() -> None:
    with running_broker(topics=["orders"]) as kafka:
        consumer = Consumer({"bootstrap.servers": kafka.bootstrap, "group.id": "g"})
        consumer.subscribe(["orders"])
        end = time.monotonic() + 2
        while not consumer.assignment() and time.monotonic() < end:
            consumer.poll(0.05)
        assert [partition.topic for partition in consumer.assignment()] == ["orders"]
        consumer.close()


async def test_described_cluster_address_accepts_connections(autojump_clock: MockClock) -> None:
    async with served_broker(simulated_world()) as served:
        (broker,) = (await served.ask(DescribeClusterRequest())).brokers
        assert f"{broker.host}:{broker.port}" == served.broker.bootstrap
        async with connected(served.broker.world, served.broker.endpoint) as client:
            served.client.close()
            served.client = client
            await served.create_topic("t")
            assert await write(served, "t", b"a") == 0
