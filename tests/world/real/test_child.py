"""Children of a real machine; the contract is in tests/world/test_protocols_children.py."""

import os
import signal
import subprocess
import sys

import pytest
import trio

from trio_kafka.world.real import RealWorld

pytestmark = pytest.mark.slow

FAMILY = """
import os, signal, subprocess, sys
signal.signal(signal.SIGTERM, signal.SIG_IGN)
other = subprocess.Popen([sys.executable, "-I", "-S", "-c", "import signal; signal.pause()"])
print(os.getpid(), other.pid, flush=True)
signal.pause()
"""


async def start(code: str, directory: str = "/"):
    command = [sys.executable, "-I", "-c", code]
    return await RealWorld().start_child(command, environment={}, directory=directory)


async def pids_of(child) -> list[int]:
    text = b""
    while not text.endswith(b"\n"):
        text += await child.receive()
    return [int(word) for word in text.split()]


async def test_killed_warden_ends_all_processes_of_its_group() -> None:
    child = await start(FAMILY)
    pids = await pids_of(child)
    handles = [os.pidfd_open(pid) for pid in pids]

    os.kill(child.pid, signal.SIGKILL)

    with trio.fail_after(20):
        assert await child.wait() == -signal.SIGKILL
        for handle in handles:
            await trio.lowlevel.wait_readable(handle)
            os.close(handle)
    child.close()


async def test_a_second_kill_ends_a_warden_that_is_stopped() -> None:
    child = await start(FAMILY)
    await pids_of(child)
    os.killpg(child.pid, signal.SIGSTOP)

    child.kill()
    child.kill()

    with trio.fail_after(20):
        assert await child.wait() == -signal.SIGKILL
    child.close()


async def test_child_in_a_missing_directory_raises_file_not_found() -> None:
    with pytest.raises(FileNotFoundError):
        await start("", "/no/such/directory")


def test_child_module_is_not_imported_with_the_world() -> None:
    code = (
        "import sys, trio_kafka.world.real;"
        "print('trio_kafka.world.real.child' in sys.modules, 'ctypes' in sys.modules)"
    )

    done = subprocess.run([sys.executable, "-c", code], capture_output=True, check=True)

    assert done.stdout.split()[0] == b"False"
