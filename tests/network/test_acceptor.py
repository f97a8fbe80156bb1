"""Dealing connections: round robin, past the full, waiting when all are."""

import errno
from typing import Any

import pytest
import trio
from trio.testing import MockClock, wait_all_tasks_blocked

from trio_kafka.introspect.metrics import Counters
from trio_kafka.introspect.tree import Node
from trio_kafka.model import Endpoint
from trio_kafka.network.acceptor import EXHAUSTED_S, Acceptor
from trio_kafka.network.admission.limits import ConnectionLimits
from trio_kafka.network.admission.listener_admission import TOO_MANY
from trio_kafka.quotas.connection import ConnectionBounds
from trio_kafka.scheduling.loop_budget import LoopBudget
from trio_kafka.testing.simulation import simulated_world


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
        self.new_connections = self

    def give_nowait(self, slot: Any) -> None:
        self.send.send_nowait(slot)
        self.taken.append(slot.socket.name)

    async def give(self, slot: Any) -> None:
        await self.send.send(slot)
        self.taken.append(slot.socket.name)


class Handle:
    """A socket, as far as an acceptor is concerned."""

    closed = False

    def __init__(self, name: Any) -> None:
        self.name = name
        self.peer = Endpoint("10.0.0.1", 1)

    def close(self) -> None:
        self.closed = True


def handles(*names: Any) -> list[Any]:
    """Sockets of those names; errors stay what they are."""
    return [name if isinstance(name, OSError) else Handle(name) for name in names]


def acceptor(listener: ListOfSockets, *desks: Desk, **bounds: int) -> Acceptor:
    budget = LoopBudget(trio.current_time)
    budget.after_io_wait(0)
    limits = ConnectionLimits(simulated_world().network, Counters(), Node("plane", "plane"))
    limits.obey(ConnectionBounds(**bounds))
    admission = limits.admission("PLAINTEXT")
    return Acceptor(listener, desks, budget, admission)  # type: ignore[arg-type]


async def test_connections_are_dealt_round_robin_and_skip_a_full_processor(
    nursery: trio.Nursery,
) -> None:
    desks = Desk(9), Desk(1), Desk(9)
    dealer = acceptor(ListOfSockets(*handles(*range(7))), *desks)
    nursery.start_soon(dealer.run)
    await wait_all_tasks_blocked()

    assert [desk.taken for desk in desks] == [[0, 3, 5], [1], [2, 4, 6]]
    assert dealer.accepted == 7
    nursery.cancel_scope.cancel()


async def test_the_acceptor_waits_and_counts_blocked_time_when_all_processors_are_full(
    autojump_clock: MockClock, nursery: trio.Nursery
) -> None:
    desks = Desk(1), Desk(1)
    dealer = acceptor(ListOfSockets(*handles(*range(3))), *desks)
    nursery.start_soon(dealer.run)
    await trio.sleep(2.0)
    assert (dealer.accepted, dealer.blocked) == (3, 1)

    await desks[0].receive.receive()
    await trio.sleep(0.5)

    assert desks[0].taken == [0, 2]
    assert round(float(str(dealer.figures()["blocked_s"])), 6) == 2.0
    nursery.cancel_scope.cancel()


async def test_the_accepted_connection_is_closed_when_the_acceptor_is_cancelled(
    nursery: trio.Nursery,
) -> None:
    socket = Handle(0)
    async with trio.open_nursery() as inner:
        dealer = acceptor(ListOfSockets(socket), Desk(0))
        inner.start_soon(dealer.run)
        await wait_all_tasks_blocked()
        assert dealer._admission.account.count == 1
        inner.cancel_scope.cancel()

    assert socket.closed
    assert dealer._admission.account.count == 0


