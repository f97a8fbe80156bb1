"""Requests from within are requests like others: seen, changed, charged, counted."""

from functools import partial
from pathlib import Path
from typing import Any

import pytest
import trio
from trio.testing import MockClock

from trio_kafka.controls.interceptors import RecordingOwner
from trio_kafka.errors import ErrorCode, InvariantError, KafkaError
from trio_kafka.introspect.stamps import Stamps
from trio_kafka.model import Endpoint
from trio_kafka.plugin import Context, api
from trio_kafka.protocol.messages.k00_produce import (
    PartitionProduceData,
    ProduceRequest,
    TopicProduceData,
)
from trio_kafka.protocol.messages.k01_fetch import FetchPartition, FetchRequest, FetchTopic
from trio_kafka.protocol.messages.k03_metadata import MetadataRequest
from trio_kafka.protocol.messages.k10010_describe_requests import DescribeRequestsRequest
from trio_kafka.records.batch import Record, encode_batch
from trio_kafka.requests.api import api_of
from trio_kafka.requests.loopback import IN_PROCESS, LISTENER, RefusedError
from trio_kafka.security.principal import Principal
from trio_kafka.testing.broker import ServedBroker, served_broker
from trio_kafka.testing.sample_apis import EchoRequest, EchoResponse
from trio_kafka.testing.simulation import simulated_world
from trio_kafka.world.real import RealWorld
from trio_kafka.world.world import World

ALICE = Principal("User", "alice")


def produce(topic: str, *, acks: int = -1, partition: int = 0, size: int = 10) -> ProduceRequest:
    data = PartitionProduceData(partition, memoryview(encode_batch([Record(value=b"v" * size)])))
    return ProduceRequest(
        acks=acks, timeout_ms=1000, topic_data=[TopicProduceData(topic, partition_data=[data])]
    )


def fetch(topic: str, **more: int) -> FetchRequest:
    expected = FetchPartition(partition=0, fetch_offset=0, partition_max_bytes=1 << 20)
    options = {"max_wait_ms": 0, "min_bytes": 1, "max_bytes": 1 << 20, **more}
    return FetchRequest(topics=[FetchTopic(topic, partitions=[expected])], **options)


async def ask(served: ServedBroker, request: object, **more: Any) -> Any:
    return await served.broker.parts.in_process.ask(request, **more)


def figures(served: ServedBroker) -> Any:
    (node,) = [node for _, node in served.broker.node.walk() if node.name == "in-process"]
    return node.figures()


async def test_records_produced_with_the_loopback_client_are_fetched_with_the_same_client(
    autojump_clock: MockClock,
) -> None:
    await produce_and_fetch(simulated_world())


@pytest.mark.slow
async def test_loopback_client_fetches_records_from_real_files(tmp_path: Path) -> None:
    await produce_and_fetch(RealWorld(), {"log.dirs": str(tmp_path / "data")})


async def produce_and_fetch(world: World, settings: dict[str, str] | None = None) -> None:
    async with served_broker(world, settings or {}) as served:
        await served.create_topic("t")
        response = await ask(served, produce("t"), version=12)
        result = await ask(served, fetch("t"), version=12)
        assert response.responses[0].partition_responses[0].base_offset == 0
        data = result.responses[0].partitions[0]
        assert (data.error_code, data.high_watermark) == (0, 1)
        assert b"v" * 10 in bytes(data.records)
        assert (figures(served)["in_flight"], figures(served)["asked"]) == (0, 2)


async def test_interceptors_see_principal_and_listener_of_a_loopback_request_and_may_refuse(
    autojump_clock: MockClock,
) -> None:
    seen: list[tuple[str, str, str, str]] = []

    def look(request: ProduceRequest, context: Context) -> None:
        seen.append((context.principal, context.client_id, context.listener, str(context.peer)))
        if context.principal == "User:mallory":
            raise KafkaError(ErrorCode.TOPIC_AUTHORIZATION_FAILED)

    async with served_broker(simulated_world()) as served:
        await served.create_topic("t")
        served.broker.parts.interceptors.add(
            "before", ProduceRequest, look, order=1, owner=RecordingOwner()
        )
        peer = Endpoint("10.0.0.7", 4711)
        await ask(served, produce("t"), principal=ALICE, client_id="c", peer=peer, version=12)
        mallory = Principal("User", "mallory")
        refused = await ask(served, produce("t"), principal=mallory, version=12)

    assert seen[0] == ("User:alice", "c", LISTENER.name, "10.0.0.7:4711")
    row = refused.responses[0].partition_responses[0]
    assert row.error_code == ErrorCode.TOPIC_AUTHORIZATION_FAILED


