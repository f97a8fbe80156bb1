"""A channel is one of Trio's, with counts."""

import pytest
import trio
from hypothesis import given
from hypothesis import strategies as st
from trio.testing import MockClock, wait_all_tasks_blocked

from trio_kafka.introspect.channels import UNBOUNDED, Channel
from trio_kafka.introspect.tree import Node


def channel(bound: float) -> tuple[Channel[int], Node]:
    node = Node("plane", "plane")
    return Channel(bound, node, "numbers"), node


async def test_channel_is_in_the_tree_with_its_figures() -> None:
    numbers, node = channel(3)
    for number in range(3):
        numbers.send_nowait(number)
    with pytest.raises(trio.WouldBlock):
        numbers.send_nowait(9)
    assert numbers.receive_nowait() == 0

    (child,) = node.children
    assert (child.name, child.kind) == ("numbers", "channel")
    figures = child.figures()
    assert (figures["depth"], figures["bound"], figures["high_water"], figures["items"]) == (
        2,
        3,
        3,
        3,
    )
    assert channel(UNBOUNDED)[0].figures()["bound"] is None
    with pytest.raises(trio.WouldBlock):
        channel(1)[0].receive_nowait()


async def test_age_of_the_oldest_item_is_computed_only_on_request(
    autojump_clock: MockClock,
) -> None:
    node, calls = Node("plane", "plane"), []

    def age_s(sent_at: float) -> float:
        calls.append(sent_at)
        return trio.current_time() - sent_at

    numbers: Channel[float] = Channel(3, node, "times", age_s=age_s)
    assert numbers.figures()["oldest_s"] is None

    numbers.send_nowait(trio.current_time())
    await trio.sleep(3)
    numbers.send_nowait(trio.current_time())
    await trio.sleep(1)
    assert calls == []  # nothing is worked out until somebody asks
    assert numbers.figures()["oldest_s"] == pytest.approx(4)
    await numbers.receive()
    assert numbers.figures()["oldest_s"] == pytest.approx(1)
    await numbers.receive()
    assert numbers.figures()["oldest_s"] is None


async def test_oldest_age_of_items_without_a_time_is_null() -> None:
    numbers, _ = channel(1)
    numbers.send_nowait(1)

    assert numbers.figures()["oldest_s"] is None


async def test_blocked_send_is_counted_with_its_item_and_duration(
    autojump_clock: MockClock, nursery: trio.Nursery
) -> None:
    numbers, _ = channel(1)
    await numbers.send(1)
    nursery.start_soon(numbers.send, 2)
    await trio.sleep(4)
    assert numbers.queued == 2

    assert numbers.receive_nowait() == 1
    assert numbers.queued == 1
    assert await numbers.receive() == 2
    await wait_all_tasks_blocked()
    now = numbers
    assert (now.queued, now.blocked, now.items) == (0, 1, 2)
    assert now.blocked_s == 4.0


async def test_cancelled_senders_and_receivers_are_no_longer_counted() -> None:
    numbers, _ = channel(1)
    async with trio.open_nursery() as inner:
        inner.start_soon(numbers.receive)
        await wait_all_tasks_blocked()
        assert numbers.idle == 1
        inner.cancel_scope.cancel()
    assert numbers.idle == 0

    numbers.send_nowait(1)
    async with trio.open_nursery() as inner:
        inner.start_soon(numbers.send, 2)
        await wait_all_tasks_blocked()
        inner.cancel_scope.cancel()
    assert numbers.queued == 1


async def test_item_handed_to_a_waiting_receiver_is_not_queued(nursery: trio.Nursery) -> None:
    numbers, _ = channel(1)
    got: list[int] = []

    async def take() -> None:
        got.append(await numbers.receive())

    nursery.start_soon(take)
    nursery.start_soon(take)
    await wait_all_tasks_blocked()
    numbers.send_nowait(1)

    now = numbers
    assert (now.idle, now.queued, now.items) == (1, 0, 1)
    numbers.send_nowait(2)
    await wait_all_tasks_blocked()
    assert sorted(got) == [1, 2]


@given(st.lists(st.sampled_from(["send", "receive", "wait to send", "wait to receive", "cancel"])))
def test_channel_behaves_like_trios_memory_channel(events: list[str]) -> None:
    async def main() -> None:
        numbers, _ = channel(2)
        send, receive = trio.open_memory_channel[int](2)
        got: list[int] = []
        want: list[int] = []

        async def take() -> None:
            got.append(await numbers.receive())

        async def take_from_trio() -> None:
            want.append(await receive.receive())

        async with trio.open_nursery() as nursery:
            for number, event in enumerate(events):
                if event == "cancel":
                    nursery.cancel_scope.cancel()
                    break
                try:
                    if event == "send":
                        send.send_nowait(number)
                    elif event == "receive":
                        want.append(receive.receive_nowait())
                    elif event == "wait to send":
                        nursery.start_soon(send.send, number)
                    else:
                        nursery.start_soon(take_from_trio)
                except trio.WouldBlock:
                    with pytest.raises(trio.WouldBlock):
                        numbers.send_nowait(number) if event == "send" else numbers.receive_nowait()
                else:
                    if event == "send":
                        numbers.send_nowait(number)
                    elif event == "receive":
                        got.append(numbers.receive_nowait())
                    elif event == "wait to send":
                        nursery.start_soon(numbers.send, number)
                    else:
                        nursery.start_soon(take)
                await wait_all_tasks_blocked()
                now = send.statistics()
                assert got == want
                assert numbers.idle == now.tasks_waiting_receive
                assert numbers.queued == now.current_buffer_used + now.tasks_waiting_send
            nursery.cancel_scope.cancel()
        assert numbers.idle == 0
        assert numbers.queued == send.statistics().current_buffer_used

    trio.run(main)
