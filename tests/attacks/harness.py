"""A broker process under attack, beside a bystander: what the attack cost everybody else.

The attack is a plain block of code over sockets. When the block ends, the harness asserts the
broker's peak memory, the bystander's longest stall, and the exit status of an orderly stop.

A stall is the smaller of two times between a request and its answer: wall time, and the broker's
processor time. So a machine that runs other programs does not look like a broker that stalls.
Waits without work, such as a deadlock, are caught by `LONGEST_WAIT_S` of wall time.
"""

import sys
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from attrs import define, field

from tests.benchmarks import protocol
from tests.benchmarks.connection import connect
from tests.e2e.witness import processor_clock, resident_bytes
from trio_kafka.testing.processes import BrokerProcess, Command, broker_process, trio_kafka_command

MIB: Final = 1 << 20
LONGEST_WAIT_S: Final = 30.0
# What a virtual machine's host takes is charged to the process that had the core: one stall may be
# longer than the bound by this factor, a second one may not.
HOST: Final = 1.5
_ANSWER_BYTES: Final = 1 << 16
_PAUSE_S: Final = 0.005  # of the bystander, whose requests are work, too
_SWITCH_S: Final = 0.0005  # the bystander's thread sees its answer soon


@define
class Bystander:
    """An honest client that asks ApiVersions again and again.

    stalls_s: one value per request, in seconds. error: what ended it, if anything did.
    """

    clock: int
    stalls_s: list[float] = field(factory=list)
    waits_s: list[float] = field(factory=list)
    error: OSError | ValueError | None = None

    @property
    def longest_stall_s(self) -> float:
        return max(self.stalls_s, default=0.0)

    def run(self, broker: BrokerProcess, stop: threading.Event) -> None:
        request = protocol.frame(protocol.API_VERSIONS, 0)
        try:
            with connect(broker.address, _ANSWER_BYTES) as connection:
                connection.socket.settimeout(LONGEST_WAIT_S)
                while not stop.wait(_PAUSE_S):
                    began, worked = time.perf_counter(), time.clock_gettime(self.clock)
                    connection.call(request)
                    wait = time.perf_counter() - began
                    self.waits_s.append(wait)
                    self.stalls_s.append(min(wait, time.clock_gettime(self.clock) - worked))
        except (OSError, ValueError) as error:
            self.error = error


@define
class Attacked:
    """A broker that serves, and the bystander that watches it."""

    broker: BrokerProcess
    bystander: Bystander

    @property
    def resident_bytes(self) -> int:
        """Memory now (VmRSS)."""
        return resident_bytes(self.broker)

    @property
    def peak_resident_bytes(self) -> int:
        """Most memory since the start of the process (VmHWM)."""
        status = Path(f"/proc/{self.broker.process.pid}/status").read_text()
        (line,) = [line for line in status.splitlines() if line.startswith("VmHWM:")]
        return int(line.split()[1]) << 10

    def wait_for_bystander(self) -> None:
        """Return when the bystander has one more answer."""
        seen = len(self.bystander.stalls_s)
        while len(self.bystander.stalls_s) <= seen and self.bystander.error is None:
            time.sleep(_PAUSE_S)

    @property
    def log(self) -> str:
        return self.broker.log.read_text(errors="replace")


def with_descriptors(limit: int) -> Command:
    """Command of a broker that may open at most `limit` file descriptors."""

    def command(port: int, data: Path, settings: Sequence[str]) -> list[str]:
        plain = trio_kafka_command(port, data, settings)
        return ["sh", "-c", f'ulimit -n {limit}; exec "$@"', "sh", *plain]

    return command


@contextmanager
def attacked_broker(
    directory: Path,
    *settings: str,
    command: Command = trio_kafka_command,
    longest_stall_s: float = 0.1,
    most_resident_bytes: int = 400 * MIB,
    exit_status: int = 0,
    stop_timeout_s: float = 30.0,
) -> Iterator[Attacked]:
    """A broker process for one attack. AssertionError if the attack was felt beyond the bounds.

    settings: NAME=VALUE. command: see `with_descriptors`.
    """
    with broker_process(
        directory, *settings, command=command, stop_timeout_s=stop_timeout_s
    ) as broker:
        attacked = Attacked(broker, Bystander(processor_clock(broker.process.pid)))
        with watched(attacked):
            yield attacked
            if not attacked.bystander.stalls_s:  # the attack was over at once
                attacked.wait_for_bystander()
        stalls = attacked.bystander
        peak = attacked.peak_resident_bytes
        print(
            f"{len(stalls.stalls_s)} requests of the bystander: longest stall"
            f" {stalls.longest_stall_s * 1e3:.1f} ms, longest wait"
            f" {max(stalls.waits_s, default=0.0) * 1e3:.1f} ms; peak memory {peak / MIB:.0f} MiB"
        )
        assert stalls.error is None, f"the bystander was not served: {stalls.error!r}"
        assert stalls.stalls_s, "the bystander got no answer"
        assert stalls.longest_stall_s <= HOST * longest_stall_s
        assert sorted(stalls.stalls_s)[-2:][0] <= longest_stall_s
        assert peak <= most_resident_bytes, f"{peak / MIB:.0f} MiB"
        assert broker.process.poll() is None, attacked.log[-4000:]
        assert broker.stop(stop_timeout_s) == exit_status


@contextmanager
def watched(attacked: Attacked) -> Iterator[None]:
    """Run the bystander while the block runs."""
    stop, interval = threading.Event(), sys.getswitchinterval()
    thread = threading.Thread(target=attacked.bystander.run, args=(attacked.broker, stop))
    # The first request of a broker imports its handler: that is no stall.
    with connect(attacked.broker.address, _ANSWER_BYTES) as connection:
        connection.call(protocol.frame(protocol.API_VERSIONS, 0))
    sys.setswitchinterval(_SWITCH_S)
    thread.start()
    try:
        yield
    finally:
        stop.set()
        thread.join(2 * LONGEST_WAIT_S)
        sys.setswitchinterval(interval)
