"""Changes of the owned partitions: the order of hooks, their deadline, their failures."""

import pytest
import trio
from trio.testing import MockClock

from tests.clients.consumer.kit import T0, T1
from trio_kafka.clients.consumer.groups.listener import RebalanceListener
from trio_kafka.clients.consumer.groups.rebalance import Rebalance
from trio_kafka.clients.consumer.positions import Positions
from trio_kafka.clients.consumer.values import Position


class Rebalanced:
    """A `Rebalance` whose hooks write down what they hear, and whether the partition is read."""

    def __init__(self, **hooks):
        self.log = []
        self.positions = Positions(has_group=True)
        self.changes = 0
        self.rebalance = Rebalance(
            positions=self.positions,
            timeout_s=10.0,
            changed=self.change,
            commit=self.commit,
            streams=self.hook("streams"),
            listener=RebalanceListener(
                on_revoked=hooks.get("on_revoked", self.hook("revoked")),
                on_assigned=hooks.get("on_assigned", self.hook("assigned")),
                on_lost=hooks.get("on_lost", self.hook("lost")),
            ),
        )

    def change(self):
        self.changes += 1

    async def commit(self, partitions, timeout_s):
        await trio.lowlevel.checkpoint()
        self.log.append(("commit", list(partitions)))

    def hook(self, name):
        async def note(partitions):
            await trio.lowlevel.checkpoint()
            self.log.append((name, list(partitions)))

        return note


async def test_partitions_are_revoked_before_others_are_assigned_and_hooks_come_in_order() -> None:
    both = Rebalanced()
    await both.rebalance.change(frozenset({T0}))
    both.log.clear()

    await both.rebalance.change(frozenset({T1}))

    names = ["streams", "commit", "revoked", "assigned"]
    assert both.log == [(name, [T1] if name == "assigned" else [T0]) for name in names]
    assert both.rebalance.owned == {T1}
    assert list(both.positions.states) == [T1]


async def test_assignment_of_the_same_partitions_revokes_nothing_and_is_announced() -> None:
    same = Rebalanced()
    await same.rebalance.change(frozenset({T0}))
    same.log.clear()

    await same.rebalance.change(frozenset({T0}))

    assert same.log == [("assigned", [])]
    assert same.rebalance.rebalances == 2


async def test_partition_is_not_read_while_its_hook_runs() -> None:
    fetchable = []

    async def on_revoked(partitions):
        await trio.lowlevel.checkpoint()
        fetchable.extend(held.positions[at].is_fetchable for at in partitions)

    held = Rebalanced(on_revoked=on_revoked)
    await held.rebalance.change(frozenset({T0}))
    held.positions.seek(T0, Position(5))
    assert held.positions[T0].is_fetchable

    await held.rebalance.revoke([T0])

    assert fetchable == [False]


async def test_partitions_go_although_a_hook_raises_and_the_error_comes_after_the_change() -> None:
    async def on_revoked(partitions):
        raise LookupError("mine")

    failing = Rebalanced(on_revoked=on_revoked)
    await failing.rebalance.change(frozenset({T0}))

    with pytest.raises(LookupError, match="mine"):
        await failing.rebalance.change(frozenset({T1}))

    assert failing.rebalance.owned == {T1}
    assert failing.log[-1] == ("assigned", [T1])


async def test_hook_that_lasts_longer_than_the_rebalance_may_is_cancelled(
    autojump_clock: MockClock,
) -> None:
    async def on_revoked(partitions):
        await trio.sleep(60.0)

    slow = Rebalanced(on_revoked=on_revoked)
    await slow.rebalance.change(frozenset({T0}))
    start = trio.current_time()

    assert await slow.rebalance.revoke([T0]) is None

    assert trio.current_time() - start == pytest.approx(10.0)
    assert slow.rebalance.late == 1
    assert not slow.rebalance.owned


async def test_lost_partitions_are_not_committed() -> None:
    lost = Rebalanced()
    await lost.rebalance.change(frozenset({T0, T1}))
    lost.log.clear()

    await lost.rebalance.lose()

    assert lost.log == [("streams", [T0, T1]), ("lost", [T0, T1])]
    assert not lost.positions.states


async def test_read_that_is_cancelled_in_a_hook_calls_the_hook_again_and_gives_nothing_away() -> (
    None
):
    with trio.CancelScope() as scope:
        calls = []

        async def on_revoked(partitions):
            calls.append(list(partitions))
            if len(calls) == 1:
                scope.cancel()
            await trio.lowlevel.checkpoint()

        cancelled = Rebalanced(on_revoked=on_revoked)
        await cancelled.rebalance.change(frozenset({T0}))
        await cancelled.rebalance.revoke([T0])
    assert cancelled.rebalance.owned == {T0}

    await cancelled.rebalance.revoke([T0])

    assert calls == [[T0], [T0]]
    assert not cancelled.rebalance.owned


async def test_listener_hears_of_lost_partitions_again_until_its_hook_has_returned() -> None:
    with trio.CancelScope() as scope:
        calls = []

        async def on_lost(partitions):
            calls.append(list(partitions))
            if len(calls) == 1:
                scope.cancel()
            await trio.lowlevel.checkpoint()

        lost = Rebalanced(on_lost=on_lost)
        await lost.rebalance.change(frozenset({T0}))
        await lost.rebalance.lose()
    assert not lost.rebalance.owned

    for _ in range(2):
        await lost.rebalance.lose()

    assert calls == [[T0], [T0]]


async def test_listener_that_raises_hears_of_lost_partitions_once() -> None:
    async def on_lost(partitions):
        calls.append(list(partitions))
        raise LookupError("mine")

    calls = []
    lost = Rebalanced(on_lost=on_lost)
    await lost.rebalance.change(frozenset({T0}))
    with pytest.raises(LookupError, match="mine"):
        await lost.rebalance.lose()

    await lost.rebalance.lose()

    assert calls == [[T0]]


async def test_partition_is_read_on_if_it_stays_although_its_revocation_had_begun() -> None:
    with trio.CancelScope() as scope:

        async def on_revoked(partitions):
            scope.cancel()
            await trio.lowlevel.checkpoint()

        kept = Rebalanced(on_revoked=on_revoked)
        await kept.rebalance.change(frozenset({T0}))
        kept.positions.seek(T0, Position(5))
        await kept.rebalance.revoke([T0])
    assert not kept.positions[T0].is_fetchable

    await kept.rebalance.change(frozenset({T0}))

    assert kept.positions[T0].is_fetchable


async def test_listener_hears_of_an_assignment_again_if_its_hook_was_cancelled() -> None:
    with trio.CancelScope() as scope:
        calls = []

        async def on_assigned(partitions):
            calls.append(list(partitions))
            if len(calls) == 1:
                scope.cancel()
            await trio.lowlevel.checkpoint()

        listener = Rebalanced(on_assigned=on_assigned)
        await listener.rebalance.change(frozenset({T0}))

    await listener.rebalance.change(frozenset({T0, T1}))
    await listener.rebalance.change(frozenset({T0, T1}))

    assert calls == [[T0], [T0, T1], []]
