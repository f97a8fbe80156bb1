"""A place that is given back once, however often it is asked to be."""

from typing import Any

from trio_kafka.introspect.metrics import Counters
from trio_kafka.introspect.tree import Node
from trio_kafka.model import Endpoint
from trio_kafka.network.admission.limits import ConnectionLimits
from trio_kafka.testing.simulation import simulated_world


class Handle:
    closed = 0
    peer = Endpoint("::ffff:10.0.0.1", 5)

    def close(self) -> None:
        self.closed += 1


def arrive(connections: int = 5) -> tuple[Any, Any]:
    limits = ConnectionLimits(simulated_world().network, Counters(), Node("plane", "plane"))
    admission = limits.admission("PLAINTEXT")
    return admission, admission.arrive(Handle())  # type: ignore[arg-type]


async def test_a_slot_that_is_released_or_closed_repeatedly_is_freed_once() -> None:
    admission, slot = arrive()
    assert slot.entered
    assert slot.account is admission.account
    assert admission.slots == {slot: None}

    slot.release()
    slot.close()
    slot.release()

    assert (admission.account.count, admission.slots, slot.entered) == (0, {}, False)
    assert slot.socket.closed == 1


async def test_the_address_of_a_slot_is_ipv4_for_a_mapped_ipv6_peer() -> None:
    _, slot = arrive()

    assert slot.address == "10.0.0.1"