async def test_loopback_requests_are_counted_in_the_request_metrics(
    autojump_clock: MockClock,
) -> None:
    lives: list[Stamps] = []
    async with served_broker(simulated_world()) as served:
        await served.create_topic("t")
        times = served.broker.planes[0].request_metrics
        times.follow(lives.append)
        before = times.of(0).count
        await ask(served, produce("t"), client_id="within", version=12)
        times.unfollow(lives.append)
        assert times.of(0).count == before + 1

    (life,) = lives
    assert (life.origin.listener, life.client_id, life.key) == (LISTENER.name, "within", 0)
    assert life.request_bytes > 60
    assert 0 < life.received <= life.handled <= life.answered <= life.sent


async def test_throttled_loopback_client_waits_the_throttle_time_for_its_response(
    autojump_clock: MockClock,
) -> None:
    async with served_broker(simulated_world()) as served:
        await served.create_topic("t")
        served.broker.parts.quotas.quotas.set(("", "greedy"), {"producer_byte_rate": 100.0})
        took = []
        for client_id in ("greedy", "modest"):
            began = trio.current_time()
            answer = await ask(served, produce("t", size=2000), client_id=client_id, version=12)
            took.append((answer.throttle_time_ms, trio.current_time() - began))
        assert figures(served)["throttled"] == 1

    (told_ms, waited_s), (other_ms, other_s) = took
    assert told_ms > 500
    assert waited_s == pytest.approx(told_ms / 1000, abs=0.1)
    assert (other_ms, round(other_s)) == (0, 0)


async def test_loopback_request_that_would_close_a_connection_raises_an_error(
    autojump_clock: MockClock,
) -> None:
    async with served_broker(simulated_world()) as served:
        await served.create_topic("t")
        assert await ask(served, produce("t", acks=0), version=12) is None
        with pytest.raises(RefusedError, match="UNKNOWN_TOPIC_OR_PARTITION"):
            await ask(served, produce("t", acks=0, partition=7), version=12)
        with pytest.raises(KafkaError, match="version 99"):
            await ask(served, produce("t"), version=99)
        with pytest.raises(KafkaError, match="is not served"):
            await ask(served, EchoRequest())
        with pytest.raises(TypeError):
            await ask(served, EchoResponse())


async def test_parked_loopback_request_is_listed_by_describe_requests(
    autojump_clock: MockClock,
) -> None:
    async with served_broker(simulated_world()) as served, trio.open_nursery() as nursery:
        await served.create_topic("t")
        nursery.start_soon(
            partial(ask, served, fetch("t", max_wait_ms=60_000), client_id="w", version=12)
        )
        await trio.sleep(1)
        answer = await served.ask(DescribeRequestsRequest(which=0, client_id="w"))
        (row,) = answer.requests
        assert (row.api_name, row.listener, row.stage) == ("Fetch", LISTENER.name, "parked")
        nursery.cancel_scope.cancel()


async def test_loopback_requests_are_served_by_the_data_plane_beside_a_control_plane(
    autojump_clock: MockClock,
) -> None:
    settings = {
        "listeners": "PLAINTEXT://broker:9092,CONTROL://broker:9094",
        "listener.security.protocol.map": "PLAINTEXT:PLAINTEXT,CONTROL:PLAINTEXT",
        "control.plane.listener.name": "CONTROL",
    }
    async with served_broker(simulated_world(), settings) as served:
        data, control = served.broker.planes
        await ask(served, MetadataRequest(topics=[]))
        assert (data.request_metrics.of(3).count, control.request_metrics.of(3).count) == (1, 0)
        assert served.broker.parts.in_process._channel is data._resources.channel


async def test_invariant_error_of_a_loopback_request_stops_the_broker_and_not_the_caller(
    autojump_clock: MockClock,
) -> None:
    """It stops the broker as if a client had asked."""

    @api(EchoRequest)
    def broken(request: EchoRequest, context: Context) -> EchoResponse:
        raise InvariantError("broken")

    result, raised = api_of(broken), list[BaseException]()
    assert result is not None
    with pytest.raises((InvariantError, ExceptionGroup)):
        async with served_broker(simulated_world()) as served:
            served.broker.parts.apis.add(result)
            try:
                await ask(served, EchoRequest())
            except BaseException as error:
                raised.append(error)
                raise
    assert not any(isinstance(error, InvariantError) for error in raised)


@pytest.mark.parametrize(
    ("detail", "message"),
    [("key 999 version 0", "unknown API: key 999 version 0"), ("", "unknown API")],
)
def test_refused_error_shows_its_reason_and_its_detail(detail: str, message: str) -> None:
    error = RefusedError("unknown API", detail)

    assert str(error) == message
    assert (error.reason, error.detail) == ("unknown API", detail)


def test_loopback_listener_has_a_name_that_no_configured_listener_can_have() -> None:
    assert LISTENER.name == IN_PROCESS.host
    assert LISTENER.name != LISTENER.name.upper()
