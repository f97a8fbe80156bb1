"""The warden: nothing that a command starts outlives it, or the parent of the warden."""

import json
import os
import select
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest

from trio_kafka.world.real import warden

pytestmark = pytest.mark.slow

# A child with a grandchild in its group, one in a session of its own, and a daemon whose parent
# has ended. Each holds the output open.
FAMILY = """
import json, os, signal, subprocess, sys
signal.signal(signal.SIGTERM, signal.SIG_IGN)
sleep = [sys.executable, "-I", "-S", "-c", "import signal; signal.pause()"]
same = subprocess.Popen(sleep)
apart = subprocess.Popen(sleep, start_new_session=True)
read, write = os.pipe()
if not os.fork():
    daemon = subprocess.Popen(sleep, start_new_session=True)
    os.write(write, str(daemon.pid).encode())
    os._exit(0)
daemon = int(os.read(read, 20))
os.wait()
print(json.dumps([os.getpid(), same.pid, apart.pid, daemon]), flush=True)
END
"""
WAIT = "signal.pause()"
# A parent that starts a warden, tells its pid, and waits to be killed.
PARENT = """
import subprocess, sys, signal
child = subprocess.Popen(sys.argv[1:], stdin=subprocess.PIPE)
print(child.pid, flush=True)
signal.pause()
"""


def guarded(code: str) -> list[str]:
    return [sys.executable, "-I", "-S", warden.__file__, sys.executable, "-I", "-c", code]


@contextmanager
def running(command: list[str]) -> Iterator[subprocess.Popen[str]]:
    process = subprocess.Popen(
        command,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        start_new_session=True,
    )
    try:
        yield process
    finally:
        process.stdin.close()
        process.wait(20)
        process.stdout.close()


def line(process: subprocess.Popen[str]) -> str:
    return process.stdout.readline().strip()


def is_alive(pid: int) -> bool:
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return False
    return state != "Z"


def wait_gone(pids: list[int]) -> None:
    """Wait until the kernel says so, for each; 20 s at most."""
    deadline = time.monotonic() + 20
    for pid in pids:
        with suppress(ProcessLookupError):
            handle = os.pidfd_open(pid)
            ended, _, _ = select.select([handle], [], [], max(deadline - time.monotonic(), 0))
            os.close(handle)
            assert ended, f"{pid} runs"
    assert [pid for pid in pids if is_alive(pid)] == []


def family(end: str) -> str:
    return FAMILY.replace("END", end)


def test_kill_9_of_the_parent_ends_grandchildren_and_daemons() -> None:
    command = guarded(family(WAIT))
    with running([sys.executable, "-I", "-c", PARENT, *command]) as parent:
        guard = int(line(parent))
        pids = json.loads(line(parent))
        assert all(map(is_alive, pids))

        os.kill(parent.pid, signal.SIGKILL)

        wait_gone([guard, *pids])


def test_all_processes_of_a_command_end_with_the_command() -> None:
    with running(guarded(family("sys.exit(5)"))) as process:
        pids = json.loads(line(process))

        assert process.wait(20) == 5
        wait_gone(pids)
        assert process.stdout.read() == ""


def test_warden_ends_by_the_signal_that_ended_its_command() -> None:
    for number in (signal.SIGTERM, signal.SIGKILL, signal.SIGSEGV):
        with running(guarded(f"import os; os.kill(os.getpid(), {int(number)})")) as process:
            assert process.wait(20) == -number


def test_signal_to_the_group_ends_the_command_before_the_warden() -> None:
    code = """
import os, signal
signal.signal(signal.SIGTERM, lambda *_: (os.write(1, b"bye\\n"), os._exit(4)))
print("ready", flush=True)
while True: signal.pause()
"""
    with running(guarded(code)) as process:
        assert line(process) == "ready"
        os.killpg(process.pid, signal.SIGTERM)

        assert line(process) == "bye"
        assert process.wait(20) == 4


def test_command_ends_when_its_warden_is_killed() -> None:
    with running(
        guarded("import os, signal; print(os.getpid(), flush=True); signal.pause()")
    ) as warden_child:
        pid = int(line(warden_child))

        os.kill(warden_child.pid, signal.SIGKILL)

        wait_gone([pid])


def test_the_command_has_the_signals_and_streams_of_a_fresh_process() -> None:
    code = """
import os, signal
print(signal.getsignal(signal.SIGTERM) is signal.SIG_DFL, os.read(0, 1))
status = open("/proc/self/status").read()
ignored = int(status.partition("SigIgn:")[2].split()[0], 16)
print(bool(ignored & 1 << signal.SIGTERM - 1), sorted(os.listdir("/proc/self/fd"))[:3])
"""
    with running(guarded(code)) as process:
        assert line(process) == "True b''"
        assert line(process) == "False ['0', '1', '2']"
        assert process.wait(20) == 0


def test_command_that_cannot_be_run_is_reported_in_the_output() -> None:
    command = guarded("")[:4]
    for program, why in (("/no/such", "No such file or directory"), ("/etc", "Permission denied")):
        with running([*command, program]) as process:
            assert line(process) == f"cannot run {program}: {why}"
            assert process.wait(20) == warden.CANNOT_RUN
