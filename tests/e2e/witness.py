"""A client that minds its own business while others misbehave: what it notices of them."""

import statistics
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from attrs import define, field

from tests.benchmarks import protocol
from tests.benchmarks.connection import Connection, connect
from trio_kafka.testing.processes import BrokerProcess

SMALL = 1 << 21  # no answer here is larger


@define
class Witness:
    """rounds_s: how long each write, and the read of what was written, took."""

    topic: str
    rounds_s: list[float] = field(factory=list)
    wrong: list[object] = field(factory=list)

    def watch(self, connection: Connection, stop: threading.Event) -> None:
        offset = 0
        try:
            while not stop.is_set():
                value = b"witness %d" % offset
                began = time.perf_counter()
                batch = protocol.record_batch([value])
                answer = connection.call(protocol.produce_request(self.topic, batch, acks=-1))
                error = protocol.produce_error(self.topic, answer)
                fetch = protocol.fetch_request(self.topic, offset, 1 << 20)
                found = bytes(connection.call(fetch))
                self.rounds_s.append(time.perf_counter() - began)
                if error or not found.endswith(value + b"\0"):
                    self.wrong.append((offset, error, found))
                offset += 1
                stop.wait(0.002)
        except (OSError, ValueError) as error:
            self.wrong.append(error)

    def describe(self) -> str:
        ordered = sorted(self.rounds_s)
        median, late = statistics.median(ordered), ordered[int(len(ordered) * 0.99)]
        return (
            f"{len(ordered)} rounds: p50 {median * 1e3:.1f} ms, p99 {late * 1e3:.1f} ms,"
            f" max {ordered[-1] * 1e3:.1f} ms"
        )


@contextmanager
def witness(broker: BrokerProcess, topic: str) -> Iterator[Witness]:
    """AssertionError if the block's clients were noticed by more than their share of the time."""
    watching, stop = Witness(topic), threading.Event()
    with connect(broker.address, SMALL) as connection:
        thread = threading.Thread(target=watching.watch, args=(connection, stop))
        thread.start()
        try:
            yield watching
        finally:
            stop.set()
            thread.join(30)
    print(watching.describe())
    assert watching.wrong == []
    assert len(watching.rounds_s) > 5
    assert statistics.median(watching.rounds_s) < 0.5  # of a noisy machine
    assert max(watching.rounds_s) < 5


def resident_bytes(broker: BrokerProcess) -> int:
    status = Path(f"/proc/{broker.process.pid}/status").read_text()
    (line,) = [line for line in status.splitlines() if line.startswith("VmRSS:")]
    return int(line.split()[1]) << 10
