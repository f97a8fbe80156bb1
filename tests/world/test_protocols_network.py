"""The contract of sockets, listeners and selectors, on both worlds."""

import errno
from contextlib import suppress

import pytest
import trio

from trio_kafka.world.protocols import BROKEN, CLOSED, PEER_DONE, READ, WRITE


def fill(socket):
    """Send until it is refused; the bytes taken."""
    sent = 0
    with suppress(BlockingIOError):
        while True:
            sent += socket.send(bytes(1 << 18))
    return sent


async def test_a_selector_reports_the_state_at_registration_once(worlds, clock):
    near, _far = await worlds.pair()
    selector = worlds.selector()

    selector.register(near)

    assert await worlds.edges(selector, WRITE) & READ == 0
    assert selector.poll(0, 64) == []


async def test_data_that_arrived_before_registration_is_reported(worlds, clock):
    near, far = await worlds.pair()
    far.send(b"early")
    await near.wait_readable()
    selector = worlds.selector()

    selector.register(near)

    await worlds.edges(selector, READ | WRITE)


async def test_each_arrival_is_one_edge_even_while_bytes_are_unread(worlds, clock):
    near, far, selector = await worlds.registered()

    for _ in range(2):
        far.send(b"abc")
        await worlds.edges(selector, READ)
        assert selector.poll(0, 64) == []

    assert await worlds.receive(near, 6) == b"abcabc"
    with pytest.raises(BlockingIOError):
        near.receive_into(bytearray(1))


async def test_poll_reports_at_most_its_limit_and_keeps_the_rest(worlds, clock):
    listener = await worlds.listener()
    selector = worlds.selector()
    keys = set()
    for _ in range(3):
        await worlds.connect(listener)
        near = await worlds.accept(listener)
        selector.register(near)
        keys.add(near.key)

    first, second = selector.poll(0, 2), selector.poll(0, 2)

    assert (len(first), len(second)) == (2, 1)
    assert {key for key, _ in first + second} == keys


async def test_bytes_of_both_directions_are_counted_where_they_arrive(worlds, clock):
    near, far = await worlds.pair()

    far.send(b"early")
    assert await worlds.receive(near, 5) == b"early"
    near.send(b"answer")
    assert await worlds.receive(far, 6) == b"answer"
    with trio.fail_after(30):
        while near.transferred() != (5, 6):  # until the kernel has the acknowledgement
            await trio.sleep(0.001)

    assert far.transferred()[0] == 6


async def test_an_unregistered_socket_has_no_edges(worlds, clock):
    near, far, selector = await worlds.registered()

    selector.unregister(near)
    far.send(b"x")
    await near.wait_readable()

    assert selector.poll(0, 64) == []


async def test_ring_before_a_selector_wait_ends_the_wait(worlds, clock):
    selector = worlds.selector()

    selector.ring()
    selector.ring()
    with trio.fail_after(30):
        await selector.wait()

    assert selector.poll(0, 64) == [(selector.bell, READ)]
    assert selector.poll(0, 64) == []


async def test_ring_during_a_selector_wait_ends_the_wait_each_time(worlds, clock, nursery):
    selector = worlds.selector()
    for _ in range(3):

        async def ring_later():
            await trio.sleep(0.001)
            selector.ring()

        nursery.start_soon(ring_later)
        with trio.fail_after(30):
            await selector.wait()

        assert selector.poll(0, 64) == [(selector.bell, READ)]


async def test_closing_a_selector_wakes_the_waiting_task(worlds, clock, nursery):
    selector = worlds.selector()
    woken = trio.Event()

    async def wait():
        with pytest.raises(trio.ClosedResourceError):
            await selector.wait()
        woken.set()

    nursery.start_soon(wait)
    await trio.sleep(0.001)
    selector.close()
    with trio.fail_after(30):
        await woken.wait()
    with pytest.raises(trio.ClosedResourceError):
        await selector.wait()


async def test_data_and_end_of_stream_are_one_edge_and_the_socket_can_still_send(worlds, clock):
    near, far, selector = await worlds.registered()
    far.send(b"last words")
    far.shutdown_write()

    await worlds.edges(selector, READ | PEER_DONE)

    assert near.receive_into(bytearray(100)) == 10  # short, and yet not the end of it
    assert near.receive_into(bytearray(100)) == 0
    assert near.send(b"answer") == 6
    assert await worlds.receive(far, 6) == b"answer"


async def test_after_a_half_close_sending_is_an_error(worlds, clock):
    near, _far = await worlds.pair()

    near.shutdown_write()

    with pytest.raises(ConnectionError):
        near.send(b"x")


async def test_a_refused_send_is_followed_by_a_write_edge_when_the_peer_has_read(worlds, clock):
    near, far, selector = await worlds.registered()
    sent = fill(near)
    selector.poll(0, 64)

    await worlds.receive(far, sent)

    await worlds.edges(selector, WRITE)
    assert near.send(b"x") == 1


