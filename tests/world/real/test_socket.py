"""A TCP socket of a real machine."""

import os
import socket

import pytest

from trio_kafka.model import Endpoint
from trio_kafka.world.clock import SkippingClock
from trio_kafka.world.protocols import RangeCutError
from trio_kafka.world.real import RealWorld
from trio_kafka.world.real.network import RealNetwork
from trio_kafka.world.real.socket import endpoint


@pytest.fixture
async def pair():
    network = RealNetwork(SkippingClock())
    listener = await network.listen("127.0.0.1", 0)
    far = await network.connect("127.0.0.1", listener.address.port)
    near = await listener.accept()
    yield near, far
    for thing in (near, far, listener):
        thing.close()


async def test_both_ends_of_a_connection_have_nodelay_and_keepalive(pair):
    for end in pair:
        with socket.socket(fileno=os.dup(end.key)) as same:
            assert same.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY)
            assert same.getsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE)


async def test_send_and_receive_into_are_bound_c_methods(pair):
    near, _ = pair

    assert type(near.send).__name__ == "builtin_function_or_method"
    assert type(near.receive_into).__name__ == "builtin_function_or_method"


async def test_kernel_holds_back_bytes_of_send_more_until_the_next_send(pair):
    near, far = pair

    near.send_more(b"head")
    with pytest.raises(BlockingIOError):
        far.receive_into(bytearray(8))
    near.send(b"body")

    await far.wait_readable()
    assert far.receive_into(bytearray(9)) == 8


async def test_sending_a_range_of_a_truncated_file_raises_range_cut_error(pair, tmp_path):
    near, _ = pair
    root = RealWorld().directory(str(tmp_path))
    file = root.create("a")
    file.append([b"0123456789"])
    lease = file.lease(10)
    os.truncate(tmp_path / "a", 4)

    assert near.send_file_range(lease, 0, 10) == 4
    with pytest.raises(RangeCutError):
        near.send_file_range(lease, 4, 6)
    lease.release()
    file.close()


def test_ipv4_mapped_ipv6_address_is_shown_as_ipv4():
    assert endpoint(("::ffff:10.0.0.1", 5, 0, 0)) == Endpoint("10.0.0.1", 5)
    assert endpoint(("::1", 5, 0, 0)) == Endpoint("::1", 5)
    assert endpoint(("10.0.0.1", 5)) == Endpoint("10.0.0.1", 5)
