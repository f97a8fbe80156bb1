"""How long the loop ran between two waits, and who of that was us.

Wall time alone would blame the broker for a busy machine. Of a turn, the kernel tells what the
loop's thread ran and how long it stood in line for a core; what is left it waited, in a system call
or for the interpreter. A thread that has the interpreter's lock and stands in line for a core keeps
the loop waiting as well: that is the machine's, too.
"""

import gc
import os
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Final

import trio
from attrs import define, field, frozen

LONG_S: Final = 0.005
NEAR_S: Final = 0.025
NOISE: Final = 5000  # turns among which one may have taken NEAR_S, see `held`


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
    """One turn. ran_s: of the thread; waited_s: neither running nor in line for a core, nor
    explained by other threads that were; collected_s: of ran_s, in the garbage collector.

    step: the task whose step took the longest of it, how long, and where that step ended.
    """

    took_s: float
    ran_s: float
    waited_s: float
    collected_s: float
    step: str
    step_s: float

    @property
    def ran_long(self) -> bool:
        """What the garbage collector ran is the test process's: a broker freezes what is old."""
        return self.ran_s - self.collected_s > LONG_S

    @property
    def waited_long(self) -> bool:
        """A call of ours waited; for the interpreter it may wait as long as that lets a thread run,
        which has just come back from its own call.
        """
        return self.waited_s > LONG_S + sys.getswitchinterval()

    @property
    def is_near(self) -> bool:
        """It ran and waited for no longer than a host may have taken."""
        return max(self.ran_s - self.collected_s, self.waited_s) < NEAR_S

    def is_of(self, client: str) -> bool:
        """Most of it was one step of that task."""
        mine = self.step == client or self.step.startswith(f"{client}, ")
        return mine and self.step_s > self.took_s / 2

    def __str__(self) -> str:
        return (
            f"{self.took_s * 1e3:.1f} ms (ran {self.ran_s * 1e3:.1f},"
            f" waited {self.waited_s * 1e3:.1f}, collected {self.collected_s * 1e3:.1f}),"
            f" {self.step_s * 1e3:.1f} in {self.step}"
        )


@define(eq=False)
class Turns(trio.abc.Instrument):
    """The turns that took longer than LONG_S. `watching` runs a block with one.

    client: the name of a task that is not the broker's. ended: nothing counts any more.
    """

    client: str = ""
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
    _step: str = field(default="", init=False)
    _step_s: float = field(default=0.0, init=False)

    @property
    def ours(self) -> list[LongTurn]:
        """Those that neither a busy machine nor a client of the test explains."""
        return [
            turn
            for turn in self.long
            if (turn.ran_long or turn.waited_long) and not turn.is_of(self.client)
        ]

    def held(self, *, may_wait: bool = False) -> list[LongTurn]:
        """Those of ours that nothing excuses.

        On a virtual machine the time that its host takes is charged to whoever had the core: work
        of 0.4 ms is said to have run for 8 now and then. Twice in 10,000 turns is no fault of ours,
        and a fault of ours comes back.
        """
        ours = [turn for turn in self.ours if turn.ran_long or not may_wait]
        far = [turn for turn in ours if not turn.is_near]
        return ours if far or len(ours) > 1 + self.count // NOISE else []

    def close(self) -> None:
        self._lines.close()

    def collecting(self, phase: str, _info: object) -> None:
        """For gc.callbacks."""
        self._collected += -time.thread_time() if phase == "start" else time.thread_time()

    def after_io_wait(self, timeout: float) -> None:
        self._step_s = 0.0
        self._collected = 0.0
        self._others_in_line = self._lines.others()
        self._in_line = self._lines.own()
        self._ran = time.thread_time()
        self._began = time.perf_counter()

    def before_task_step(self, task: trio.lowlevel.Task) -> None:
        self._step_began = time.perf_counter()

    def after_task_step(self, task: trio.lowlevel.Task) -> None:
        took = time.perf_counter() - self._step_began
        if took > self._step_s:
            self._step, self._step_s = task.name, took
            if took > LONG_S:
                self._step = f"{task.name}, until {_where(task)}"

    def before_io_wait(self, timeout: float) -> None:
        took = time.perf_counter() - self._began
        if self.ended:
            return
        self.count += 1
        if not self._began or took <= LONG_S:
            return
        ran = time.thread_time() - self._ran
        in_line = self._lines.own() - self._in_line
        others = self._lines.others() - self._others_in_line
        self.long.append(
            LongTurn(
                took_s=took,
                ran_s=ran,
                waited_s=max(took - ran - in_line - max(others, 0.0), 0.0),
                collected_s=self._collected,
                step=self._step,
                step_s=self._step_s,
            )
        )


def _where(task: trio.lowlevel.Task) -> str:
    """Where a task waits now: the innermost place of ours."""
    found = "its end"
    for frame, line in task.iter_await_frames():
        if "trio_kafka" in frame.f_code.co_filename:
            found = f"{os.path.basename(frame.f_code.co_filename)}:{line} {frame.f_code.co_name}"
    return found


@contextmanager
def watching(client: str) -> Iterator[Turns]:
    """The turns of the loop while the block runs."""
    turns = Turns(client)
    trio.lowlevel.add_instrument(turns)
    gc.callbacks.append(turns.collecting)
    try:
        yield turns
    finally:
        gc.callbacks.remove(turns.collecting)
        trio.lowlevel.remove_instrument(turns)
        turns.close()
