"""Admission of a listener's connections, step by step."""

from typing import Any

import trio
from trio.testing import MockClock, wait_all_tasks_blocked

from trio_kafka.introspect.metrics import Counters
from trio_kafka.introspect.tree import Node
from trio_kafka.model import Endpoint
from trio_kafka.network.admission.limits import ConnectionLimits
from trio_kafka.quotas.connection import ConnectionBounds
from trio_kafka.testing.simulation import simulated_world


class Handle:
    def __init__(self, host: str = "10.0.0.1") -> None:
        self.peer = Endpoint(host, 5)
        self.closed = False

    def close(self) -> None:
        self.closed = True


def handle(host: str = "10.0.0.1") -> Any:
    return Handle(host)


def limits(**bounds: Any) -> ConnectionLimits:
    connection_limits = ConnectionLimits(
        simulated_world().network, Counters(), Node("plane", "plane")
    )
    connection_limits.obey(ConnectionBounds(**bounds))
    return connection_limits


async def test_a_waiting_slot_cancelled_at_its_admission_is_freed() -> None:
    connection_limits = limits(connections=1)
    admission = connection_limits.admission("PLAINTEXT")
    first, second = admission.arrive(handle()), admission.arrive(handle())
    assert [first.entered, second.entered] == [True, False]
    async with trio.open_nursery() as nursery:
        nursery.start_soon(admission.enter, second)
        await wait_all_tasks_blocked()
        first.close()
        assert second.entered
        nursery.cancel_scope.cancel()
    second.close()

    assert connection_limits.accounts.total == 0
    assert connection_limits.figures()["waiting"] == 0


async def test_a_cancelled_slot_leaves_the_waiting_line() -> None:
    connection_limits = limits(connections=1)
    admission = connection_limits.admission("PLAINTEXT")
    first, second = admission.arrive(handle()), admission.arrive(handle())
    async with trio.open_nursery() as nursery:
        nursery.start_soon(admission.enter, second)
        await wait_all_tasks_blocked()
        assert connection_limits.figures()["waiting"] == 1
        nursery.cancel_scope.cancel()
    first.close()

    assert not second.entered
    assert (connection_limits.accounts.total, connection_limits.figures()["waiting"]) == (0, 0)


async def test_raising_the_limit_by_two_admits_the_first_two_waiting_connections(
    nursery: trio.Nursery,
) -> None:
    connection_limits = limits(connections=0)
    admissions = [connection_limits.admission(name) for name in ("A", "B", "C")]
    slots = [admission.arrive(handle()) for admission in admissions]
    for admission, slot in zip(admissions, slots, strict=True):
        nursery.start_soon(admission.enter, slot)
        await wait_all_tasks_blocked()

    connection_limits.obey(ConnectionBounds(connections=2))

    assert [slot.entered for slot in slots] == [True, True, False]
    nursery.cancel_scope.cancel()


async def test_a_connection_waits_for_the_accept_rate_before_its_slot_is_entered(
    autojump_clock: MockClock,
) -> None:
    admission = limits(rate=0, connections=1).admission("PLAINTEXT")
    slot = admission.arrive(handle())
    assert (slot.entered, slot.wait_s) == (False, 1.0)
    began = trio.current_time()

    await admission.enter(slot)

    assert slot.entered
    assert trio.current_time() - began == 1.0


async def test_a_closed_admission_is_removed_when_its_last_connection_closes() -> None:
    connection_limits = limits()
    node = connection_limits._node
    admission = connection_limits.admission("PLAINTEXT")
    slot = admission.arrive(handle())
    assert [child.name for child in node.children] == ["PLAINTEXT"]
    admission.close()
    admission.close()
    assert connection_limits.listeners == [admission]

    slot.close()

    assert connection_limits.listeners == []
    assert node.children == ()


async def test_many_refused_connections_are_logged_as_one_line_with_their_count(
    autojump_clock: MockClock, caplog: Any
) -> None:
    admission = limits(per_address=0).admission("PLAINTEXT")
    with caplog.at_level("INFO"):
        for _ in range(500):
            assert not admission.admit(admission.arrive(handle()))
        await trio.sleep(1.5)
        assert not admission.admit(admission.arrive(handle()))

    lines = [record.getMessage() for record in caplog.records if "refused" in record.getMessage()]
    assert len(lines) == 2
    assert admission.account.count == 0


async def test_a_waiting_slot_is_admitted_once_when_two_places_become_free(
    nursery: trio.Nursery,
) -> None:
    connection_limits = limits(connections=2)
    admission = connection_limits.admission("PLAINTEXT")
    first, second, third = [admission.arrive(handle()) for _ in range(3)]
    nursery.start_soon(admission.enter, third)
    await wait_all_tasks_blocked()

    first.close()
    second.close()

    assert third.entered
    assert connection_limits.accounts.total == admission.account.count == 1
    nursery.cancel_scope.cancel()


async def test_a_listener_is_not_protected_after_the_only_other_listener_closes() -> None:
    connection_limits = ConnectionLimits(
        simulated_world().network, Counters(), Node("plane", "plane"), protected=["INSIDE"]
    )
    inside, outside = connection_limits.admission("INSIDE"), connection_limits.admission("OUTSIDE")
    assert connection_limits.accounts.is_protected(inside.account)

    outside.close()

    assert not connection_limits.accounts.is_protected(inside.account)
