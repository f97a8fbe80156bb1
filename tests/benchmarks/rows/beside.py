"""Small requests beside large ones: how long one client waits while another keeps the broker busy.

The writer is a process of its own, so that neither client waits for the other's interpreter; both
brokers are written to at the same rate.
"""

import multiprocessing
import select
import socket
import time
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager
from multiprocessing.connection import Connection as Pipe
from typing import Final

from tests.benchmarks import protocol
from tests.benchmarks.bounds import at_most
from tests.benchmarks.connection import connect
from tests.benchmarks.figures import Figure, Figures, rate
from tests.benchmarks.rows.raw import IN_FLIGHT, make_batch
from tests.benchmarks.rows.registry import Target, row
from tests.benchmarks.tree import longest_turn_ms
from trio_kafka.testing.processes import Address

EVERY_S: Final = 0.001
_READY_WITHIN_S: Final = 30


@row("latency-beside-produce", at_most("p99.9", must=30, aim=10), mb_s=300)
def latency_beside_produce(target: Target, mb_s: float) -> Figures:
    """ApiVersions every millisecond while batches of 900 kB are written at that rate."""
    address = target.broker.address
    batch, _ = make_batch(100, 900_000)
    with target.topic() as topic:
        before = longest_turn_ms(address)
        with writing(address, topic, batch, mb_s * 1e6) as rates:
            took_s = sorted(ask_on_time(address, EVERY_S, target.seconds))
        longest = longest_turn_ms(address)
    figures = {
        "p50": Figure(took_s[len(took_s) // 2] * 1e3, "ms"),
        "p99": Figure(took_s[int(len(took_s) * 0.99)] * 1e3, "ms"),
        "p99.9": Figure(took_s[int(len(took_s) * 0.999)] * 1e3, "ms"),
        "produce": rate(rates[0] / 1e6, "MB/s"),
    }
    if longest is not None:
        # The tree keeps the longest turn since the start: one that did not grow is only a limit.
        name = "longest turn" if before is None or longest > before else "longest turn, at most"
        figures[name] = Figure(longest, "ms")
    return figures


def ask_on_time(address: Address, every_s: float, seconds: float) -> list[float]:
    """How long each answer took, from the moment of sending. A late answer delays no request: what
    waits behind a stall is counted as often as it waits.
    """
    request = protocol.frame(protocol.API_VERSIONS, 0)
    with connect(address) as first:
        size = len(first.call(request)) + 4
    with socket.create_connection(address, 10) as connection:
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        took: list[float] = []
        sent: deque[float] = deque()
        read = 0  # bytes of the oldest answer that is due
        unsent = round(seconds / every_s)
        due = time.perf_counter()
        while sent or unsent:
            now = time.perf_counter()
            if unsent and due <= now:
                connection.sendall(request)
                sent.append(now)
                unsent -= 1
                due += every_s
                continue
            wait_s = due - now if unsent else _READY_WITHIN_S
            if not select.select([connection], [], [], wait_s)[0]:
                if wait_s == _READY_WITHIN_S:
                    raise TimeoutError(f"{len(sent)} requests unanswered for {wait_s} s")
                continue
            got = len(connection.recv(65536))
            if not got:
                raise ConnectionError("closed by the broker")
            answers, read = divmod(read + got, size)
            now = time.perf_counter()
            took += [now - sent.popleft() for _ in range(answers)]
    return took


@contextmanager
def writing(address: Address, topic: str, batch: bytes, bytes_s: float) -> Iterator[list[float]]:
    """Another process writes while the block runs; afterwards the list has its rate, bytes/s."""
    rates: list[float] = []
    ours, theirs = multiprocessing.Pipe()
    # "spawn": a fork would take the threads' locks of librdkafka along, and not its threads.
    process = multiprocessing.get_context("spawn").Process(
        target=write, args=(address, topic, batch, bytes_s, theirs), daemon=True
    )
    process.start()
    theirs.close()
    try:
        _next(ours, "to begin")
        yield rates
        ours.send("stop")
        rates.append(_next(ours, "to end"))
    finally:
        ours.close()
        process.join(_READY_WITHIN_S)


def _next(pipe: Pipe, step: str) -> float:
    if not pipe.poll(_READY_WITHIN_S):
        raise TimeoutError(f"the writer had {_READY_WITHIN_S} s {step}")
    try:
        return float(pipe.recv())
    except EOFError:
        raise ConnectionError("the writer ended early: see above") from None


def write(address: Address, topic: str, batch: bytes, bytes_s: float, pipe: Pipe) -> None:
    """Write at most that fast until told to stop; acks=all, some requests in flight."""
    request = protocol.produce_request(topic, batch, acks=-1)
    sent = answered = 0
    with connect(address) as connection:
        began = time.perf_counter()
        while not (answered and pipe.poll()) or answered < sent:
            due = began + sent * len(batch) / bytes_s
            now = time.perf_counter()
            if sent - answered < IN_FLIGHT and now >= due and not (answered and pipe.poll()):
                connection.send(request)
                sent += 1
            elif answered < sent:
                if error := protocol.produce_error(topic, connection.answer()):
                    raise ValueError(f"Produce: error {error}")
                answered += 1
                if answered == 1:
                    pipe.send(0)
            else:
                pipe.poll(max(due - now, 0))
        pipe.send(answered * len(batch) / (time.perf_counter() - began))
