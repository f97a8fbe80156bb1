"""The writer: answers and other changes of connections, applied in order."""

import logging

import pytest
import trio
from trio.testing import MockClock, wait_all_tasks_blocked

from tests.network.echoing import echo, echoes, numbers
from tests.network.test_processor import Files, roomy_plane
from trio_kafka.network.outgoing import Outgoing
from trio_kafka.network.reasons import CloseReason, MuteReason
from trio_kafka.records.file_range import FileRange
from trio_kafka.testing.planes import asked_plane, bare_request, running_plane
from trio_kafka.testing.sample_apis import (
    EchoRequest,
    ReadRequest,
)
from trio_kafka.testing.scripted_client import (
    connect,
    request_frame,
)
from trio_kafka.testing.simulation import simulated_world
from trio_kafka.world.protocols import WRITE


async def test_posted_changes_of_a_connection_are_applied_in_order(
    autojump_clock: MockClock,
) -> None:
    world = simulated_world()
    async with asked_plane(world, [echo]) as (plane, client):
        await client.ask(EchoRequest("x", 1), 0)
        (connection,) = plane.connections
        end = plane.processor.writer.sender.end
        plane.processor.writer.post(end, connection, CloseReason.DRAINED, "one")
        plane.processor.writer.post(end, connection, CloseReason.GONE, "two")
        await client.wait_closed()

        assert (plane.closed(CloseReason.DRAINED), plane.closed(CloseReason.GONE)) == (
            1,
            0,
        )


async def test_a_response_that_used_its_share_is_queued_once_for_many_write_events(
    autojump_clock: MockClock,
) -> None:
    async with roomy_plane(6 << 20) as (plane, client, files):
        frame = request_frame(ReadRequest(0, 6 << 20), 0)
        await client.send(frame)
        assert len(await client.receive_frame()) == (6 << 20) + 8
        assert plane.processor.responses.items == 5

        (connection,) = plane.connections
        lease = files.file.lease(6 << 20)
        connection.out = Outgoing([bare_request(0, connection)], [FileRange(lease, 0, 6 << 20)])
        for _ in range(3):
            plane.processor.reader._note(connection.key, WRITE)
        assert plane.processor.responses.items == 6
        await client.receive(6 << 20)


async def test_changes_made_by_the_reader_do_not_overtake_queued_changes(
    autojump_clock: MockClock,
) -> None:
    world = simulated_world()
    async with asked_plane(world, [echo]) as (plane, client):
        await client.ask(EchoRequest("x", 1), 0)
        (connection,) = plane.connections
        processor = plane.processor

        processor.unmute(connection, MuteReason.THROTTLED)
        await wait_all_tasks_blocked()
        processor.unmute(connection, MuteReason.THROTTLED)
        processor.unmute(connection, MuteReason.THROTTLED)
        before = processor.responses.items
        processor.writer.inline = True
        processor.mute(connection, MuteReason.THROTTLED)
        bare_request(7, connection).respond([b"last"])
        processor.writer.inline = False
        assert connection.muted == 0
        assert processor.responses.items == before + 2
        await wait_all_tasks_blocked()

        assert connection.muted == MuteReason.THROTTLED
        assert await client.receive(4) == b"last"


async def test_responses_queued_when_the_processor_stops_release_their_leases(
    autojump_clock: MockClock,
) -> None:
    released: list[bool] = []

    class RecordingRange(FileRange):
        def release(self) -> None:
            released.append(True)
            super().release()

    world = simulated_world()
    files = Files(world, 1024)
    async with asked_plane(world, [echo], share_s=0.0) as (plane, client):
        await client.ask(EchoRequest("x", 1), 0)
        (connection,) = plane.connections
        await wait_all_tasks_blocked()
        for _ in range(3):
            lease = files.file.lease(1024)
            bare_request(0, connection).respond([RecordingRange(lease, 0, 1024)])
        plane.nursery.cancel_scope.cancel()

    assert len(released) == 3


async def test_a_throttled_connection_is_read_again_when_the_throttle_ends(
    autojump_clock: MockClock,
) -> None:
    world = simulated_world()
    async with asked_plane(world, [echo]) as (plane, client):
        await client.ask(EchoRequest("x", 1), 0)
        (connection,) = plane.connections
        plane.processor.mute(connection, MuteReason.THROTTLED)
        await wait_all_tasks_blocked()
        await client.send(echoes(2))
        await trio.sleep(5)
        assert connection.requests == 1

        plane.processor.unmute(connection, MuteReason.THROTTLED)
        assert await numbers(client, 2) == [0, 1]


async def test_a_reset_while_throttled_closes_at_once(
    autojump_clock: MockClock, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG, "trio_kafka")
    world = simulated_world()
    async with running_plane(world, [echo]) as plane:
        client = await connect(world.network, plane.endpoint)
        await client.ask(EchoRequest("x", 1), 0)
        plane.processor.mute(plane.connections[0], MuteReason.THROTTLED)
        await wait_all_tasks_blocked()
        client.socket.abort()
        await trio.sleep(1)

        assert not plane.connections
        assert plane.closed(CloseReason.GONE) == 1
        (record,) = [entry for entry in caplog.records if entry.message == "connection closed"]
        assert record.levelno == logging.DEBUG  # a client's own affair
