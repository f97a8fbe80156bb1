"""Controls of a broker together: in its loop, and from another thread with a real client."""

from collections.abc import Iterator

import pytest
import trio
from confluent_kafka import Producer
from trio.testing import MockClock

from trio_kafka.controls.controls import BlockingControls, Controls
from trio_kafka.controls.faults import FaultRule
from trio_kafka.controls.faults.faults import RemovedError
from trio_kafka.controls.interceptors import Forward
from trio_kafka.errors import ErrorCode
from trio_kafka.plugin import Context
from trio_kafka.protocol.messages.k12_heartbeat import HeartbeatRequest
from trio_kafka.testing.broker import served_broker
from trio_kafka.testing.kafka.threaded import Kafka, running_broker
from trio_kafka.testing.simulation import simulated_world

MOVED = ErrorCode.NOT_LEADER_OR_FOLLOWER
BEAT = HeartbeatRequest("g", 1, "m")


async def test_clear_undoes_all_rules_recordings_limits_and_interceptors(
    autojump_clock: MockClock,
) -> None:
    async with served_broker(simulated_world()) as served:
        controls = Controls(served.broker)
        controls.faults.add(FaultRule(api="Heartbeat", error=MOVED))
        controls.recorder.start()
        controls.limits.switch_off("Produce")

        @controls.interceptors.on("Heartbeat")
        async def through(request: object, context: Context, forward: Forward) -> object:
            return await forward(request)

        assert (await served.ask(BEAT)).error_code == MOVED
        controls.clear()

        assert (await served.ask(BEAT)).error_code != MOVED
        assert len(served.broker.parts.interceptors) == 0
        assert controls.recorder.requests() == []
        assert controls.limits.limited == {}
        assert controls.failures == []


async def test_exceptions_of_predicates_and_interceptors_are_kept_until_clear(
    autojump_clock: MockClock,
) -> None:
    async with served_broker(simulated_world()) as served:
        controls = Controls(served.broker)
        controls.faults.add(FaultRule(observe=True, where=lambda *_: 1 / 0))

        @controls.interceptors.on("Heartbeat")
        async def fails(request: object, context: Context, forward: Forward) -> object:
            raise LookupError

        await served.ask(BEAT)
        controls.faults.clear()
        await served.ask(BEAT)

        assert [type(error) for error, _ in controls.failures] == [ZeroDivisionError, LookupError]
        controls.clear()
        assert controls.failures == []


# --- from another thread


@pytest.fixture
def kafka() -> Iterator[Kafka]:
    with running_broker(topics=["orders"]) as kafka:
        yield kafka


@pytest.fixture
def controls(kafka: Kafka) -> Iterator[BlockingControls]:
    yield kafka.controls
    kafka.controls.clear()


def send(kafka: Kafka, value: bytes) -> Producer:
    producer = Producer({"bootstrap.servers": kafka.bootstrap, "enable.idempotence": True})
    producer.produce("orders", value)
    return producer


def test_another_thread_waits_for_releases_and_removes_a_rule(
    kafka: Kafka, controls: BlockingControls
) -> None:
    controls.record()
    moved = controls.fault(api="Produce", topic="orders", error=MOVED, times=2)
    with controls.fault(FaultRule(api="Produce", hold=True)) as held:
        producer = send(kafka, b"a")
        moved.wait(2)
        held.wait()
        assert (moved.hits, held.held, held.seen) == (2, 1, 3)
        assert kafka.records("orders") == []
        held.release()
        assert producer.flush(20) == 0

    assert [record.value for record in kafka.records("orders")] == [b"a"]
    result = controls.wait_for_requests(3, "Produce", topic="orders")
    assert len(result) == len(controls.requests("Produce", client_id="rdkafka")) == 3
    with pytest.raises(RemovedError):
        held.wait(5)
    with pytest.raises(trio.TooSlowError):
        moved.wait(5, timeout_s=0.01)
    with pytest.raises(trio.TooSlowError):
        controls.wait_for_requests(100, timeout_s=0.01)


def test_rule_without_a_matching_request_is_unmatched_until_clear(
    controls: BlockingControls,
) -> None:
    with controls.fault(api="Produce", topic="odrers", error=MOVED) as fault:
        pass

    assert controls.unmatched == [fault.fault]
    assert controls.failures == []
    controls.clear()
    assert controls.unmatched == []


def test_interceptor_coroutine_of_another_thread_runs_in_the_broker_loop(
    kafka: Kafka, controls: BlockingControls
) -> None:
    seen: list[str] = []

    @controls.on("Produce")
    async def slow(request: object, context: Context, forward: Forward) -> object:
        seen.append(context.client_id)
        await trio.sleep(0.01)
        return await forward(request)

    assert send(kafka, b"b").flush(20) == 0
    assert seen == ["rdkafka"] * slow.calls


def test_versions_are_capped_and_restored(kafka: Kafka, controls: BlockingControls) -> None:
    controls.cap_versions("Produce", 9)
    controls.switch_off("InitProducerId")
    controls.restore("InitProducerId")
    controls.record()

    assert send(kafka, b"c").flush(20) == 0
    assert {request.version for request in controls.requests("Produce")} == {9}


def test_rule_and_interceptor_apply_after_the_broker_is_killed_and_started() -> None:
    with running_broker(topics=["orders"]) as kafka:
        moved = kafka.fault(api="Produce", error=MOVED, times=1)

        @kafka.on("Produce")
        async def count(request: object, context: Context, forward: Forward) -> object:
            return await forward(request)

        kafka.kill()
        kafka.start()

        assert send(kafka, b"a").flush(20) == 0
        assert (moved.hits, count.calls) == (1, 1)
