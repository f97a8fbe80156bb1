"""One run of a plugin, from its start to the end of its last task.

Three tasks: `run` answers for all of it and lets nothing out but cancellation; in a nursery of its
own there is one that enters the plugin's block and leaves it when it is told to, and one that holds
the plugin's nursery. So a task of the plugin's that fails does not cut off its block: the block is
left in order. What does not end when it is cancelled is left behind, and named.
"""

from collections.abc import Callable
from contextlib import AbstractAsyncContextManager, suppress
from inspect import iscoroutine
from math import inf
from typing import Any, Final, cast

import trio

from trio_kafka.errors import only_leaf
from trio_kafka.introspect.limiter import open_limiter
from trio_kafka.introspect.log import get_logger
from trio_kafka.introspect.tree import Figures, Node
from trio_kafka.plugin_host.context import PluginContext
from trio_kafka.plugin_host.contributions import Contributions
from trio_kafka.plugin_host.declared import Plugin
from trio_kafka.plugin_host.guard import InHand, PluginError
from trio_kafka.plugin_host.importing import Imported
from trio_kafka.plugin_host.life import Life, State
from trio_kafka.plugin_host.settings import Settings
from trio_kafka.plugin_host.site import HostSite
from trio_kafka.requests.failures import is_cancelled, split_cancelled

_logger: Final = get_logger(__name__)
GRACE_S: Final = 1.0  # from its cancellation until a plugin is left behind
# A nursery takes every Cancelled for its own, also one that a task has kept and raises again.
_CANCELLED: Final = "it cancelled its nursery, or a task raised a Cancelled of its own"
_WINDOW_S: Final = 60.0  # in which failed requests are counted


