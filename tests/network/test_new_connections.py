"""New connections on their way to a processor."""

from typing import Any

import pytest
import trio

from trio_kafka.introspect.tree import Node
from trio_kafka.network.new_connections import NewConnections


class Slot:
    closed = False

    def close(self) -> None:
        self.closed = True


def arrivals(bound: int) -> tuple[NewConnections, list[str]]:
    rung: list[str] = []
    framer: Any = None
    return NewConnections(bound, Node("p", "selector"), framer, lambda: rung.append("rung")), rung


def slots(count: int) -> list[Any]:
    return [Slot() for _ in range(count)]


async def test_each_new_connection_rings_and_one_above_the_bound_would_block() -> None:
    queue, rung = arrivals(2)
    for slot in slots(2):
        queue.give_nowait(slot)

    with pytest.raises(trio.WouldBlock):
        queue.give_nowait(slots(1)[0])
    assert rung == ["rung", "rung"]
    assert queue.slots.queued == 2


async def test_a_refusing_queue_closes_connections_when_they_are_taken_or_the_queue_closes(
    nursery: trio.Nursery,
) -> None:
    queue, _ = arrivals(2)
    first, second = slots(2)
    queue.refusing = True
    queue.give_nowait(first)
    await queue.give(second)
    owner: Any = None

    assert queue.take_nowait(owner) is None
    assert [first.closed, second.closed] == [True, False]
    queue.close()
    assert second.closed
    assert queue.slots.queued == 0


async def test_a_connection_given_to_a_closed_queue_is_closed() -> None:
    queue, rung = arrivals(2)
    early, late = slots(2)
    queue.close()

    queue.give_nowait(early)
    await queue.give(late)

    assert [early.closed, late.closed] == [True, True]
    assert queue.slots.queued == 0
    assert not rung
