"""Counts beside a channel are what Trio itself would say."""

import pytest
import trio
from hypothesis import given
from hypothesis import strategies as st
from trio.testing import MockClock, wait_all_tasks_blocked

from trio_kafka.introspect.channels import UNBOUNDED, Receiver, Sender, open_channel
from trio_kafka.introspect.tree import Node


def channel(bound: float) -> tuple[Sender[int], Receiver[int], Node]:
    node = Node("plane", "plane")
    send: Sender[int]
    receive: Receiver[int]
    send, receive = open_channel(bound, node, "numbers")
    return send, receive, node


async def test_a_channel_is_in_the_tree_with_its_figures() -> None:
    send, receive, node = channel(3)
    for number in range(3):
        send.send_nowait(number)
    with pytest.raises(trio.WouldBlock):
        send.send_nowait(9)
    assert receive.receive_nowait() == 0

    (child,) = node.children
    assert (child.name, child.kind) == ("numbers", "channel")
    figures = child.figures()
    assert (figures["depth"], figures["bound"], figures["high_water"], figures["items"]) == (
        2,
        3,
        3,
        3,
    )
    assert channel(UNBOUNDED)[0].counts.figures()["bound"] is None
    with pytest.raises(trio.WouldBlock):
        channel(1)[1].receive_nowait()


async def test_the_oldest_item_tells_its_age_and_nobody_waits_for_it(
    autojump_clock: MockClock,
) -> None:
    node, asked = Node("plane", "plane"), []

    def age_s(sent_at: float) -> float:
        asked.append(sent_at)
        return trio.current_time() - sent_at

    send: Sender[float]
    receive: Receiver[float]
    send, receive = open_channel(3, node, "times", age_s)
    assert send.counts.figures()["oldest_s"] is None

    send.send_nowait(trio.current_time())
    await trio.sleep(3)
    send.send_nowait(trio.current_time())
    await trio.sleep(1)
    assert asked == []  # nothing is worked out until somebody asks
    assert send.counts.figures()["oldest_s"] == pytest.approx(4)
    await receive.receive()
    assert send.counts.figures()["oldest_s"] == pytest.approx(1)
    await receive.receive()
    assert send.counts.figures()["oldest_s"] is None


async def test_items_without_a_time_have_no_age() -> None:
    send, _, _ = channel(1)
    send.send_nowait(1)

    assert send.counts.figures()["oldest_s"] is None


async def test_a_blocked_sender_is_counted_with_its_item_and_its_time(
    autojump_clock: MockClock, nursery: trio.Nursery
) -> None:
    send, receive, _ = channel(1)
    await send.send(1)
    nursery.start_soon(send.send, 2)
    await trio.sleep(4)
    assert send.statistics().queued == 2

    assert receive.receive_nowait() == 1
    assert send.statistics().queued == 1
    assert await receive.receive() == 2
    await wait_all_tasks_blocked()
    now = receive.statistics()
    assert (now.queued, now.blocked, now.items) == (0, 1, 2)
    assert now.blocked_s == 4.0


async def test_cancelled_senders_and_receivers_are_not_counted_any_more() -> None:
    send, receive, _ = channel(1)
    async with trio.open_nursery() as inner:
        inner.start_soon(receive.receive)
        await wait_all_tasks_blocked()
        assert send.statistics().idle == 1
        inner.cancel_scope.cancel()
    assert send.statistics().idle == 0

    send.send_nowait(1)
    async with trio.open_nursery() as inner:
        inner.start_soon(send.send, 2)
        await wait_all_tasks_blocked()
        inner.cancel_scope.cancel()
    assert send.statistics().queued == 1


async def test_an_item_that_a_receiver_was_handed_is_not_queued(nursery: trio.Nursery) -> None:
    send, receive, _ = channel(1)
    got: list[int] = []

    async def take() -> None:
        got.append(await receive.receive())

    nursery.start_soon(take)
    nursery.start_soon(take)
    await wait_all_tasks_blocked()
    send.send_nowait(1)

    now = send.statistics()
    assert (now.idle, now.queued, now.items) == (1, 0, 1)
    send.send_nowait(2)
    await wait_all_tasks_blocked()
    assert sorted(got) == [1, 2]


@given(st.lists(st.sampled_from(["send", "receive", "wait to send", "wait to receive"])))
def test_counts_agree_with_trios_statistics(events: list[str]) -> None:
    async def main() -> None:
        send, receive, _ = channel(2)
        async with trio.open_nursery() as nursery:
            for event in events:
                try:
                    if event == "send":
                        send.send_nowait(1)
                    elif event == "receive":
                        receive.receive_nowait()
                    elif event == "wait to send":
                        nursery.start_soon(send.send, 1)
                    else:
                        nursery.start_soon(receive.receive)
                except trio.WouldBlock:
                    pass
                await wait_all_tasks_blocked()
                now = send._end.statistics()
                assert send.counts.idle == now.tasks_waiting_receive
                assert send.counts.queued == now.current_buffer_used + now.tasks_waiting_send
            nursery.cancel_scope.cancel()

    trio.run(main)
