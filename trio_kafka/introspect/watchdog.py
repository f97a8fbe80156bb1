"""Watchdog: logs the task that blocks the loop, with its stack, while it blocks.

A thread checks the loop at least every half of the limit while the loop runs, and sleeps while it
sleeps. A pass blocks when it has lasted for the limit, and the thread of the loop was not starved
of a processor for more than half of it; so nothing is reported on a busy or suspended machine. C
code that holds the interpreter's lock stops the watchdog thread, too, and is not found.
"""

from collections.abc import Callable, Iterator
from enum import Enum, auto
from itertools import islice
from types import FrameType
from typing import Final, NoReturn, Protocol

import trio
from attrs import evolve, field

from trio_kafka.attributes import define, frozen
from trio_kafka.introspect.log import get_logger
from trio_kafka.introspect.tree import Figures, Node
from trio_kafka.world.world import WatchdogThread, World

_logger: Final = get_logger(__name__)
_SHORTEST_S: Final = 0.001  # shortest rest
_FRAMES: Final = 16  # of a stack that are logged
_SEARCHED: Final = 200  # frames that are searched for a plugin


class Loop(Protocol):
    """Passes of the loop, as `scheduling.loop_budget.LoopBudget` describes them."""

    elapsed: Callable[[], float]
    passes: int
    began: float
    waiting: bool
    on_begin: Callable[[], None] | None
    on_end: Callable[[float], None] | None


class Verdict(Enum):
    """Next action after a check; a number instead: rest so many seconds."""

    SLEEP = auto()  # rest until a pass begins
    BLOCKED = auto()


@define(eq=False)
class Judge:
    """Decides what a check of the loop means. Pure: checks carry their time."""

    limit_s: float
    _passes: int = field(default=-1, init=False)
    _running: bool = field(default=False, init=False)  # a pass was running at the last check
    _since: float = field(default=0.0, init=False)  # first check of this pass
    _starved_s: float = field(default=0.0, init=False)  # at that check
    _named: bool = field(default=False, init=False)

    def sleeps(self, passes: int) -> float | Verdict:
        """Judge a loop that waits for I/O: sleep at the second check without a pass in between."""
        still = passes == self._passes and not self._running
        self._passes, self._running = passes, False
        return Verdict.SLEEP if still else self.limit_s / 2

    def runs(self, passes: int, began: float, now: float, *, starved_s: float) -> float | Verdict:
        """Judge a pass that began at `began`. starved_s: of the loop's thread since its start."""
        if not self._running or passes != self._passes:
            self._passes, self._running, self._named = passes, True, False
            self._since, self._starved_s = now, starved_s
        if self._named:
            return self.limit_s / 2
        half_s = self.limit_s / 2
        held_s = now - self._since - (starved_s - self._starved_s)
        left_s = max(self.limit_s - (now - began), half_s - held_s)
        if left_s <= 0:
            self._named = True
            return Verdict.BLOCKED
        return min(max(left_s, _SHORTEST_S), half_s)


@frozen(kw_only=True)
class Block:
    """One block of the loop.

    where: module:line function of the innermost frame. module, owner: innermost module of the stack
    that belongs to a plugin, and that plugin; empty if there is none.
    """

    task: str
    owner: str
    module: str
    where: str
    stack: str
    seconds: float


