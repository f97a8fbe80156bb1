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
    made, rung = arrivals(2)
    for slot in slots(2):
        made.give_nowait(slot)

    with pytest.raises(trio.WouldBlock):
        made.give_nowait(slots(1)[0])
    assert rung == ["rung", "rung"]
    assert made.slots.queued == 2


async def test_a_refusing_queue_closes_connections_when_they_are_taken_or_the_queue_closes(
    nursery: trio.Nursery,
) -> None:
    made, _ = arrivals(2)
    one, other = slots(2)
    made.refusing = True
    made.give_nowait(one)
    await made.give(other)
    owner: Any = None

    assert made.take_nowait(owner) is None
    assert [one.closed, other.closed] == [True, False]
    made.close()
    assert other.closed
    assert made.slots.queued == 0


async def test_a_connection_given_to_a_closed_queue_is_closed() -> None:
    made, rung = arrivals(2)
    early, late = slots(2)
    made.close()

    made.give_nowait(early)
    await made.give(late)

    assert [early.closed, late.closed] == [True, True]
    assert made.slots.queued == 0
    assert not rung
