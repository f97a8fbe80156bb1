"""Dealing connections: round robin, past the full, waiting when all are."""

import errno
from typing import Any

import pytest
import trio
from trio.testing import MockClock, wait_all_tasks_blocked

from trio_kafka.model import Endpoint
from trio_kafka.network.acceptor import EXHAUSTED_S, Acceptor
from trio_kafka.network.turn import Turn


class ListOfSockets:
    """A listener whose connections are given; then it waits."""

    key = -1
    address = Endpoint("here", 1)

    def __init__(self, *outcomes: Any) -> None:
        self.outcomes = list(outcomes)

    def accept_nowait(self) -> Any:
        if not self.outcomes:
            raise BlockingIOError
        outcome = self.outcomes.pop(0)
        if isinstance(outcome, OSError):
            raise outcome
        return outcome

    async def accept(self) -> Any:
        await trio.lowlevel.checkpoint()
        if not self.outcomes:
            await trio.sleep_forever()
        return self.accept_nowait()

    def close(self) -> None:
        """Nothing is open."""


class Desk:
    """Takes so many connections, as a processor does."""

    def __init__(self, room: float) -> None:
        self.taken: list[Any] = []
        self.send, self.receive = trio.open_memory_channel[Any](room)

    def give_nowait(self, socket: Any) -> None:
        self.send.send_nowait(socket)
        self.taken.append(socket)

    async def give(self, socket: Any) -> None:
        await self.send.send(socket)
        self.taken.append(socket)


class Handle:
    """A socket, as far as an acceptor is concerned."""

    closed = False

    def close(self) -> None:
        self.closed = True


def acceptor(listener: ListOfSockets, *desks: Desk) -> Acceptor:
    turn = Turn(trio.current_time)
    turn.after_io_wait(0)
    return Acceptor(listener, desks, turn)  # type: ignore[arg-type]


async def test_connections_go_round_and_pass_over_a_full_processor(nursery: trio.Nursery) -> None:
    desks = Desk(9), Desk(1), Desk(9)
    dealer = acceptor(ListOfSockets(*range(7)), *desks)
    nursery.start_soon(dealer.run)
    await wait_all_tasks_blocked()

    assert [desk.taken for desk in desks] == [[0, 3, 5], [1], [2, 4, 6]]
    assert dealer.accepted == 7
    nursery.cancel_scope.cancel()


async def test_when_all_are_full_it_waits_and_counts_how_long(
    autojump_clock: MockClock, nursery: trio.Nursery
) -> None:
    desks = Desk(1), Desk(1)
    dealer = acceptor(ListOfSockets(*range(3)), *desks)
    nursery.start_soon(dealer.run)
    await trio.sleep(2.0)
    assert (dealer.accepted, dealer.blocked) == (3, 1)

    await desks[0].receive.receive()
    await trio.sleep(0.5)

    assert desks[0].taken == [0, 2]
    assert round(dealer.blocked_s, 6) == 2.0
    nursery.cancel_scope.cancel()


async def test_the_connection_in_hand_is_closed_when_it_is_cancelled(
    nursery: trio.Nursery,
) -> None:
    socket = Handle()
    async with trio.open_nursery() as inner:
        inner.start_soon(acceptor(ListOfSockets(socket), Desk(0)).run)
        await wait_all_tasks_blocked()
        inner.cancel_scope.cancel()

    assert socket.closed


async def test_without_descriptors_it_pauses_and_goes_on(
    autojump_clock: MockClock, nursery: trio.Nursery
) -> None:
    full = OSError(errno.EMFILE, "too many open files")
    desk = Desk(9)
    dealer = acceptor(ListOfSockets(full, full, "a"), desk)
    nursery.start_soon(dealer.run)

    await trio.sleep(EXHAUSTED_S * 1.5)
    assert desk.taken == []
    await trio.sleep(EXHAUSTED_S)
    assert desk.taken == ["a"]
    assert dealer.exhausted == 2
    nursery.cancel_scope.cancel()


async def test_a_peer_that_left_before_it_was_accepted_is_counted_only(
    nursery: trio.Nursery,
) -> None:
    left = ConnectionAbortedError(errno.ECONNABORTED, "aborted")
    desk = Desk(9)
    dealer = acceptor(ListOfSockets(left, "a", left, "b"), desk)
    nursery.start_soon(dealer.run)
    await wait_all_tasks_blocked()
    await wait_all_tasks_blocked(0.01)

    assert desk.taken == ["a", "b"]
    assert dealer.figures()["aborted"] == 2
    nursery.cancel_scope.cancel()


async def test_another_error_of_the_listener_is_no_small_matter() -> None:
    dealer = acceptor(ListOfSockets(OSError(errno.EBADF, "closed")), Desk(1))

    with pytest.raises(OSError, match="closed"):
        await dealer.run()
