"""The only door to the machine: clock, network, disk, chance, threads and processes."""

from collections.abc import Callable, Generator, Mapping, Sequence
from random import Random
from types import FrameType
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

from trio_kafka.world.descriptors import Descriptors
from trio_kafka.world.protocols import Child, Clock, Directory, Network

if TYPE_CHECKING:
    import trio

T = TypeVar("T")


class Crashed(BaseException):
    """Simulated only: this machine is off.

    Never caught by the broker, so no clean-up can act on the world.
    """


class Sentry(Protocol):
    """What a thread has that watches the thread of the loop."""

    def rest(self, seconds: float | None) -> bool:
        """In the thread: sleep so long (None: for ever) or until `ring`. False: it is to end."""

    @property
    def ring(self) -> Callable[[], None]:
        """In the loop: let `rest` return, also when it has not begun yet. Never waits or raises."""

    def frame(self) -> FrameType | None:
        """What the loop's thread executes now."""

    def starved_s(self) -> float:
        """Seconds of its life in which the loop's thread could run and had no processor."""


class World(Protocol):
    """One machine in one life."""

    @property
    def clock(self) -> Clock: ...
    @property
    def network(self) -> Network: ...
    @property
    def descriptors(self) -> Descriptors: ...
    @property
    def random(self) -> Random: ...
    @property
    def random_bytes(self) -> Callable[[int], bytes]: ...
    @property
    def simulated(self) -> bool:
        """No thread and no process runs, and there is nothing to hand a descriptor to."""

    def buffer(self, size: int) -> memoryview:
        """Writable zeroed memory whose pages cost when they are written."""

    def discard(self, buffer: memoryview) -> None:
        """Give the memory of a `buffer` back, also while views of it are left: it reads as zeros.

        Takes 0.1 ms/MB, for a thread: other threads run in between.
        """

    def directory(self, path: str, *, create: bool = False, threads: int = 4) -> Directory:
        """A directory of the machine; at most `threads` work at once on all opened through it.

        `create` makes what is missing of the path, durably. FileNotFoundError, NotADirectoryError.
        """

    async def run_in_thread(self, call: Callable[..., T], *args: Any) -> T:
        """What waits, or works without the interpreter's lock; shielded, never abandoned.

        Python in a thread is the loop's time: the two never run at once.
        """

    async def run_beside(self, call: Callable[..., T], *args: Any) -> T:
        """Python that works for long and cannot pause, in a thread that gives the interpreter's
        lock back to the loop soon, if not within one call of what is written in C.

        It can be cancelled: the thread goes on then, and nobody hears of its end.
        """

    async def run_sentry(
        self, watch: Callable[[Sentry], None], *, task_status: "trio.TaskStatus[None]"
    ) -> None:
        """Run `watch` in a thread of its own until cancelled; it ends when `rest` says so. Started
        when it runs.

        Time does not wait for it (see `clock`). Simulated: there is nothing to watch, and it is
        never called.
        """

    async def run_in_process(
        self, job: Callable[..., Generator[None, None, T]], path: str, *args: Any
    ) -> T:
        """Run `job(directory, *args)` where it holds up nobody; killed when cancelled.

        The job is a generator that yields at least once a millisecond; `try_read` may block in it.
        It reads sealed files and writes new ones under names of this start; its caller renames.
        """

    async def start_child(
        self, command: Sequence[str], *, environment: Mapping[str, str], directory: str
    ) -> Child:
        """Start a program; the caller kills it. OSError: no process could be made.

        environment: added to that of this process, whose PATH begins with the directory of its
            interpreter. directory: where the program runs.
        Simulated: the test's function for the first word of the command.
        """