class Generation:
    """The `number`th time that a plugin was begun.

    told: of its failure, once, if it was ready before. imported: given back when it has ended.
    instead: whose place its contributions take.
    """

    def __init__(
        self,
        plugin: Plugin,
        number: int,
        *,
        settings: Settings,
        site: HostSite,
        node: Node,
        told: "Callable[[Generation], None]",
        imported: Imported | None,
        instead: Contributions | None,
    ) -> None:
        host = settings.host
        self.name = plugin.name
        self.number = number
        self.settings = settings
        self.in_hand = InHand()
        self.ended = trio.Event()
        self.failure: BaseException | None = None
        self.deadline_s = host.deadline_ms / 1000 or inf
        self.life = Life(site.world.clock.wall, self._tell)
        self.life.go(State.VALIDATED)
        self.failures = 0
        self.node = node.add(f"generation-{number}", "nursery", self._figures)
        self.limiter = open_limiter(host.limit, self.node, "limit") if host.limit else None
        self.contributions = Contributions(self, site, closed=plugin.closed)
        self.settled = trio.Event()
        self._plugin = plugin
        self._told = told
        self._imported = imported
        self._instead = instead
        if imported is not None:
            imported.users += 1
        self._block: trio.Nursery | None = None
        self._stop = trio.Event()
        # The outer one of each pair cancels; the inner one keeps that from those left behind.
        self._scope, self._quiet = trio.CancelScope(), trio.CancelScope()
        self._end_tasks, self._quiet_tasks = trio.CancelScope(), trio.CancelScope()
        self._window: tuple[float, int] = (0.0, 0)

    # --- its life

    async def run(self, ready: Callable[[], None]) -> None:
        """Until it has ended. `settled` when it is ready, or has ended without having been.

        ready: called when its contributions are in their place.
        """
        self.life.go(State.STARTING)
        self._scope.deadline = trio.current_time() + self.settings.host.start_ms / 1000
        try:
            with self._scope, self._quiet:
                async with trio.open_nursery() as block:
                    self._block = block
                    block.start_soon(self._live, block, ready, name=self.name)
        except BaseException as error:  # noqa: BLE001 - whatever it raises ends here
            self._note(error)
        finally:
            self._end()
        await trio.lowlevel.checkpoint_if_cancelled()

    async def _live(self, block: trio.Nursery, ready: Callable[[], None]) -> None:
        plugin = self._plugin
        tasks = await block.start(self._hold_tasks, name=f"{self.name} tasks")
        made: object = plugin.run(self._make_context(tasks))
        if iscoroutine(made):
            made.close()
            raise TypeError(
                "want an async context manager, not a coroutine: add @asynccontextmanager"
            )
        async with cast("AbstractAsyncContextManager[None]", made):
            if self.failure is None:
                self.contributions.go_live(self._instead)
                self._instead = None  # nothing of an older generation is kept
                self._scope.deadline = inf
                self.life.go(State.READY)
                ready()
                self.settled.set()
            await self._stop.wait()
        self._end_tasks.cancel()
        strays = [task.name for task in block.child_tasks if task.name not in self._own_tasks]
        if strays:
            self.fail(f"it left tasks in a nursery not its own: {', '.join(strays)}")
            self._scope.cancel()

    async def _hold_tasks(self, *, task_status: trio.TaskStatus[trio.Nursery]) -> None:
        try:
            with self._end_tasks, self._quiet_tasks:
                async with trio.open_nursery() as nursery:
                    task_status.started(nursery)
                    # Told on below: an error here would cancel the nursery, inside of what keeps
                    # cancellation from tasks that are left behind.
                    with suppress(trio.Cancelled):
                        await trio.sleep_forever()
        except BaseException as error:  # noqa: BLE001 - the block is left in order all the same
            self._note(error)
        if not (self._stop.is_set() or self.life.over or is_cancelled()):
            self.fail(_CANCELLED)
        await trio.lowlevel.checkpoint_if_cancelled()

    def _make_context(self, tasks: trio.Nursery) -> PluginContext[Any]:
        return PluginContext(
            name=self.name,
            settings=self.settings.own,
            contributions=self.contributions,
            nursery=tasks,
            node=self.node,
            logger=get_logger(f"trio_kafka.plugin.{self.name}"),
            order=self.settings.host.order,
            versions=self._plugin.apis,
        )

    def _note(self, error: BaseException) -> None:
        """What is no cancellation of ours is a failure."""
        _, rest = split_cancelled(error)
        if rest is not None:
            self._fail(rest)

    @property
    def _own_tasks(self) -> tuple[str, str]:
        return self.name, f"{self.name} tasks"

    # --- its end

    async def retire(self, *, within_s: float = inf) -> None:
        """Finish what is in its hands, leave its block, end its tasks, each as far as the deadline
        goes. Its contributions have been taken back before. Idempotent.
        """
        drain_s = min(self.settings.host.drain_ms / 1000, within_s)
        ends = trio.current_time() + drain_s
        if self.life.state is State.READY:
            self.life.go(State.DRAINING)
        with trio.move_on_at(ends):
            await self.in_hand.wait_empty()
        self.in_hand.cut_off()
        self._scope.deadline = ends
        self._stop.set()
        with trio.move_on_at(ends + GRACE_S):
            await self.ended.wait()
        if not self.ended.is_set():
            self.leave_behind(f"{drain_s:g} s")

    async def wait_settled(self) -> None:
        """Ready, or not to be: then `failure` says why."""
        start_s = self.settings.host.start_ms / 1000
        with trio.move_on_after(start_s + GRACE_S):
            await self.settled.wait()
        if not self.settled.is_set():
            self.leave_behind(f"{start_s:g} s")

    def leave_behind(self, after: str) -> None:
        """It swallows its cancellation: to go on cancelling would only keep it busy."""
        if self.life.over:
            return
        tasks = ", ".join(self.tasks) or "its block"
        error = f"it does not end, {after} and a cancellation later: {tasks}"
        self._quiet.shield = self._quiet_tasks.shield = True
        self.failure = self.failure or PluginError(error)
        self.life.go(State.FAILED, error)
        self.settled.set()

    def cancel(self) -> None:
        """Once more, for one that was left behind: the broker ends."""
        self._quiet.shield = self._quiet_tasks.shield = False
        self._scope.cancel()

    def _end(self) -> None:
        """No task is left."""
        cut_off, state = self._scope.cancelled_caught, self.life.state
        if self.failure is None and state is State.STARTING:
            start_s = self.settings.host.start_ms / 1000
            why = f"it was not ready after {start_s:g} s" if cut_off else "it was cancelled"
            self.failure = PluginError(why)
        elif self.failure is None and cut_off and state is State.DRAINING:
            self.failure = PluginError("it did not end in its time, and was cancelled")
        if state is State.READY and self.failure is None and not is_cancelled():
            self.fail(_CANCELLED)
        if state is State.READY and self.failure is None:  # the broker was cancelled
            self.contributions.leave()
            self.life.go(State.DRAINING)
        if not self.life.over:
            if self.failure is None:
                self.life.go(State.STOPPED)
            else:
                self.life.go(State.FAILED, self.life.error or describe(self.failure))
        self.settled.set()
        self.ended.set()
        self.node.remove()
        self._block = self._instead = None
        if self._imported is not None:
            self._imported.release()

    def has(self, module: str) -> bool:
        """Whether a module, by the name that its frames know it by, was imported for this one."""
        return self._imported is not None and self._imported.has(module)

    # --- failures

    def failed(self, error: BaseException, where: str) -> None:
        """A request of this plugin failed. The plugin fails too if `error` is not an Exception, or
        if too many requests failed within a minute.

        The caller logs the traceback.
        """
        self.failures += 1
        if not isinstance(error, Exception):
            self._fail(error, f"{where}: {describe(error)}", is_logged=True)
            return
        most, now = self.settings.host.failures, trio.current_time()
        began, count = self._window
        self._window = (began, count + 1) if now - began < _WINDOW_S else (now, 1)
        if most and self._window[1] >= most:
            reason = f"{most} requests failed in a minute; {where}: {describe(error)}"
            self._fail(error, reason, is_logged=True)

    def fail(self, reason: str) -> None:
        """Fail for a reason that is not an exception of the plugin, by its policy."""
        self._fail(PluginError(reason), is_logged=True)

    def _fail(self, error: BaseException, reason: str = "", *, is_logged: bool = False) -> None:
        """is_logged: the traceback is logged elsewhere, or there is none."""
        if self.failure is not None:
            return
        self.failure = error
        self.life.error = reason or describe(error)
        trace = only_leaf(error) if isinstance(error, Exception) else error
        _logger.error(
            "a plugin failed",
            plugin=self.name,
            generation=self.number,
            state=self.life.state.value,
            reason=self.life.error,
            exc_info=None if is_logged else trace,
        )
        self._stop.set()  # also while it starts: it leaves its block instead of serving
        if self.life.state is State.READY:
            self._told(self)

    # --- for people

    @property
    def tasks(self) -> list[str]:
        """The names of its tasks, those of its nurseries too."""
        return [] if self._block is None else list(_names(self._block, self._own_tasks))

    def _tell(self, state: State, error: str) -> None:
        log = _logger.error if error else _logger.info
        log("plugin", plugin=self.name, generation=self.number, state=state.value, reason=error)

    def _figures(self) -> Figures:
        return {
            "state": self.life.state.value,
            "since": self.life.since,
            "in_hand": self.in_hand.count,
            "tasks": len(self.tasks),
            "failures": self.failures,
        }


def _names(nursery: trio.Nursery, but: tuple[str, ...]) -> "list[str]":
    found = []
    for task in nursery.child_tasks:
        if task.name not in but:
            found.append(task.name)
        for below in task.child_nurseries:
            found += _names(below, but)
    return found


def describe(error: BaseException) -> str:
    """An error in one line; of a group, each that is in it."""
    if isinstance(error, BaseExceptionGroup):
        return "; ".join(describe(one) for one in error.exceptions)
    if isinstance(error, PluginError):
        return str(error)
    if isinstance(error, trio.Cancelled):
        return "it raised a Cancelled of its own"
    text = str(error)
    return f"{type(error).__name__}: {text}" if text else type(error).__name__