async def test_short_send_without_a_refused_send_is_followed_by_a_write_edge(worlds, clock):
    near, far, selector = await worlds.registered()
    block = bytes(8 << 20)

    sent = near.send(block)
    assert sent < len(block)
    selector.poll(0, 64)
    await worlds.receive(far, sent)

    await worlds.edges(selector, WRITE)


async def test_send_more_and_send_arrive_in_order(worlds, clock):
    near, far = await worlds.pair()

    assert near.send_more(b"head ") == 5
    assert near.send_more(b"and ") == 4
    assert near.send(b"body") == 4

    assert await worlds.receive(far, 13) == b"head and body"


async def test_bytes_held_back_by_send_more_are_sent_after_a_while_or_on_close(worlds, clock):
    near, far = await worlds.pair()

    near.send_more(b"alone")
    assert await worlds.receive(far, 5) == b"alone"
    near.send_more(b"last")
    near.close()

    assert await worlds.receive(far, 4) == b"last"
    await far.wait_readable()
    assert far.receive_into(bytearray(1)) == 0


async def test_sending_zero_bytes_is_no_error(worlds, clock):
    near, _far = await worlds.pair()

    assert near.send(b"") == 0


async def test_close_after_everything_was_read_is_the_end_of_the_stream(worlds, clock):
    near, far, selector = await worlds.registered()

    far.close()

    await worlds.edges(selector, READ | PEER_DONE)
    assert near.receive_into(bytearray(1)) == 0


@pytest.mark.parametrize("how", ["abort", "close"])
async def test_abort_and_close_with_unread_bytes_are_resets(worlds, clock, how):
    near, far, selector = await worlds.registered()
    near.send(b"never read")
    await far.wait_readable()

    getattr(far, how)()

    await worlds.edges(selector, BROKEN)
    with pytest.raises(ConnectionError):
        near.receive_into(bytearray(1))
    with pytest.raises(ConnectionError):
        near.send(b"x")


async def test_sending_to_a_closed_peer_ends_in_a_reset(worlds, clock):
    near, far, selector = await worlds.registered()
    far.close()
    await worlds.edges(selector, PEER_DONE)

    near.send(b"to nobody")

    await worlds.edges(selector, BROKEN)
    with pytest.raises(ConnectionError):
        near.send(b"x")


@pytest.mark.parametrize("wait", ["wait_readable", "wait_writable"])
async def test_closing_a_socket_wakes_its_waiting_task(worlds, clock, nursery, wait):
    near, _far = await worlds.pair()
    if wait == "wait_writable":
        fill(near)
    woken = trio.Event()

    async def wait_for_it():
        with pytest.raises(trio.ClosedResourceError):
            await getattr(near, wait)()
        woken.set()

    nursery.start_soon(wait_for_it)
    await trio.sleep(0.001)
    near.close()
    near.close()

    with trio.fail_after(30):
        await woken.wait()
    with pytest.raises(trio.ClosedResourceError):
        await getattr(near, wait)()
    with pytest.raises(OSError) as caught:
        near.receive_into(bytearray(1))
    assert caught.value.errno == errno.EBADF


async def test_peer_address_of_each_end_is_the_local_address_of_the_other_end(worlds, clock):
    near, far = await worlds.pair()

    assert near.peer == far.local
    assert far.peer == near.local
    assert near.key != far.key or worlds.here is not worlds.there


async def test_connecting_to_a_port_without_a_listener_is_refused(worlds, clock):
    listener = await worlds.listener()
    listener.close()

    with pytest.raises(ConnectionRefusedError):
        await worlds.connect(listener)


async def test_port_can_be_bound_only_once_at_a_time(worlds, clock):
    listener = await worlds.listener()

    with pytest.raises(OSError) as caught:
        await worlds.here.network.listen(worlds.host, listener.address.port)
    assert caught.value.errno == errno.EADDRINUSE

    listener.close()
    again = await worlds.here.network.listen(worlds.host, listener.address.port)
    assert again.address == listener.address
    again.close()


@pytest.mark.parametrize("everywhere", ["", "0.0.0.0", "::"])
async def test_listener_on_all_interfaces_may_be_named_in_three_ways(worlds, clock, everywhere):
    listener = worlds.closed_at_the_end(await worlds.here.network.listen(everywhere, 0))

    far = await worlds.connect(listener)
    near = await worlds.accept(listener)

    assert near.peer == far.local


async def test_accept_nowait_returns_a_waiting_connection_or_raises_blocking_io_error(
    worlds, clock
):
    listener = await worlds.listener()
    with pytest.raises(BlockingIOError):
        listener.accept_nowait()

    far = await worlds.connect(listener)

    near = worlds.closed_at_the_end(listener.accept_nowait())
    assert near.peer == far.local
    with pytest.raises(BlockingIOError):
        listener.accept_nowait()


