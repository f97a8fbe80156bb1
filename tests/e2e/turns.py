"""How long the loop ran between two waits, and who of that was us.

Wall time alone would blame the broker for a busy machine. Of a turn, the kernel tells what the
loop's thread ran and how long it stood in line for a core; what is left it waited, in a system call
or for the interpreter. A thread that has the interpreter's lock and stands in line for a core keeps
the loop waiting as well: that is the machine's, too. The interpreter goes from thread to thread
every half a millisecond meanwhile: so who waits longer for it waits for a call that keeps it.

What the host of a virtual machine takes is charged to whoever had the core: work of 0.4 ms is said
to have run for 8 now and then. It does not come back at the same place each time; a fault of ours
does. So a job is run again, and fails by what is long every time: see `held_by_nobody`. A job of
half a minute meets the host at its busiest place each time: there it fails by what is long more
often than the host is met, which a fault in each of its hundreds of repetitions is.
"""

import functools
import gc
import os
import sys
import time
from collections import Counter
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from pathlib import Path
from typing import Final

import trio
from attrs import define, field, frozen

LONG_S: Final = 0.005
ATTEMPTS: Final = 5
_SWITCH_S: Final = 0.0005
_SOON_S: Final = 10.0  # a job that takes no longer meets the host nowhere twice
_HOST_A_S: Final = 0.5  # how often others do, at most; a quarter was seen


class _Lines:
    """How long this thread, and the process's others, have stood in line for a core. Seconds."""

    def __init__(self) -> None:
        self._own = os.open("/proc/thread-self/schedstat", os.O_RDONLY | os.O_CLOEXEC)
        self._others: dict[str, int] = {}

    def own(self) -> float:
        return _in_line(self._own)

    def others(self) -> float:
        """Of threads that ended meanwhile nothing is known."""
        mine = os.path.basename(os.readlink("/proc/thread-self"))
        there = {name for name in os.listdir("/proc/self/task") if name != mine}
        for name in there - self._others.keys():
            with suppress(OSError):
                path = f"/proc/self/task/{name}/schedstat"
                self._others[name] = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
        for name in self._others.keys() - there:
            os.close(self._others.pop(name))
        total = 0.0
        for key in self._others.values():
            with suppress(OSError):
                total += _in_line(key)
        return total

    def close(self) -> None:
        for key in (self._own, *self._others.values()):
            os.close(key)


def _in_line(key: int) -> float:
    return int(os.pread(key, 100, 0).split()[1]) / 1e9


@frozen(kw_only=True)
class LongTurn:
    """One turn, without the steps of the test's client. ran_s: of the thread; waited_s: neither
    running nor in line for a core, nor explained by other threads that were; collected_s: of ran_s,
    in the garbage collector.

    task, until: whose step took the longest of it, and where that step ended; step_s: how long;
    step_ran_s: of that the thread ran. bound_s: what it may take.
    """

    took_s: float
    ran_s: float
    waited_s: float
    collected_s: float
    task: str
    until: str
    step_s: float
    step_ran_s: float
    bound_s: float = LONG_S

    @property
    def ran_long(self) -> bool:
        return self.ran_s > self.bound_s

    @property
    def waited_long(self) -> bool:
        """A call of ours waited, or a thread of ours kept the interpreter."""
        return self.waited_s > self.bound_s + _SWITCH_S

    @property
    def place(self) -> tuple[str, str]:
        """Task and end of the turn: the same each time that it happens."""
        return self.task, self.until

    def __str__(self) -> str:
        return (
            f"{self.took_s * 1e3:.1f} ms (ran {self.ran_s * 1e3:.1f},"
            f" waited {self.waited_s * 1e3:.1f}, collected {self.collected_s * 1e3:.1f}),"
            f" {self.step_s * 1e3:.1f} (ran {self.step_ran_s * 1e3:.1f}) in {self.task},"
            f" until {self.until}"
        )


