"""Clients that run at the same time, each as a generator of requests, in one thread.

A client yields a request and its version, and is sent the response; or it yields seconds, and is
resumed when they have passed. What it costs is the benchmark's own CPU, not the server's.
"""

import select
import socket
import time
from collections.abc import Generator, Iterable
from contextlib import ExitStack
from heapq import heappop, heappush
from typing import Any, Final, TypeAlias

from attrs import define

from trio_kafka.peers.in_flight import InFlightRequests
from trio_kafka.testing.processes import Address

Dialogue: TypeAlias = Generator[tuple[object, int] | float, Any, None]
_SILENCE_S: Final = 30.0


@define(eq=False)
class _Side:
    """One client and its connection."""

    dialogue: Dialogue
    socket: socket.socket
    in_flight: InFlightRequests


def run(address: Address, dialogues: Iterable[Dialogue]) -> None:
    """Run the clients, each on a connection of its own, until all have ended.

    Raises TimeoutError if no client gets a response for 30 s.
    """
    with ExitStack() as stack:
        poll = stack.enter_context(select.epoll())
        sides: dict[int, _Side] = {}
        for dialogue in dialogues:
            connection = stack.enter_context(socket.create_connection(address, 30))
            connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            poll.register(connection.fileno(), select.EPOLLIN)
            sides[connection.fileno()] = _Side(dialogue, connection, InFlightRequests("bench"))
        _run(poll, sides)


def _run(poll: select.epoll, sides: dict[int, _Side]) -> None:
    pauses: list[tuple[float, int]] = []

    def resume(key: int, response: object) -> None:
        side = sides[key]
        try:
            step = side.dialogue.send(response)
        except StopIteration:
            del sides[key]
            return
        if isinstance(step, float):
            heappush(pauses, (time.monotonic() + step, key))
        else:
            side.socket.sendall(side.in_flight.add(*step))

    for key in tuple(sides):
        resume(key, None)
    while sides:
        wait_s = max(0.0, pauses[0][0] - time.monotonic()) if pauses else _SILENCE_S
        ready = poll.poll(wait_s)
        if not ready and not pauses:
            raise TimeoutError(f"no answer for {_SILENCE_S} s")
        for key, _ in ready:
            side = sides[key]
            response = side.in_flight.received(side.socket.recv_into(side.in_flight.room()))
            if response is not None:
                resume(key, response)
        while pauses and pauses[0][0] <= time.monotonic():
            resume(heappop(pauses)[1], None)
