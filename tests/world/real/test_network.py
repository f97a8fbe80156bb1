"""DynamicListeners and connecting on a real machine."""

import errno
import os
import resource
import socket
import threading

import pytest
import trio
import trio.testing

from trio_kafka.world.clock import SkippingClock
from trio_kafka.world.descriptors import Descriptors
from trio_kafka.world.protocols import Network
from trio_kafka.world.real.network import RealNetwork

LOOPBACK_6 = socket.has_ipv6 and os.path.exists("/proc/net/if_inet6")


@pytest.fixture
def network() -> Network:
    return RealNetwork(SkippingClock())


async def connected(network, host):
    """The connection to `host` and the one that its listener accepted; both are closed."""
    listener = await network.listen(host, 0)
    far = await network.connect(host, listener.address.port)
    near = await listener.accept()
    for thing in (near, far, listener):
        thing.close()
    return near, far


@pytest.mark.parametrize("host", ["127.0.0.1", "::1", "localhost"])
async def test_listener_accepts_connections_on_ipv4_ipv6_and_host_names(network, host):
    if host == "::1" and not LOOPBACK_6:
        pytest.skip("no IPv6 here")

    near, far = await connected(network, host)

    assert near.peer == far.local
    assert far.peer.host == host


async def test_listener_on_all_interfaces_accepts_ipv4_and_ipv6_peers(network):
    if not LOOPBACK_6:
        pytest.skip("no IPv6 here")
    listener = await network.listen("", 0)

    hosts = []
    for host in ("127.0.0.1", "::1"):
        far = await network.connect(host, listener.address.port)
        near = await listener.accept()
        hosts.append(near.peer.host)
        near.close()
        far.close()
    listener.close()

    assert hosts == ["127.0.0.1", "::1"]


async def test_only_names_are_resolved_in_a_thread(network, monkeypatch):
    threads = []
    resolve = socket.getaddrinfo

    def watched(host, *args, flags, **options):
        if not flags & socket.AI_NUMERICHOST:
            threads.append((host, threading.current_thread() is threading.main_thread()))
        return resolve(host, *args, flags=flags, **options)

    monkeypatch.setattr(socket, "getaddrinfo", watched)

    await connected(network, "127.0.0.1")
    await connected(network, "localhost")

    assert threads == [("localhost", False), ("localhost", False)]


async def test_a_silent_name_server_takes_few_threads_and_none_of_the_default_limiter(
    network, monkeypatch
):
    resolve = socket.getaddrinfo
    begun, answered = trio.Semaphore(0), threading.Event()

    def silent(host, *args, flags, **options):
        if not flags & socket.AI_NUMERICHOST and host != "localhost":
            trio.from_thread.run_sync(begun.release)
            assert answered.wait(60)
        return resolve(host, *args, flags=flags, **options)

    async def look_up(name):
        with pytest.raises(OSError):
            await network.addresses(name)

    monkeypatch.setattr(socket, "getaddrinfo", silent)
    async with trio.open_nursery() as nursery:
        for number in range(10):
            nursery.start_soon(look_up, f"no such host {number}")
        try:
            for _ in range(4):
                await begun.acquire()
            await trio.testing.wait_all_tasks_blocked()

            assert begun.value == 0
            assert trio.to_thread.current_default_thread_limiter().borrowed_tokens == 0
            await connected(network, "localhost")  # look-ups of connections have other threads
        finally:
            answered.set()


async def test_cancelling_abandons_a_look_up_of_a_canonical_name(network, monkeypatch):
    begun, answered = trio.Event(), threading.Event()

    def silent(*_):
        trio.from_thread.run_sync(begun.set)
        assert answered.wait(60)

    monkeypatch.setattr(socket, "getfqdn", silent)
    try:
        async with trio.open_nursery() as nursery:
            nursery.start_soon(network.canonical_name, "127.0.0.1")
            await begun.wait()
            nursery.cancel_scope.cancel()
        assert not answered.is_set()
    finally:
        answered.set()


async def test_an_unknown_name_is_an_os_error(network):
    with pytest.raises(OSError):
        await network.connect("no such host", 1)