async def test_the_acceptor_pauses_and_retries_when_descriptors_are_exhausted(
    autojump_clock: MockClock, nursery: trio.Nursery
) -> None:
    full = OSError(errno.EMFILE, "too many open files")
    desk = Desk(9)
    dealer = acceptor(ListOfSockets(*handles(full, full, "a")), desk)
    nursery.start_soon(dealer.run)

    await trio.sleep(EXHAUSTED_S * 1.5)
    assert desk.taken == []
    await trio.sleep(EXHAUSTED_S)
    assert desk.taken == ["a"]
    assert dealer.exhausted == 2
    nursery.cancel_scope.cancel()


async def test_a_connection_aborted_before_accept_is_only_counted(
    nursery: trio.Nursery,
) -> None:
    error = ConnectionAbortedError(errno.ECONNABORTED, "aborted")
    desk = Desk(9)
    dealer = acceptor(ListOfSockets(*handles(error, "a", error, "b")), desk)
    nursery.start_soon(dealer.run)
    await wait_all_tasks_blocked()
    await wait_all_tasks_blocked(0.01)

    assert desk.taken == ["a", "b"]
    assert dealer.figures()["aborted"] == 2
    nursery.cancel_scope.cancel()


async def test_an_unexpected_error_of_the_listener_ends_the_acceptor() -> None:
    dealer = acceptor(ListOfSockets(OSError(errno.EBADF, "closed")), Desk(1))

    with pytest.raises(OSError, match="closed"):
        await dealer.run()


async def test_the_acceptor_holds_one_connection_above_the_limit_and_accepts_no_more(
    autojump_clock: MockClock, nursery: trio.Nursery
) -> None:
    listener, desk = ListOfSockets(*handles(*range(4))), Desk(9)
    dealer = acceptor(listener, desk, connections=2)
    nursery.start_soon(dealer.run)
    await trio.sleep(3.0)
    assert desk.taken == [0, 1]
    assert len(listener.outcomes) == 1

    (await desk.receive.receive()).close()
    await trio.sleep(1.0)

    assert desk.taken == [0, 1, 2]
    assert dealer.blocked == 2  # the next one waits by now
    assert round(float(str(dealer.figures()["blocked_s"])), 6) == 3.0
    nursery.cancel_scope.cancel()


async def test_acceptor_blocked_percent_is_calculated_as_in_kafka(
    autojump_clock: MockClock, nursery: trio.Nursery
) -> None:
    desk = Desk(9)
    dealer = acceptor(ListOfSockets(*handles(0, 1)), desk, connections=1)
    nursery.start_soon(dealer.run)
    await trio.sleep(4.0)
    (await desk.receive.receive()).close()
    await trio.sleep(1.5)

    assert dealer._admission.figures()["AcceptorBlockedPercent"] == 4.0 / 5
    nursery.cancel_scope.cancel()


@pytest.mark.parametrize("bounds", [{"connections": 0}, {"rate": 0}])
async def test_a_connection_waiting_for_admission_is_closed_with_the_acceptor(
    autojump_clock: MockClock, bounds: dict[str, int]
) -> None:
    socket = Handle(0)
    async with trio.open_nursery() as inner:
        dealer = acceptor(ListOfSockets(socket), Desk(9), **bounds)
        inner.start_soon(dealer.run)
        await trio.sleep(0.5)
        assert not socket.closed
        inner.cancel_scope.cancel()

    assert socket.closed
    assert dealer._admission.account.count == 0


async def test_a_refused_connection_is_closed_and_not_given_to_a_processor(
    autojump_clock: MockClock, nursery: trio.Nursery
) -> None:
    sockets, desk = handles(0, 1, 2), Desk(9)
    dealer = acceptor(ListOfSockets(*sockets), desk, per_address=2)
    nursery.start_soon(dealer.run)
    await trio.sleep(0.1)

    assert desk.taken == [0, 1]
    assert [socket.closed for socket in sockets] == [False, False, True]
    assert dealer._admission.account.count == 2
    counters = dealer._admission._counters
    assert counters.value("connections_refused", listener="PLAINTEXT", reason=TOO_MANY) == 1
    nursery.cancel_scope.cancel()
