"""The epoll and its bell."""

import os
import threading

import trio

from trio_kafka.world.protocols import READ
from trio_kafka.world.real.selector import RealSelector


async def test_the_bell_can_be_rung_from_a_thread():
    selector = RealSelector()
    thread = threading.Timer(0.001, selector.ring)

    thread.start()
    with trio.fail_after(30):
        await selector.wait()
    thread.join()

    assert selector.poll(0, 1) == [(selector.bell, READ)]
    selector.close()


async def test_each_ring_of_the_bell_is_a_new_edge_without_draining():
    selector = RealSelector()

    for _ in range(1000):
        selector.ring()
        assert selector.poll(0, 1) == [(selector.bell, READ)]
        assert selector.poll(0, 1) == []

    selector.close()


async def test_closing_a_selector_closes_both_descriptors():
    before = len(os.listdir("/proc/self/fd"))
    selector = RealSelector()

    selector.close()
    selector.close()

    assert len(os.listdir("/proc/self/fd")) == before
