"""Recorded frames as text."""

import pytest
from trio.testing import MockClock

from tests.apis.kit import batch, produce_request, write
from trio_kafka.controls.recorder import Recorder
from trio_kafka.controls.recorder.frames import RecordingError, loaded, saved
from trio_kafka.protocol.messages.k12_heartbeat import HeartbeatRequest
from trio_kafka.testing.broker import served_broker
from trio_kafka.testing.scripted_client import request_frame
from trio_kafka.testing.simulation import simulated_world


async def record() -> str:
    """Two connections: one writes with and without acks, one sends a heartbeat."""
    async with served_broker(simulated_world()) as served, served.connect() as other:
        await served.create_topic("t")
        with Recorder(served.broker) as recorder:
            await write(served, "t", b"a")
            await other.ask(HeartbeatRequest("g", 1, "m"), 0)
            await other.send(request_frame(produce_request("t", (0, batch(b"b")), acks=0), 12))
            await recorder.wait(2, "Produce")
            await write(served, "t", b"c")
        return saved(recorder.requests())


async def test_saved_recording_has_one_readable_json_line_per_request(
    autojump_clock: MockClock,
) -> None:
    lines = (await record()).splitlines()

    assert len(lines) == 4
    assert '"api": "Produce", "version": 12, "client_id": "scripted"' in lines[0]


@pytest.mark.parametrize(
    ("line", "why"),
    [
        ("nonsense", "line 2: Expecting value"),
        ('{"connection": 1}', "line 2: no 'frame'"),
        ('{"connection": 1, "frame": "%"}', "line 2: .*"),
        ('{"connection": 1, "frame": "AAAA"}', "line 2: 3 bytes, want a request's head"),
        ('{"connection": 1, "frame": "TiAAAAAAAAD//w=="}', "line 2: API key 20000"),
    ],
)
async def test_loading_an_invalid_line_raises_an_error_with_its_line_number(
    autojump_clock: MockClock, line: str, why: str
) -> None:
    async with served_broker(simulated_world()) as served:
        with pytest.raises(RecordingError, match=why):
            loaded(f"\n{line}\n", served.broker.parts.apis)
