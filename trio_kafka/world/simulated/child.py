"""Child processes of a simulated machine, whose programs are async functions of a test."""

import signal
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Final

import trio
from attrs import field

from trio_kafka.attributes import define
from trio_kafka.world.simulated.run import Machine
from trio_kafka.world.world import Crashed

CANNOT_RUN: Final = 127
_PIPE: Final = 1 << 16  # bytes that a pipe holds


@define(eq=False)
class SimulatedProcess:
    """A process, as its program sees it.

    catches_terminate: SIGTERM sets `terminated` and does nothing else. output: bytes in the pipe.
    """

    command: tuple[str, ...]
    environment: dict[str, str] = field(repr=False)  # may hold secrets
    directory: str
    catches_terminate: bool = field(default=False, init=False)
    terminated: trio.Event = field(factory=trio.Event, init=False)
    output: bytearray = field(factory=bytearray, init=False)
    output_changed: trio.Event = field(factory=trio.Event, init=False)
    scope: trio.CancelScope = field(factory=trio.CancelScope, init=False)
    status: int | None = field(default=None, init=False)
    ended: trio.Event = field(factory=trio.Event, init=False)

    async def write(self, data: bytes) -> None:
        """Write to the standard output; wait while the pipe is full."""
        await trio.lowlevel.checkpoint()
        while len(self.output) >= _PIPE:
            await self.wait_change()
        self.output += data
        self.tell()

    async def wait_change(self) -> None:
        """Wait until the pipe was written, read or closed."""
        await self.output_changed.wait()

    def tell(self) -> None:
        changed, self.output_changed = self.output_changed, trio.Event()
        changed.set()

    def die(self, status: int) -> None:
        """End with a status, unless it has ended."""
        if self.status is None:
            self.status = status
            self.scope.cancel()


Program = Callable[[SimulatedProcess], Awaitable[int]]


@define(eq=False)
class SimulatedChild:
    """See `protocols.Child`."""

    _world: Machine
    process: SimulatedProcess
    pid: int

    async def receive(self) -> bytes:
        await trio.lowlevel.checkpoint()
        process = self.process
        while not process.output and not process.ended.is_set():
            await process.wait_change()
        self._world.check()
        received = bytes(process.output[:_PIPE])
        del process.output[:_PIPE]
        process.tell()
        return received

    async def wait(self) -> int:
        await self.process.ended.wait()
        self._world.check()
        return self.process.status or 0

    def terminate(self) -> None:
        self._world.check()
        if self.process.catches_terminate:
            self.process.terminated.set()
        else:
            self.process.die(-signal.SIGTERM)

    def kill(self) -> None:
        self._world.check()
        self.process.die(-signal.SIGKILL)

    def close(self) -> None:
        self.kill()

    async def run(self, program: Program | None) -> None:
        """Run the program to its end."""
        process = self.process
        with process.scope:
            if program is None:
                text = f"cannot run {process.command[0]}: No such file or directory\n"
                await process.write(text.encode())
                process.status = CANNOT_RUN
            else:
                status = await program(process)
                process.status = status if process.status is None else process.status
        self._world.children.pop(process, None)
        process.ended.set()
        process.tell()


def start_child(
    world: Machine, command: Sequence[str], environment: Mapping[str, str], *, directory: str
) -> SimulatedChild:
    """See `World.start_child`."""
    process = SimulatedProcess(tuple(command), dict(environment), directory)
    world.started += 1
    child = SimulatedChild(world, process, world.started)
    world.children[process] = None
    trio.lowlevel.spawn_system_task(_run_safely, child, world.programs.get(command[0]))
    return child


async def _run_safely(child: SimulatedChild, program: Program | None) -> None:
    try:
        await child.run(program)
    except Crashed:  # the machine was switched off
        child.process.ended.set()
