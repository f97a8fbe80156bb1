"""Names whoever blocks the loop, with its stack, while it blocks.

A thread looks at the loop, at most every half of the limit while it runs, and sleeps while it
sleeps. A pass is a block when it has lasted for the limit, and the thread was seen to have the
processor, or to wait for something else, for half of it: on a busy machine, or one that stood
still, nothing is named. What holds the interpreter's lock without executing Python keeps the
watchdog from looking too: it is not named.
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
_SHORTEST_S: Final = 0.001  # of a rest
_FRAMES: Final = 16  # of a stack that are told
_SEARCHED: Final = 200  # in which the owner is looked for


class Loop(Protocol):
    """What tells of the loop's passes; `network.turn.Turn` says what each is."""

    elapsed: Callable[[], float]
    passes: int
    began: float
    waiting: bool
    on_begin: Callable[[], None] | None
    on_end: Callable[[float], None] | None


class Verdict(Enum):
    """What to do after a look; a float is: rest so many seconds."""

    SLEEP = auto()  # until a pass begins
    BLOCKED = auto()


@define(eq=False)
class Judge:
    """Decides what a look at the loop means. Pure: the looks come with their time."""

    limit_s: float
    _passes: int = field(default=-1, init=False)
    _running: bool = field(default=False, init=False)  # a pass was running at the last look
    _since: float = field(default=0.0, init=False)  # of the first look at it
    _starved_s: float = field(default=0.0, init=False)  # as it was then
    _named: bool = field(default=False, init=False)

    def sleeps(self, passes: int) -> float | Verdict:
        """The loop waits for I/O: the second time that no pass came in between, so may we."""
        still = passes == self._passes and not self._running
        self._passes, self._running = passes, False
        return Verdict.SLEEP if still else self.limit_s / 2

    def runs(self, passes: int, began: float, now: float, starved_s: float) -> float | Verdict:
        """A pass runs since `began`; starved_s: the thread's, of all its life."""
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

    where: module:line function, the innermost. owner: the plugin of the innermost `module` of the
    stack that belongs to a plugin; both are empty if none does.
    """

    task: str
    owner: str
    module: str
    where: str
    stack: str
    seconds: float


class Watchdog:
    """Of one loop. owner_of: the plugin that has a module, by the module's name; called in the
    thread. on_block: called in the loop, by a task, after each block.
    """

    def __init__(
        self,
        world: World,
        loop: Loop,
        node: Node,
        limit_s: float,
        *,
        owner_of: Callable[[str], str | None],
        on_block: Callable[[Block], None],
    ) -> None:
        self._world = world
        self._loop = loop
        self._limit_s = limit_s
        self._owner_of = owner_of
        self._on_block = on_block
        self._root: trio.lowlevel.Task | None = None
        self._named: Block | None = None  # goes on
        self._over: list[Block] = []  # to be told of
        self._told = trio.Event()
        self.blocks = 0
        self.longest_s = 0.0
        self._last: Block | None = None
        node.add("watchdog", "part", self._figures)

    async def run(
        self, *, task_status: trio.TaskStatus[None] = trio.TASK_STATUS_IGNORED
    ) -> NoReturn:
        """Watch until cancelled."""
        self._root = trio.lowlevel.current_root_task()
        token = trio.lowlevel.current_trio_token()
        async with trio.open_nursery() as nursery:
            await nursery.start(
                self._world.run_watchdog_thread, lambda thread: self._watch(thread, token)
            )
            task_status.started()
            while True:
                await self._told.wait()
                self._told = trio.Event()
                while self._over:
                    block = self._over.pop(0)
                    _logger.warning(
                        "the loop goes on",
                        task=block.task,
                        plugin=block.owner,
                        took_ms=round(block.seconds * 1e3),
                    )
                    self._on_block(block)

    # --- in the thread

    def _watch(self, thread: WatchdogThread, token: trio.lowlevel.TrioToken) -> None:
        loop, judge = self._loop, Judge(self._limit_s)
        going = True
        while going:
            passes = loop.passes
            if loop.waiting:
                verdict = judge.sleeps(passes)
            else:
                verdict = judge.runs(passes, loop.began, loop.elapsed(), thread.starved_s())
            if verdict is Verdict.SLEEP:
                loop.on_begin = thread.ring
                # A pass that began before it was set would not be told of.
                going = thread.rest(None if loop.passes == passes else _SHORTEST_S)
            elif verdict is Verdict.BLOCKED:
                self._name(thread, passes)
            else:
                going = thread.rest(verdict)
            if self._over:
                token.run_sync_soon(self._tell)

    def _name(self, thread: WatchdogThread, passes: int) -> None:
        """Tell who blocks now."""
        loop = self._loop
        block = self._named = self._look(thread.frame(), loop.elapsed() - loop.began)

        def over(seconds: float) -> None:
            self._end(seconds)
            thread.ring()

        loop.on_end = over
        _logger.error(
            "the loop is blocked",
            task=block.task,
            plugin=block.owner,
            stack=block.stack,
            since_ms=round(block.seconds * 1e3),
        )
        if loop.passes != passes or loop.waiting:  # it ended before it could be told to tell
            loop.on_end = None
            self._end(0.0)

    def _look(self, frame: FrameType | None, seconds: float) -> Block:
        """Who executes what now; keeps no frame."""
        # An import puts many frames of its own between a plugin's modules.
        frames = list(islice(_frames(frame), _SEARCHED))
        modules = [str(one.f_globals.get("__name__")) for one in frames]
        owned = ((owner, one) for one in modules if (owner := self._owner_of(one)))
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
        """The pass is over. A hook of the loop's: counts, and leaves the telling to a task."""
        named, self._named = self._named, None
        if named is None:
            return
        block = self._last = evolve(named, seconds=max(seconds, named.seconds))
        self.blocks += 1
        self.longest_s = max(self.longest_s, block.seconds)
        self._over.append(block)

    def _tell(self) -> None:
        self._told.set()

    def _figures(self) -> Figures:
        last = self._last
        return {
            "limit_ms": self._limit_s * 1e3,
            "blocks": self.blocks,
            "longest_ms": self.longest_s * 1e3,
            "last_ms": None if last is None else last.seconds * 1e3,
            "last_task": None if last is None else last.task,
            "last_plugin": None if last is None else last.owner,
            "last_where": None if last is None else last.where,
        }


def _frames(frame: FrameType | None) -> Iterator[FrameType]:
    """The innermost first, up to where Trio runs a task."""
    while frame is not None and frame.f_code.co_name != "unrolled_run":
        yield frame
        frame = frame.f_back


def _show(frame: FrameType) -> str:
    name = frame.f_globals.get("__name__", "?")
    return f"{name}:{frame.f_lineno} {frame.f_code.co_qualname}"


def _running_task(root: trio.lowlevel.Task | None) -> str:
    """The name of the task whose coroutine runs now; none where Trio itself does."""
    below = [] if root is None else [root]
    while below:
        task = below.pop()
        if getattr(task.coro, "cr_running", False):
            return task.name
        below += [child for nursery in task.child_nurseries for child in nursery.child_tasks]
    return ""