@define(eq=False)
class Turns(trio.abc.Instrument):
    """The turns that took longer than `bound_s`. `watching` runs a block with one.

    client: the name of a task that is not the broker's. ended: nothing counts any more.
    """

    client: str = ""
    bound_s: float = LONG_S
    ended: bool = field(default=False, init=False)
    long: list[LongTurn] = field(factory=list, init=False)
    count: int = field(default=0, init=False)
    _lines: _Lines = field(factory=_Lines, init=False)
    _others_in_line: float = field(default=0.0, init=False)
    _collected: float = field(default=0.0, init=False)
    _began: float = field(default=0.0, init=False)
    _ran: float = field(default=0.0, init=False)
    _in_line: float = field(default=0.0, init=False)
    _step_began: float = field(default=0.0, init=False)
    _step_ran: float = field(default=0.0, init=False)
    _longest: tuple[float, float, str, str] = field(default=(0.0, 0.0, "", ""), init=False)

    def held(self, *, may_wait: bool = False) -> list[LongTurn]:
        """Those that neither a busy machine nor a client of the test explains."""
        return [turn for turn in self.long if turn.ran_long or (turn.waited_long and not may_wait)]

    def close(self) -> None:
        self._lines.close()

    def collecting(self, phase: str, _info: object) -> None:
        """For gc.callbacks."""
        self._collected += -time.thread_time() if phase == "start" else time.thread_time()

    def after_io_wait(self, timeout: float) -> None:
        self._longest = (0.0, 0.0, "", "")
        self._collected = 0.0
        self._others_in_line = self._lines.others()
        self._in_line = self._lines.own()
        self._ran = time.thread_time()
        self._began = time.perf_counter()

    def before_task_step(self, task: trio.lowlevel.Task) -> None:
        self._step_ran = time.thread_time()
        self._step_began = time.perf_counter()

    def after_task_step(self, task: trio.lowlevel.Task) -> None:
        took = time.perf_counter() - self._step_began
        ran = time.thread_time() - self._step_ran
        if task.name == self.client:
            self._began += took
            self._ran += ran
        elif took > self._longest[0]:
            self._longest = (took, ran, task.name, _where(task) if took > self.bound_s / 2 else "")

    def before_io_wait(self, timeout: float) -> None:
        took = time.perf_counter() - self._began
        if self.ended:
            return
        self.count += 1
        if not self._began or took <= self.bound_s:
            return
        ran = time.thread_time() - self._ran
        in_line = self._lines.own() - self._in_line
        others = self._lines.others() - self._others_in_line
        step_s, step_ran_s, task, until = self._longest
        self.long.append(
            LongTurn(
                took_s=took,
                ran_s=ran,
                waited_s=max(took - ran - in_line - max(others, 0.0), 0.0),
                collected_s=self._collected,
                task=task,
                until=until,
                step_s=step_s,
                step_ran_s=step_ran_s,
                bound_s=self.bound_s,
            )
        )


def _where(task: trio.lowlevel.Task) -> str:
    """Where a task waits now: the innermost place of ours."""
    result = "its end"
    for frame, line in task.iter_await_frames():
        if "trio_kafka" in frame.f_code.co_filename:
            result = f"{os.path.basename(frame.f_code.co_filename)}:{line} {frame.f_code.co_name}"
    return result


@contextmanager
def watching(client: str, bound_s: float = LONG_S) -> Iterator[Turns]:
    """The turns of the loop while the block runs."""
    turns, interval = Turns(client, bound_s), sys.getswitchinterval()
    trio.lowlevel.add_instrument(turns)
    gc.callbacks.append(turns.collecting)
    sys.setswitchinterval(_SWITCH_S)
    try:
        yield turns
    finally:
        sys.setswitchinterval(interval)
        gc.callbacks.remove(turns.collecting)
        trio.lowlevel.remove_instrument(turns)
        turns.close()


_held: ContextVar[list[LongTurn]] = ContextVar("_held")


def blame(turns: list[LongTurn]) -> None:
    """Say in a job of `held_by_nobody` what held the loop."""
    _held.get().extend(turns)


def _ours(turns: list[LongTurn], took_s: float) -> set[tuple[str, str]]:
    """Places that were held more often than a machine's host does in a job of this length."""
    host = max(took_s - _SOON_S, 0.0) * _HOST_A_S
    often = Counter(turn.place for turn in turns)
    return {place for place, count in often.items() if count > host}


def held_by_nobody(job: Callable[..., Awaitable[None]]) -> Callable[..., Awaitable[None]]:
    """A test of a job that holds up nobody: run again while something held the loop, at most
    ATTEMPTS times. AssertionError for what did at the same place each time.

    Each run has a directory of its own in `tmp_path`.
    """

    @functools.wraps(job)
    async def run(tmp_path: Path, **more: object) -> None:
        runs: list[list[LongTurn]] = []
        places: list[set[tuple[str, str]]] = []  # of each run
        for number in range(ATTEMPTS):
            runs.append([])
            path = tmp_path / str(number)
            path.mkdir()
            token = _held.set(runs[-1])
            began = time.perf_counter()
            try:
                await job(path, **more)
            finally:
                _held.reset(token)
            places.append(_ours(runs[-1], time.perf_counter() - began))
            each_time = set.intersection(*places)
            if not each_time:
                return
        lines = [str(turn) for run in runs for turn in run if turn.place in each_time]
        raise AssertionError("\n".join(lines))

    return run
