"""The contract of child processes, in both worlds."""

import signal
import sys
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager

import pytest
import trio

from trio_kafka.world.protocols import Child

pytestmark = pytest.mark.slow

REAL = {
    "greet": "import os, sys; print(os.environ['WORD'], os.getcwd(), flush=True); sys.exit(3)",
    "wait": "print('ready', flush=True); import signal; signal.pause()",
    "polite": """
import os, signal
def end(*_):
    os.write(1, b"bye\\n")
    os._exit(0)
signal.signal(signal.SIGTERM, end)
print("ready", flush=True)
while True:
    signal.pause()
""",
    "stubborn": """
import signal
signal.signal(signal.SIGTERM, signal.SIG_IGN)
print("ready", flush=True)
while True:
    signal.pause()
""",
    "chatty": "while True: print('x' * 1000)",
}


async def greet(process):
    await process.write(f"{process.environment['WORD']} {process.directory}\n".encode())
    return 3


async def wait(process):
    await process.write(b"ready\n")
    await trio.sleep_forever()


async def polite(process):
    process.catches_terminate = True
    await process.write(b"ready\n")
    await process.terminated.wait()
    await process.write(b"bye\n")
    return 0


async def stubborn(process):
    process.catches_terminate = True
    await process.write(b"ready\n")
    await trio.sleep_forever()


async def chatty(process):
    while True:
        await process.write(b"x" * 1000)


SIMULATED = {function.__name__: function for function in (greet, wait, polite, stubborn, chatty)}


@asynccontextmanager
async def started(
    worlds, name: str, environment: Mapping[str, str] | None = None
) -> AsyncIterator[Child]:
    command: Sequence[str] = [name]
    if worlds.here.simulated:
        worlds.here.programs = SIMULATED
    elif name in REAL:
        command = [sys.executable, "-I", "-c", REAL[name]]
    child = await worlds.here.start_child(
        command, environment=environment or {}, directory=worlds.path
    )
    try:
        yield child
    finally:
        child.close()
        child.close()
        await ended(child)


async def read(child: Child, end: bytes | None = None) -> bytes:
    """All of its output, or up to what ends with `end`."""
    result = b""
    with trio.fail_after(20):
        while end is None or not result.endswith(end):
            piece = await child.receive()
            if not piece:
                break
            result += piece
    return result


async def ended(child: Child) -> int:
    with trio.fail_after(20):
        return await child.wait()


async def test_a_child_has_an_environment_a_directory_and_a_status(worlds, clock):
    async with started(worlds, "greet", {"WORD": "hello"}) as child:
        assert await read(child) == f"hello {worlds.path}\n".encode()
        assert await ended(child) == 3
        child.terminate()
        child.kill()
        assert await ended(child) == 3
        assert await child.receive() == b""


async def test_child_without_a_signal_handler_ends_by_the_signal(worlds, clock):
    async with started(worlds, "wait") as child:
        await read(child, b"ready\n")

        child.terminate()

        assert await ended(child) == -signal.SIGTERM


async def test_child_that_catches_terminate_ends_with_its_own_status(worlds, clock):
    async with started(worlds, "polite") as child:
        await read(child, b"ready\n")

        child.terminate()

        assert await read(child) == b"bye\n"
        assert await ended(child) == 0


async def test_a_child_that_ignores_its_signal_is_killed(worlds, clock):
    async with started(worlds, "stubborn") as child:
        await read(child, b"ready\n")
        child.terminate()

        with trio.move_on_after(0.1):
            await child.wait()
            pytest.fail("it ended")
        child.kill()

        assert await ended(child) in (-signal.SIGKILL, 128 + signal.SIGKILL)
        assert await read(child) == b""


async def test_child_that_prints_without_end_waits_for_its_reader(worlds, clock):
    async with started(worlds, "chatty") as child:
        assert 0 < len(await child.receive()) <= 1 << 16
        child.kill()

        await ended(child)
        while await child.receive():
            pass


async def test_missing_program_is_reported_in_the_output_of_the_child(worlds, clock):
    async with started(worlds, "/no/such/program") as child:
        assert await read(child) == b"cannot run /no/such/program: No such file or directory\n"
        assert await ended(child) == 127


async def test_close_ends_the_child(worlds, clock):
    async with started(worlds, "wait") as child:
        await read(child, b"ready\n")

        child.close()

        assert await ended(child) != 0
