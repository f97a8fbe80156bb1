"""A client that minds its own business while others misbehave: what it notices of them.

How long it waits is a matter of the machine too. What is bounded is how much the broker works
between its asking and its being answered: processor time, which no other program adds to.
"""

import statistics
import sys
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
# Of processor time in 99 of 100 rounds: two requests, each behind a few turns of 1 ms.
MOST_WORK_S = 0.03
LONGEST_ROUND_S = 30.0  # of a busy machine; a client that hangs is given up later
_SWITCH_S = 0.0005  # this process's threads take turns: the witness sees its answer soon


@define
class Witness:
    """rounds_s: how long each write, and the read of what was written, took.

    work_s: the broker's processor time meanwhile, whatever it was spent on.
    """

    topic: str
    clock: int
    rounds_s: list[float] = field(factory=list)
    work_s: list[float] = field(factory=list)
    wrong: list[object] = field(factory=list)
    offset: int = 0

    def watch(self, connection: Connection, stop: threading.Event) -> None:
        try:
            while not stop.is_set():
                began, worked = time.perf_counter(), time.clock_gettime(self.clock)
                self.go_round(connection)
                self.work_s.append(time.clock_gettime(self.clock) - worked)
                self.rounds_s.append(time.perf_counter() - began)
                stop.wait(0.002)
        except (OSError, ValueError) as error:
            self.wrong.append(error)

    def go_round(self, connection: Connection) -> None:
        value = b"witness %d" % self.offset
        batch = protocol.record_batch([value])
        answer = connection.call(protocol.produce_request(self.topic, batch, acks=-1))
        error = protocol.produce_error(self.topic, answer)
        fetch = protocol.fetch_request(self.topic, self.offset, 1 << 20)
        result = bytes(connection.call(fetch))
        if error or not result.endswith(value + b"\0"):
            self.wrong.append((self.offset, error, result))
        self.offset += 1

    def describe(self) -> str:
        median, work = statistics.median(self.rounds_s), statistics.median(self.work_s)
        return (
            f"{len(self.rounds_s)} rounds: p50 {median * 1e3:.1f} ms,"
            f" p99 {late(self.rounds_s) * 1e3:.1f} ms, max {max(self.rounds_s) * 1e3:.1f} ms;"
            f" the broker's work: p50 {work * 1e3:.1f} ms, p99 {late(self.work_s) * 1e3:.1f} ms,"
            f" max {max(self.work_s) * 1e3:.1f} ms"
        )


def late(times: list[float]) -> float:
    """The 99th percentile; of fewer than 200, the longest but one."""
    return sorted(times)[min(int(len(times) * 0.99), len(times) - 2)]


def processor_clock(pid: int) -> int:
    """The clock of another process's processor time. Source: clock_getcpuclockid(3), on Linux."""
    return ~pid << 3 | 2


@contextmanager
def witness(broker: BrokerProcess, topic: str) -> Iterator[Witness]:
    """AssertionError if the block's clients were noticed by more than their share of the time."""
    watching = Witness(topic, processor_clock(broker.process.pid))
    stop, interval = threading.Event(), sys.getswitchinterval()
    with connect(broker.address, SMALL) as connection:
        watching.go_round(connection)  # the first requests of a broker import their handlers
        thread = threading.Thread(target=watching.watch, args=(connection, stop))
        sys.setswitchinterval(_SWITCH_S)
        thread.start()
        try:
            yield watching
        finally:
            stop.set()
            thread.join(30)
            sys.setswitchinterval(interval)
    print(watching.describe())
    assert watching.wrong == []
    assert len(watching.rounds_s) > 5
    assert late(watching.work_s) < MOST_WORK_S
    assert max(watching.rounds_s) < LONGEST_ROUND_S


def resident_bytes(broker: BrokerProcess) -> int:
    status = Path(f"/proc/{broker.process.pid}/status").read_text()
    (line,) = [line for line in status.splitlines() if line.startswith("VmRSS:")]
    return int(line.split()[1]) << 10
