"""Generation: one run of a plugin, from its start to the end of its last task.

A generation has three tasks. `run` is responsible for the whole and lets only cancellation out. In
its own nursery, one task enters and leaves the plugin's block, another holds the plugin's nursery.
So a failing task of the plugin does not cancel the block, which is left in order. Tasks that do not
end when cancelled are abandoned and reported by name.
"""

import logging
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager, suppress
from inspect import iscoroutine
from math import inf
from typing import Final, cast

import trio

from trio_kafka.errors import only_leaf
from trio_kafka.introspect.limiter import open_limiter
from trio_kafka.introspect.log import get_logger
from trio_kafka.introspect.tree import Figures, Node
from trio_kafka.plugin_host.context import PluginContext
from trio_kafka.plugin_host.contributions import Contributions
from trio_kafka.plugin_host.declaration import Plugin
from trio_kafka.plugin_host.dependencies import PluginHostDependencies
from trio_kafka.plugin_host.guard import InFlight, PluginError
from trio_kafka.plugin_host.importing import Imported
from trio_kafka.plugin_host.lifecycle import Lifecycle, State
from trio_kafka.plugin_host.settings import Settings
from trio_kafka.requests.failures import is_cancelled, split_cancelled
from trio_kafka.security.principal import BROKER, Principal, parse_principal

_logger: Final = get_logger(__name__)
_CHANGED: Final = "plugin state changed"
GRACE_S: Final = 1.0  # seconds from cancellation until a plugin is abandoned
# A nursery claims every Cancelled, even one that a task kept and raised again.
_CANCELLED: Final = "it cancelled its nursery, or a task raised a Cancelled of its own"
FAILED_REQUESTS: Final = "plugin_failed_requests"  # counter, with the label `plugin`
_WINDOW_S: Final = 60.0  # window in which failed requests are counted