async def test_closing_a_listener_wakes_its_accept_and_resets_unaccepted_connections(
    worlds, clock, nursery
):
    listener, other = await worlds.listener(), await worlds.listener()
    far = await worlds.connect(other)
    woken = trio.Event()

    async def accept():
        with pytest.raises(trio.ClosedResourceError):
            await listener.accept()
        woken.set()

    nursery.start_soon(accept)
    await trio.sleep(0.001)
    listener.close()
    other.close()

    with trio.fail_after(30):
        await woken.wait()
        await far.wait_readable()
    with pytest.raises(ConnectionResetError):
        far.receive_into(bytearray(1))
    with pytest.raises(trio.ClosedResourceError):
        await listener.accept()


async def test_accepted_sockets_inherit_small_buffers_of_the_listener(worlds, clock):
    small, _ = await worlds.pair(send_buffer=4096, receive_buffer=4096)
    usual, _ = await worlds.pair()

    assert fill(small) * 2 < fill(usual)


async def test_make_room_enlarges_the_send_buffer_of_a_socket(worlds, clock):
    small, _ = await worlds.pair(send_buffer=4096, receive_buffer=4096)
    before = fill(small)

    small.make_room(sending=1 << 20)

    assert before + fill(small) >= 1 << 20


async def test_make_room_enlarges_the_receive_buffer_of_a_socket(worlds, clock):
    usual = {"send_buffer": 1 << 16, "receive_buffer": 1 << 16}
    listener = await worlds.listener(**usual, largest_buffer=1 << 20)
    far = await worlds.connect(listener, **usual)
    near = await worlds.accept(listener)
    before = fill(far)

    near.make_room(receiving=1 << 20)
    await worlds.receive(near, before)
    sent = []
    for _ in range(8):  # a window opens as it is used
        sent.append(fill(far))
        await worlds.receive(near, sent[-1])

    assert max(sent) > 2 * before


async def test_addresses_of_a_name_are_unique_and_an_address_resolves_to_itself(worlds, clock):
    result = await worlds.here.network.addresses(worlds.host)

    assert result
    assert len(set(result)) == len(result)
    assert await worlds.here.network.addresses(result[0]) == [result[0]]


async def test_addresses_of_an_unknown_name_raise_os_error(worlds, clock):
    with pytest.raises(OSError, match=r"."):
        await worlds.here.network.addresses("no-such-host.invalid")


def raises_bad_descriptor(call):
    """Assert that a call raises OSError(EBADF)."""
    with pytest.raises(OSError) as caught:
        call()
    assert caught.value.errno == errno.EBADF


async def test_a_closed_socket_rejects_every_call_and_has_no_key(worlds, clock):
    near, _far, selector = await worlds.registered()
    lease = worlds.create("a", b"abc").lease(3)
    selector.unregister(near)
    near.close()

    for call in (
        lambda: near.send(b"x"),
        lambda: near.send_more(b"x"),
        lambda: near.send_file_range(lease, 0, 3),
        lambda: near.receive_into(bytearray(1)),
        lambda: near.make_room(sending=1 << 16),
        near.shutdown_write,
        lambda: selector.register(near),
        lambda: selector.unregister(near),
    ):
        raises_bad_descriptor(call)
    assert near.key == CLOSED
    lease.release()


async def test_a_closed_listener_rejects_every_call_and_has_no_key(worlds, clock):
    listener = await worlds.listener()
    listener.close()

    raises_bad_descriptor(listener.accept_nowait)
    assert listener.key == CLOSED


async def test_a_closed_selector_rejects_every_call(worlds, clock):
    near, _far, selector = await worlds.registered()
    selector.close()
    selector.close()

    for call in (
        lambda: selector.poll(0, 64),
        lambda: selector.register(near),
        lambda: selector.unregister(near),
    ):
        raises_bad_descriptor(call)


async def test_ring_of_a_closed_selector_does_not_reach_a_new_selector_with_its_number(
    worlds, clock
):
    closed = worlds.selector()
    closed.close()
    later = worlds.selector()
    assert later.bell == closed.bell

    closed.ring()

    assert later.poll(0, 64) == []


async def test_released_lease_refuses_send_and_read(worlds, clock):
    near, _far = await worlds.pair()
    file = worlds.create("a", b"abc")
    lease = file.lease(3)
    file.close()
    lease.release()
    other = worlds.create("b", b"xyz")  # may get the number of the first one

    raises_bad_descriptor(lambda: near.send_file_range(lease, 0, 3))
    with pytest.raises(OSError) as caught:
        await lease.read(0, 3)
    assert caught.value.errno == errno.EBADF
    assert lease.key == CLOSED
    assert other.size == 3