async def test_the_next_address_of_a_name_is_tried(network, monkeypatch):
    listener = await network.listen("127.0.0.1", 0)
    port = listener.address.port
    addresses = [
        (socket.AF_INET, socket.SOCK_STREAM, 6, "", ("127.0.0.2", port)),
        (socket.AF_INET, socket.SOCK_STREAM, 6, "", ("127.0.0.1", port)),
    ]
    monkeypatch.setattr(socket, "getaddrinfo", lambda *_, **__: addresses)

    far = await network.connect("two.example", port)

    assert far.local.host == "127.0.0.1"
    far.close()
    listener.close()


async def test_a_port_can_be_bound_again_while_old_connections_linger(network):
    listener = await network.listen("127.0.0.1", 0)
    far = await network.connect("127.0.0.1", listener.address.port)
    near = await listener.accept()
    near.close()  # this side closes first and stays in TIME_WAIT
    far.close()
    listener.close()

    again = await network.listen("127.0.0.1", listener.address.port)

    assert again.address == listener.address
    again.close()


async def test_accept_without_free_descriptors_raises_and_keeps_the_connection(
    network,
):
    listener = await network.listen("127.0.0.1", 0)
    far = await network.connect("127.0.0.1", listener.address.port)
    limits = resource.getrlimit(resource.RLIMIT_NOFILE)
    lowest_free = os.dup(0)
    os.close(lowest_free)

    resource.setrlimit(resource.RLIMIT_NOFILE, (lowest_free, limits[1]))
    try:
        with pytest.raises(OSError) as caught:
            await listener.accept()
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, limits)

    assert caught.value.errno == errno.EMFILE
    with trio.fail_after(30):
        near = await listener.accept()
    for thing in (near, far, listener):
        thing.close()


async def test_connections_beyond_the_descriptor_share_wait_until_another_connection_closes():
    descriptors = Descriptors(256)
    network = RealNetwork(SkippingClock(), descriptors)
    listener = await network.listen("127.0.0.1", 0)
    descriptors.sockets = descriptors.shared - descriptors.least_files - 3
    far = [await network.connect("127.0.0.1", listener.address.port) for _ in range(2)]
    assert descriptors.sockets == descriptors.shared - descriptors.least_files - 1

    with pytest.raises(OSError, match="reserved") as caught:  # the listener is the last
        await listener.accept()
    far.pop().close()
    near = await listener.accept()

    assert caught.value.errno == errno.EMFILE
    for thing in (near, *far, listener):
        thing.close()
    assert descriptors.others == 0
    assert descriptors.sockets == descriptors.shared - descriptors.least_files - 3
    descriptors.sockets = 0


async def test_sockets_and_selectors_are_counted_until_they_are_closed():
    descriptors = Descriptors()
    network = RealNetwork(SkippingClock(), descriptors)
    listener, selector = await network.listen("127.0.0.1", 0), network.selector()
    far = await network.connect("127.0.0.1", listener.address.port)
    near = await listener.accept()
    assert (descriptors.sockets, descriptors.others) == (2, 3)

    for thing in (near, far, listener, selector):
        thing.close()
        thing.close()

    assert (descriptors.sockets, descriptors.others) == (0, 0)


@pytest.mark.parametrize(("largest", "scaled"), [(0, False), (1 << 20, True)])
async def test_receive_buffer_of_a_connection_starts_small_and_may_grow(network, largest, scaled):
    """How far a window is scaled is said once, when a connection begins (RFC 7323)."""
    listener = await network.listen("127.0.0.1", 0, receive_buffer=8192, largest_buffer=largest)
    far = await network.connect("127.0.0.1", listener.address.port)
    near = await listener.accept()
    of_near = near._sock
    begins = of_near.getsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF)
    scale = of_near.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, 7)[6] >> 4
    near.make_room(sending=40_000, receiving=50_000)

    assert begins == 2 * 8192
    assert (0xFFFF << scale >= 1 << 20) is scaled
    assert of_near.getsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF) == 2 * 40_000
    assert of_near.getsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF) == 2 * 50_000
    assert of_near.getsockopt(socket.IPPROTO_TCP, socket.TCP_WINDOW_CLAMP) == 2 * 50_000
    for thing in (near, far, listener):
        thing.close()
