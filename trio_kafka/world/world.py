"""World: the only access to the machine: clock, network, disk, randomness, threads, processes."""

from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from random import Random
from types import FrameType
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias, TypeVar, TypeVarTuple

from trio_kafka.world.descriptors import Descriptors
from trio_kafka.world.protocols import Child, Clock, Directory, Network

if TYPE_CHECKING:
    import trio

T = TypeVar("T")
Ts = TypeVarTuple("Ts")
# See `World.run_in_process`. Any: a Directory that can only list, open and create files.
Job: TypeAlias = Callable[[Any, *Ts], Generator[float | None, None, T]]


class Crashed(BaseException):
    """A simulated machine is off.

    The broker never catches it, so no clean-up acts on the world.
    """


class WorkerLostError(Exception):
    """Raised if a worker process ended before its job, such as after `kill -9`."""


class WatchdogThread(Protocol):
    """A thread's view of the thread that runs the loop."""

    def rest(self, seconds: float | None) -> bool:
        """Sleep in the watchdog thread, until `ring` at most. False: the thread must end.

        seconds: None: until `ring`.
        """

    @property
    def ring(self) -> Callable[[], None]:
        """Wakes `rest`, also if it begins later. Call it in the loop; never waits or raises."""

    def frame(self) -> FrameType | None:
        """Return the frame that the thread of the loop executes now."""

    def starved_s(self) -> float:
        """Return how long the thread of the loop has been runnable without a processor."""


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
        """True if no thread and no process runs, and there are no descriptors."""

    def directory(self, path: str, *, create: bool = False, threads: int = 4) -> Directory:
        """Open a directory. At most `threads` work at once on all that is opened through it.

        create: make the missing parts of the path, durably.
        Raises FileNotFoundError, NotADirectoryError.
        """

    def absolute_path(self, path: str) -> str:
        """Return the whole path, from the root on."""

    async def run_in_thread(self, call: Callable[[*Ts], T], *args: *Ts) -> T:
        """Run a call that waits, or works without the interpreter's lock. Shielded.

        Python code in a thread takes time from the loop: the two never run at once.
        """

    async def run_beside(self, call: Callable[[*Ts], T], *args: *Ts) -> T:
        """Run Python code that takes long and cannot pause, in a thread.

        The thread gives the interpreter's lock back to the loop soon, but not within one call of C
        code. Cancelling abandons the thread.
        """

    async def run_watchdog_thread(
        self, watch: Callable[[WatchdogThread], None], *, task_status: "trio.TaskStatus[None]"
    ) -> None:
        """Run `watch` in its own thread until cancelled; started when it runs.

        `watch` returns when `rest` returns False. The clock does not wait for this thread.
        Simulated: `watch` is never called.
        """

    @property
    def has_processes(self) -> bool:
        """True if `run_in_process` uses a process, which needs the extra `[workers]`."""

    async def run_in_process(
        self,
        job: Job[*Ts, T],
        path: str,
        *args: *Ts,
    ) -> T:
        """Run `job(directory, *args)` in a process; killed when cancelled.

        The job is a generator that yields at least once a millisecond; `try_read` may block in it.
        A number that it yields is the time at which it goes on, in seconds since its start.
        It reads sealed files and writes new ones under temporary names; its caller renames them.
        `directory` can list, open and create files. It stays the one that has `path` when this is
            called, also if it is renamed and another one gets its name. FileNotFoundError if that
            happens before the process has opened it.
        Raises WorkerLostError if the process was killed, ImportError without the extra `workers`.
        """

    def kept_workers(self) -> AbstractAsyncContextManager[None]:
        """Use worker processes again for later jobs of the block; they end with it.

        Raises ImportError as `run_in_process`.
        """

    async def start_child(
        self, command: Sequence[str], *, environment: Mapping[str, str], directory: str
    ) -> Child:
        """Start a program; the caller kills it. Raises OSError if no process could be made.

        environment: added to that of this process, whose PATH begins with the directory of its
            interpreter. directory: where the program runs.
        Simulated: runs the test's function for the first word of the command.
        """
