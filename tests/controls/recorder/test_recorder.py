"""Requests that a broker received, to assert on and to wait for."""

import pytest
import trio
from trio.testing import MockClock, wait_all_tasks_blocked

from tests.apis.kit import batch, fetch_request, produce, produce_request, write
from trio_kafka.controls.api_names import UnknownApiError
from trio_kafka.controls.faults import FaultRule, Faults
from trio_kafka.controls.recorder import Recorder
from trio_kafka.errors import ErrorCode
from trio_kafka.protocol.messages.k12_heartbeat import HeartbeatRequest
from trio_kafka.testing.broker import served_broker
from trio_kafka.testing.simulation import simulated_world


async def test_requests_are_selected_by_api_topic_partition_group_and_client(
    autojump_clock: MockClock,
) -> None:
    async with served_broker(simulated_world()) as served:
        first = await served.create_topic("orders-1", 2)
        await served.create_topic("other")
        with Recorder(served.broker) as recorder:
            await produce(served, first, batch(b"a"), partition=1)
            await write(served, "other", b"b")
            await served.ask(fetch_request("other", 0), 12)
            await served.ask(HeartbeatRequest("g", 1, "m"))
        await write(served, "other", b"c")

        assert [request.api for request in recorder.requests()] == [
            "Produce",
            "Produce",
            "Fetch",
            "Heartbeat",
        ]
        (by_id,) = recorder.requests("Produce", topic="orders-*")
        assert (by_id.topics, by_id.version, by_id.client_id) == (["orders-1"], 13, "scripted")
        assert (by_id.principal, by_id.listener, by_id.number) == (
            "User:ANONYMOUS",
            "PLAINTEXT",
            1,
        )
        assert len(recorder.requests(topic="other")) == 2
        assert len(recorder.requests(topic="orders-1", partition=1)) == 1
        assert recorder.requests(topic="other", partition=1) == []
        assert len(recorder.requests(group="g")) == 1
        assert len(recorder.requests(client_id="script*")) == 4
        assert recorder.requests(client_id="app") == []
        assert recorder.requests(principal="User:alice") == []
        assert len(recorder.requests("Produce", where=lambda message: message.acks == 1)) == 2
        recorder.clear()
        assert recorder.requests() == []


async def test_recorded_message_equals_the_sent_message(autojump_clock: MockClock) -> None:
    async with served_broker(simulated_world()) as served:
        await served.create_topic("t")
        for version in (3, 9, 12):
            with Recorder(served.broker) as recorder:
                request = produce_request("t", (0, batch(b"value")))
                await served.ask(request, version)
                await served.ask(produce_request("t", (0, batch(b"another, longer"))), version)

            message = recorder.requests()[0].message
            (row,) = message.topic_data[0].partition_data
            assert bytes(row.records) == bytes(batch(b"value"))
            assert (message.acks, message.topic_data[0].name) == (1, "t")


async def test_request_answered_by_a_fault_rule_is_recorded(autojump_clock: MockClock) -> None:
    async with served_broker(simulated_world()) as served:
        await served.create_topic("t")
        faults, recorder = Faults(served.broker), Recorder(served.broker)
        faults.add(FaultRule(api="Produce", error=ErrorCode.NOT_LEADER_OR_FOLLOWER))
        recorder.start()
        recorder.start()
        await produce(served, "t", batch(b"a"))
        recorder.stop()
        recorder.stop()

        assert len(recorder.requests("Produce")) == 1
        faults.clear()
        assert len(served.broker.parts.interceptors) == 0


async def test_wait_ends_when_enough_requests_are_recorded(autojump_clock: MockClock) -> None:
    async with (
        served_broker(simulated_world()) as served,
        trio.open_nursery() as nursery,
    ):
        await served.create_topic("t")
        recorder, done = Recorder(served.broker), trio.Event()

        async def wait() -> None:
            result = await recorder.wait(2, "Produce", topic="t")
            assert len(result) == 2
            done.set()

        with recorder:
            nursery.start_soon(wait)
            await write(served, "t", b"a")
            await wait_all_tasks_blocked()
            assert not done.is_set()
            await write(served, "t", b"b")
            await done.wait()


async def test_full_recorder_drops_and_counts_the_oldest_requests(
    autojump_clock: MockClock,
) -> None:
    async with served_broker(simulated_world()) as served:
        with Recorder(served.broker, most=2) as recorder:
            for _ in range(3):
                await served.ask(HeartbeatRequest("g", 1, "m"))

        assert [request.number for request in recorder.requests()] == [2, 3]
        assert recorder.dropped == 1
        with pytest.raises(UnknownApiError):
            recorder.requests("Nothing")