@define(eq=False, kw_only=True)
class Watchdog:
    """Watchdog of one loop.

    owner_of: returns the plugin of a module, by name; called in the watchdog thread.
    on_block: called by a task of the loop after each block.
    """

    _world: World
    _loop: Loop
    _node: Node
    _limit_s: float
    _owner_of: Callable[[str], str | None] = field(kw_only=True)
    _on_block: Callable[[Block], None] = field(kw_only=True)
    blocks: int = field(default=0, init=False)
    longest_s: float = field(default=0.0, init=False)
    _root: trio.lowlevel.Task | None = field(default=None, init=False)
    _named: Block | None = field(default=None, init=False)  # that lasts
    _ended: list[Block] = field(factory=list, init=False)  # not reported yet
    _reported: trio.Event = field(factory=trio.Event, init=False)
    _last: Block | None = field(default=None, init=False)
    _last_at: float = field(default=0.0, init=False)  # end of that block, on the clock of the loop

    def __attrs_post_init__(self) -> None:
        self._node.add("watchdog", "part", self._figures)

    async def run(
        self, *, task_status: trio.TaskStatus[None] = trio.TASK_STATUS_IGNORED
    ) -> NoReturn:
        """Watch the loop until cancelled."""
        self._root = trio.lowlevel.current_root_task()
        token = trio.lowlevel.current_trio_token()
        async with trio.open_nursery() as nursery:
            await nursery.start(
                self._world.run_watchdog_thread, lambda thread: self._watch(thread, token)
            )
            task_status.started()
            while True:
                await self._reported.wait()
                self._reported = trio.Event()
                while self._ended:
                    block = self._ended.pop(0)
                    _logger.warning(
                        "loop unblocked",
                        task=block.task,
                        plugin=block.owner,
                        took_ms=round(block.seconds * 1e3),
                    )
                    self._on_block(block)

    # --- in the watchdog thread

    def _watch(self, thread: WatchdogThread, token: trio.lowlevel.TrioToken) -> None:
        loop, judge = self._loop, Judge(self._limit_s)
        going = True
        while going:
            passes = loop.passes
            if loop.waiting:
                verdict = judge.sleeps(passes)
            else:
                verdict = judge.runs(
                    passes, loop.began, loop.elapsed(), starved_s=thread.starved_s()
                )
            if verdict is Verdict.SLEEP:
                loop.on_begin = thread.ring
                # A pass that began before `on_begin` was set is not noticed.
                going = thread.rest(None if loop.passes == passes else _SHORTEST_S)
            elif verdict is Verdict.BLOCKED:
                self._name(thread, passes)
            else:
                going = thread.rest(verdict)
            if self._ended:
                token.run_sync_soon(self._report)

    def _name(self, thread: WatchdogThread, passes: int) -> None:
        """Log the task that blocks now."""
        loop = self._loop
        block = self._named = self._look(thread.frame(), loop.elapsed() - loop.began)

        def over(seconds: float) -> None:
            self._end(seconds)
            thread.ring()

        loop.on_end = over
        _logger.error(
            "loop blocked",
            task=block.task,
            plugin=block.owner,
            stack=block.stack,
            since_ms=round(block.seconds * 1e3),
        )
        if loop.passes != passes or loop.waiting:  # the pass ended before `on_end` was set
            loop.on_end = None
            self._end(0.0)

    def _look(self, frame: FrameType | None, seconds: float) -> Block:
        """Describe the running task; keeps no frame."""
        # An import puts many frames between the modules of a plugin.
        frames = list(islice(_frames(frame), _SEARCHED))
        modules = [str(caller.f_globals.get("__name__")) for caller in frames]
        owned = ((owner, module) for module in modules if (owner := self._owner_of(module)))
        owner, module = next(owned, ("", ""))
        frames = frames[:_FRAMES]
        return Block(
            task=_running_task(self._root),
            owner=owner,
            module=module,
            where=_show(frames[0]) if frames else "",
            stack=" < ".join(map(_show, frames)),
            seconds=seconds,
        )

    # --- in the loop

    def _end(self, seconds: float) -> None:
        """Count the block that has ended; a task reports it. Called in a hook of the loop."""
        named, self._named = self._named, None
        if named is None:
            return
        block = self._last = evolve(named, seconds=max(seconds, named.seconds))
        self._last_at = self._loop.elapsed()
        self.blocks += 1
        self.longest_s = max(self.longest_s, block.seconds)
        self._ended.append(block)

    def _report(self) -> None:
        self._reported.set()

    def _figures(self) -> Figures:
        last = self._last
        return {
            "limit_ms": self._limit_s * 1e3,
            "blocks": self.blocks,
            "longest_ms": self.longest_s * 1e3,
            "last_ms": None if last is None else last.seconds * 1e3,
            "last_ago_s": None if last is None else self._loop.elapsed() - self._last_at,
            "last_task": None if last is None else last.task,
            "last_plugin": None if last is None else last.owner,
            "last_where": None if last is None else last.where,
        }


def _frames(frame: FrameType | None) -> Iterator[FrameType]:
    """Yield frames, the innermost first, up to Trio's run loop."""
    while frame is not None and frame.f_code.co_name != "unrolled_run":
        yield frame
        frame = frame.f_back


def _show(frame: FrameType) -> str:
    name = frame.f_globals.get("__name__", "?")
    return f"{name}:{frame.f_lineno} {frame.f_code.co_qualname}"


def _running_task(root: trio.lowlevel.Task | None) -> str:
    """Return the name of the task that runs now; empty if it is Trio itself."""
    below = [] if root is None else [root]
    while below:
        task = below.pop()
        if getattr(task.coro, "cr_running", False):
            return task.name
        below += [child for nursery in task.child_nurseries for child in nursery.child_tasks]
    return ""