class Generation:
    """One generation; `number` counts the generations of the plugin.

    on_failure: called once if it fails after it was ready. imported: released when it has ended.
    replaces: contributions that its own replace.
    """

    def __init__(
        self,
        plugin: Plugin,
        number: int,
        *,
        settings: Settings,
        dependencies: PluginHostDependencies,
        node: Node,
        on_failure: "Callable[[Generation], None]",
        imported: Imported | None,
        replaces: Contributions | None,
    ) -> None:
        host = settings.host
        self.name = plugin.name
        self.number = number
        self.settings = settings
        self.in_flight = InFlight()
        self.ended = trio.Event()
        self.failure: BaseException | None = None
        self.deadline_s = host.deadline_ms / 1000 or inf
        self.lifecycle = Lifecycle(dependencies.world.clock.wall, self._log_state)
        self.lifecycle.enter(State.VALIDATED)
        self.failures = 0
        self.node = node.add(f"generation-{number}", "nursery", self._figures)
        self.limiter = open_limiter(host.limit, self.node, "limit") if host.limit else None
        self.contributions = Contributions(self, dependencies, closed=plugin.closed)
        self.settled = trio.Event()
        self._plugin = plugin
        self._on_failure = on_failure
        self._imported = imported
        self._counters = dependencies.counters
        self._replaces = replaces
        if imported is not None:
            imported.users += 1
        self._block: trio.Nursery | None = None
        self._stop = trio.Event()
        # The outer scope of each pair cancels; the inner one shields abandoned tasks from that.
        self._scope, self._quiet = trio.CancelScope(), trio.CancelScope()
        self._end_tasks, self._quiet_tasks = trio.CancelScope(), trio.CancelScope()
        self._window: tuple[float, int] = (0.0, 0)

    # --- lifecycle

    async def run(self, ready: Callable[[], None]) -> None:
        """Run until ended. `settled` is set when it is ready or has ended without becoming ready.

        ready: called when its contributions are published.
        """
        self.lifecycle.enter(State.STARTING)
        self._scope.deadline = trio.current_time() + self.settings.host.start_ms / 1000
        try:
            with self._scope, self._quiet:
                async with trio.open_nursery() as block:
                    self._block = block
                    block.start_soon(self._live, block, ready, name=self.name)
        except BaseException as error:  # noqa: BLE001 - every failure of a plugin ends here
            self._record(error)
        finally:
            self._end()
        await trio.lowlevel.checkpoint_if_cancelled()

    async def _live(self, block: trio.Nursery, ready: Callable[[], None]) -> None:
        plugin = self._plugin
        tasks = await block.start(self._hold_tasks, name=f"{self.name} tasks")
        block_of_plugin: object = plugin.run(self._make_context(tasks))
        if iscoroutine(block_of_plugin):
            block_of_plugin.close()
            raise TypeError(
                "want an async context manager, found a coroutine: decorate it with "
                "@asynccontextmanager"
            )
        async with cast("AbstractAsyncContextManager[None]", block_of_plugin):
            if self.failure is None:
                self.contributions.go_live(self._replaces)
                self._replaces = None  # do not keep the older generation alive
                self._scope.deadline = inf
                self.lifecycle.enter(State.READY)
                ready()
                self.settled.set()
            await self._stop.wait()
        self._end_tasks.cancel()
        stray_tasks = [task.name for task in block.child_tasks if task.name not in self._own_tasks]
        if stray_tasks:
            self.fail(f"it left tasks in a nursery of the host: {', '.join(stray_tasks)}")
            self._scope.cancel()

    async def _hold_tasks(self, *, task_status: trio.TaskStatus[trio.Nursery]) -> None:
        try:
            with self._end_tasks, self._quiet_tasks:
                async with trio.open_nursery() as nursery:
                    task_status.started(nursery)
                    # The error is passed on below. Raising it here would cancel the nursery inside
                    # the scope that shields abandoned tasks.
                    with suppress(trio.Cancelled):
                        await trio.sleep_forever()
        except BaseException as error:  # noqa: BLE001 - the block is still left in order
            self._record(error)
        if not (self._stop.is_set() or self.lifecycle.over or is_cancelled()):
            self.fail(_CANCELLED)
        await trio.lowlevel.checkpoint_if_cancelled()

    def _make_context(self, tasks: trio.Nursery) -> PluginContext[object]:
        return PluginContext(
            name=self.name,
            settings=self.settings.own,
            contributions=self.contributions,
            nursery=tasks,
            node=self.node,
            logger=get_logger(f"trio_kafka.plugin.{self.name}"),
            order=self.settings.host.order,
            versions=self._plugin.apis,
            principal=self._principal(),
        )

    def _principal(self) -> Principal:
        """Return the principal of the plugin's own requests."""
        text = self.settings.host.principal
        return parse_principal(text) if text else BROKER

    def _record(self, error: BaseException) -> None:
        """Record an error as a failure unless it is a requested cancellation."""
        _, rest = split_cancelled(error)
        if rest is not None:
            self._fail(rest)

    @property
    def _own_tasks(self) -> tuple[str, str]:
        return self.name, f"{self.name} tasks"

    # --- end

    async def retire(self, *, within_s: float = inf) -> None:
        """Drain requests, leave the block and end the tasks, each as far as the deadline allows.

        Its contributions must have been withdrawn. Idempotent.
        """
        drain_s = min(self.settings.host.drain_ms / 1000, within_s)
        ends = trio.current_time() + drain_s
        if self.lifecycle.state is State.READY:
            self.lifecycle.enter(State.DRAINING)
        with trio.move_on_at(ends):
            await self.in_flight.wait_empty()
        self.in_flight.cut_off()
        self._scope.deadline = ends
        self._stop.set()
        with trio.move_on_at(ends + GRACE_S):
            await self.ended.wait()
        if not self.ended.is_set():
            self.abandon(f"{drain_s:g} s")

    async def wait_settled(self) -> None:
        """Wait until it is ready or has failed; then `failure` says why."""
        start_s = self.settings.host.start_ms / 1000
        with trio.move_on_after(start_s + GRACE_S):
            await self.settled.wait()
        if not self.settled.is_set():
            self.abandon(f"{start_s:g} s")

    def abandon(self, after: str) -> None:
        """Abandon a generation that swallows its cancellation; further cancellation would only keep
        it busy.
        """
        if self.lifecycle.over:
            return
        tasks = ", ".join(self.tasks) or "its block"
        error = f"it did not end {after} after it was asked to and was cancelled: {tasks}"
        self._quiet.shield = self._quiet_tasks.shield = True
        self.failure = self.failure or PluginError(error)
        self.lifecycle.enter(State.FAILED, error)
        self.settled.set()

    def cancel(self) -> None:
        """Cancel an abandoned generation once more, because the broker ends."""
        self._quiet.shield = self._quiet_tasks.shield = False
        self._scope.cancel()

    def _end(self) -> None:
        """Record the end after the last task."""
        cut_off, state = self._scope.cancelled_caught, self.lifecycle.state
        if self.failure is None and state is State.STARTING:
            start_s = self.settings.host.start_ms / 1000
            why = (
                f"it was not ready after {start_s:g} s (plugin.{self.name}.start.ms)"
                if cut_off
                else "it was cancelled"
            )
            self.failure = PluginError(why)
        elif self.failure is None and cut_off and state is State.DRAINING:
            self.failure = PluginError("it did not end in time and was cancelled")
        if state is State.READY and self.failure is None and not is_cancelled():
            self.fail(_CANCELLED)
        if state is State.READY and self.failure is None:  # the broker was cancelled
            self.contributions.leave()
            self.lifecycle.enter(State.DRAINING)
        if not self.lifecycle.over:
            if self.failure is None:
                self.lifecycle.enter(State.STOPPED)
            else:
                self.lifecycle.enter(State.FAILED, self.lifecycle.error or describe(self.failure))
        self.settled.set()
        self.ended.set()
        self.node.remove()
        self._block = self._replaces = None
        if self._imported is not None:
            self._imported.release()

    def owns(self, module: str) -> bool:
        """Return True if a module, by its private name, was imported for this generation."""
        return self._imported is not None and self._imported.owns(module)

    # --- failures

    def failed(self, error: BaseException, where: str) -> None:
        """Count a failed request of this plugin.

        The plugin itself fails if `error` is not an Exception, or after too many failed requests in
        a minute. The caller logs the traceback.
        """
        self.failures += 1
        self._counters.add(FAILED_REQUESTS, plugin=self.name)
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
        """Fail the plugin by its policy, for a reason other than its own exception."""
        self._fail(PluginError(reason), is_logged=True)

    def _fail(self, error: BaseException, reason: str = "", *, is_logged: bool = False) -> None:
        """Fail once. is_logged: the traceback is logged elsewhere or does not exist."""
        if self.failure is not None:
            return
        self.failure = error
        self.lifecycle.error = reason or describe(error)
        trace = only_leaf(error) if isinstance(error, Exception) else error
        _logger.error(
            "plugin failed",
            plugin=self.name,
            generation=self.number,
            state=self.lifecycle.state.value,
            reason=self.lifecycle.error,
            exc_info=None if is_logged else trace,
        )
        # even during the start: the plugin then leaves its block instead of serving
        self._stop.set()
        if self.lifecycle.state is State.READY:
            self._on_failure(self)

    # --- display

    @property
    def tasks(self) -> list[str]:
        """Names of its tasks, including those of its nurseries."""
        return [] if self._block is None else list(_names(self._block, self._own_tasks))

    def _log_state(self, state: State, error: str) -> None:
        """Log one line for a start, one for an end; the steps between are debug lines."""
        name, number = self.name, self.number
        if error:
            _logger.error(_CHANGED, plugin=name, generation=number, state=state.value, reason=error)
            return
        level = logging.INFO if state in (State.READY, State.STOPPED) else logging.DEBUG
        _logger.log(level, _CHANGED, plugin=name, generation=number, state=state.value)

    def _figures(self) -> Figures:
        return {
            "state": self.lifecycle.state.value,
            "since": self.lifecycle.since,
            "in_flight": self.in_flight.count,
            "tasks": len(self.tasks),
            "failures": self.failures,
        }


def _names(nursery: trio.Nursery, but: tuple[str, ...]) -> "list[str]":
    names = []
    for task in nursery.child_tasks:
        if task.name not in but:
            names.append(task.name)
        for below in task.child_nurseries:
            names += _names(below, but)
    return names


def describe(error: BaseException) -> str:
    """Describe an error in one line; a group by its members."""
    if isinstance(error, BaseExceptionGroup):
        return "; ".join(describe(member) for member in error.exceptions)
    if isinstance(error, PluginError):
        return str(error)
    if isinstance(error, trio.Cancelled):
        return "it raised a Cancelled that nothing requested"
    text = str(error)
    return f"{type(error).__name__}: {text}" if text else type(error).__name__
