"""Sockets that are closed after a delay."""

from typing import Any

import trio
from trio.testing import MockClock, wait_all_tasks_blocked

from trio_kafka.network.admission.delayed_close import DelayedCloses


class Handle:
    """When it was closed."""

    closed: float | None = None

    def close(self) -> None:
        self.closed = trio.current_time()


def handles(count: int) -> list[Any]:
    return [Handle() for _ in range(count)]


async def test_each_socket_is_closed_when_its_delay_ends(
    autojump_clock: MockClock, nursery: trio.Nursery
) -> None:
    held, sockets, began = DelayedCloses(), handles(3), trio.current_time()
    nursery.start_soon(held.run)
    for socket, delay in zip(sockets, (3.0, 1.0, 2.0), strict=True):
        held.add(socket, began + delay)
        await wait_all_tasks_blocked()
    assert len(held) == 3

    await trio.sleep(5)

    assert [socket.closed - began for socket in sockets] == [3.0, 1.0, 2.0]
    assert len(held) == 0
    nursery.cancel_scope.cancel()


async def test_sockets_above_the_limit_of_delayed_closes_are_closed_at_once(
    autojump_clock: MockClock,
) -> None:
    held, sockets = DelayedCloses(most=2), handles(4)
    for socket, deadline in zip(sockets, (5.0, 9.0, 7.0, 8.0), strict=True):
        held.add(socket, deadline)

    assert [socket.closed is None for socket in sockets] == [False, True, False, True]
    assert len(held) == 2


async def test_all_delayed_sockets_are_closed_when_the_task_is_cancelled(
    autojump_clock: MockClock,
) -> None:
    held, sockets = DelayedCloses(), handles(3)
    async with trio.open_nursery() as nursery:
        nursery.start_soon(held.run)
        for socket in sockets:
            held.add(socket, trio.current_time() + 100)
        await wait_all_tasks_blocked()
        nursery.cancel_scope.cancel()

    assert None not in [socket.closed for socket in sockets]
    assert len(held) == 0
