"""Connections that find the channel full wait in order, and get in when it calls."""

import time
from typing import Any

import pytest

from trio_kafka.introspect.tree import Node
from trio_kafka.network.channel import RequestChannel
from trio_kafka.network.channel_waiters import ChannelWaiters
from trio_kafka.network.reasons import MuteReason
from trio_kafka.testing.planes import bare_request, numbers


class Guest:
    """A connection, as far as a waiting room is concerned."""

    def __init__(self) -> None:
        self.request: Any = None
        self.muted = MuteReason.IN_FLIGHT
        self.closed = False


@pytest.fixture
def channel() -> RequestChannel:
    return RequestChannel(1, Node("plane", "plane"), time.perf_counter)


async def test_requests_waiting_for_a_full_channel_are_offered_in_order(
    channel: RequestChannel,
) -> None:
    rung: list[int] = []
    room = ChannelWaiters(channel, lambda: rung.append(1))
    guests: list[Any] = [Guest() for _ in range(4)]
    for number, guest in enumerate(guests):
        room.hand_over(guest, bare_request(number))
    assert len(room) == 3
    assert [guest.muted for guest in guests] == [MuteReason.IN_FLIGHT] + [3] * 3

    got = []
    while (request := channel.take_nowait()) is not None:
        got.append(request)
        assert not room.has_room or rung
        if room.has_room:
            room.offer_again()

    assert numbers(got) == [0, 1, 2, 3]
    assert len(rung) == 3
    assert all(guest.muted == MuteReason.IN_FLIGHT for guest in guests)
    assert [guest.request for guest in guests] == got  # in flight, until they are answered


async def test_a_new_request_does_not_overtake_waiting_requests(channel: RequestChannel) -> None:
    room = ChannelWaiters(channel, lambda: None)
    for number in range(2):
        room.hand_over(Guest(), bare_request(number))  # type: ignore[arg-type]
    channel.take_nowait()
    room.hand_over(Guest(), bare_request(2))  # type: ignore[arg-type]
    room.offer_again()

    assert numbers([channel.take_nowait()]) == [1]


async def test_the_room_of_a_closed_connection_goes_to_another_processor(
    channel: RequestChannel,
) -> None:
    first, second = ChannelWaiters(channel, lambda: None), ChannelWaiters(channel, lambda: None)
    channel.offer(bare_request(0))
    guest: Any = Guest()
    first.hand_over(guest, bare_request(1))
    second.hand_over(Guest(), bare_request(2))  # type: ignore[arg-type]
    guest.closed = True
    channel.take_nowait()
    first.offer_again()

    assert second.has_room
    second.offer_again()
    assert numbers([channel.take_nowait()]) == [2]


async def test_the_waiters_of_a_processor_that_stops_are_not_called(
    channel: RequestChannel,
) -> None:
    rung: list[int] = []
    stopped = ChannelWaiters(channel, lambda: rung.append(1))
    channel.offer(bare_request(0))
    stopped.hand_over(Guest(), bare_request(1))  # type: ignore[arg-type]

    stopped.close()
    channel.take_nowait()

    assert not rung
    assert len(stopped) == channel.waiting == 0


async def test_waiters_closed_after_their_call_pass_the_room_to_another_processor(
    channel: RequestChannel,
) -> None:
    stopped, other = ChannelWaiters(channel, lambda: None), ChannelWaiters(channel, lambda: None)
    channel.offer(bare_request(0))
    stopped.hand_over(Guest(), bare_request(1))  # type: ignore[arg-type]
    other.hand_over(Guest(), bare_request(2))  # type: ignore[arg-type]
    channel.take_nowait()
    assert stopped.has_room

    stopped.close()

    assert not stopped.has_room
    assert other.has_room
