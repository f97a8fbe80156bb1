"""Failed connections: closed after the delay, in the order of their failures."""

from typing import Any, cast

import trio
from trio.testing import MockClock

from trio_kafka.network.authentication.failures import FailedAuthentications
from trio_kafka.network.reasons import CloseReason, MuteReason


class Failed:
    """A connection, as far as it is looked at."""

    muted = 0
    closed = False


class Sender:
    """Notes what is sent and closed, and when."""

    def __init__(self) -> None:
        self.events: list[tuple[float, object]] = []

    def send_now(self, connection: object, data: bytes) -> None:
        del connection
        self.events.append((trio.current_time(), data))

    def end(self, connection: Failed, reason: CloseReason, detail: str) -> None:
        assert reason is CloseReason.UNAUTHENTICATED
        connection.closed = True
        self.events.append((trio.current_time(), detail))


def queue(sender: Sender, delay_s: float) -> tuple[Any, list[Any]]:
    failures = FailedAuthentications(cast("Any", sender), delay_s)
    return failures, [Failed() for _ in range(3)]


async def test_each_failed_connection_is_muted_and_closed_after_its_own_delay(
    autojump_clock: MockClock,
) -> None:
    sender = Sender()
    failures, connections = queue(sender, 0.1)
    began = trio.current_time()
    async with trio.open_nursery() as nursery:
        nursery.start_soon(failures.run)
        for number, connection in enumerate(connections):
            failures.add(connection, b"answer" if number else None, f"reason {number}")
            assert connection.muted == MuteReason.UNAUTHENTICATED
            await trio.sleep(0.03)
        assert len(failures) == 3
        await trio.sleep(1)
        nursery.cancel_scope.cancel()

    events = [(round(when - began, 2), event) for when, event in sender.events]
    assert events == [
        (0.1, "reason 0"),
        (0.13, b"answer"),
        (0.13, "reason 1"),
        (0.16, b"answer"),
        (0.16, "reason 2"),
    ]
    assert len(failures) == 0


async def test_without_a_delay_a_connection_is_closed_at_once(autojump_clock: MockClock) -> None:
    sender = Sender()
    failures, (first, *_) = queue(sender, 0.0)

    failures.add(first, b"answer", "reason")

    assert [event for _, event in sender.events] == [b"answer", "reason"]
    assert len(failures) == 0


async def test_a_connection_that_has_closed_meanwhile_gets_nothing(
    autojump_clock: MockClock,
) -> None:
    sender = Sender()
    failures, (first, *_) = queue(sender, 0.1)
    async with trio.open_nursery() as nursery:
        nursery.start_soon(failures.run)
        failures.add(first, b"answer", "reason")
        first.closed = True
        await trio.sleep(1)
        nursery.cancel_scope.cancel()

    assert sender.events == []
