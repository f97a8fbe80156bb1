"""Recorded frames, sent again to another broker."""

from trio.testing import MockClock

from tests.apis.kit import fetch, values_of
from tests.controls.recorder.test_frames import record
from trio_kafka.controls.faults import FaultRule, Faults
from trio_kafka.controls.recorder import Recorder
from trio_kafka.controls.recorder.frames import loaded
from trio_kafka.testing.broker import served_broker
from trio_kafka.testing.replay import replayed
from trio_kafka.testing.simulation import simulated_world


async def test_frames_are_replayed_in_order_on_their_connections(
    autojump_clock: MockClock,
) -> None:
    text = await record()
    async with served_broker(simulated_world()) as served:
        await served.create_topic("t")
        requests = loaded(text, served.broker.parts.apis)
        with Recorder(served.broker) as recorder:
            result = await replayed(requests, served.broker.world, served.broker.endpoint)

        assert [exchange.request.api for exchange in result] == [
            "Produce",
            "Heartbeat",
            "Produce",
            "Produce",
        ]
        assert [exchange.response is None for exchange in result] == [False, False, True, False]
        assert result[1].response.error_code != 0
        assert [request.frame for request in recorder.requests()] == [
            request.frame for request in requests
        ]
        assert [request.connection for request in recorder.requests()] == [1, 2, 2, 1]
        assert sorted(values_of(await fetch(served, "t"))) == [b"a", b"b", b"c"]


async def test_no_more_frames_are_replayed_on_a_closed_connection(
    autojump_clock: MockClock,
) -> None:
    text = await record()
    async with served_broker(simulated_world()) as served:
        await served.create_topic("t")
        Faults(served.broker).add(FaultRule(api="Heartbeat", disconnect="before"))
        requests = loaded(text, served.broker.parts.apis)

        result = await replayed(requests, served.broker.world, served.broker.endpoint)

        assert [exchange.closed for exchange in result] == [False, True, True, False]
        assert values_of(await fetch(served, "t")) == [b"a", b"c"]
