"""Runs the plugins of a broker: starts them in order, obeys their policies, stops them in reverse.

A plugin that fails stops nobody else: its requests get errors and its generation ends (`isolate`),
after which it may be started again (`restart`), or the broker stops in order (`fatal`).
"""

from collections.abc import Awaitable, Callable, Iterable, Sequence
from functools import partial
from math import inf
from typing import Final

import trio

from trio_kafka.introspect.log import get_logger
from trio_kafka.introspect.tree import Figures
from trio_kafka.plugin_host.admission import admit
from trio_kafka.plugin_host.declared import Plugin
from trio_kafka.plugin_host.discovery import given, installed
from trio_kafka.plugin_host.generation import Generation
from trio_kafka.plugin_host.guard import PluginError
from trio_kafka.plugin_host.hosted import Hosted
from trio_kafka.plugin_host.importing import owner_of
from trio_kafka.plugin_host.launcher import Launcher
from trio_kafka.plugin_host.life import State
from trio_kafka.plugin_host.reload import Reload
from trio_kafka.plugin_host.site import HostSite
from trio_kafka.requests.plugins import PluginStatus

_logger: Final = get_logger(__name__)
PAUSES_S: Final = (1.0, 2.0, 5.0, 10.0, 30.0, 60.0)  # before each restart in a row
GOOD_S: Final = 300.0  # after so long a life, restarts are counted anew


class PluginHost:
    """plugins: None: the installed ones. `run` it in a task; `start` and `stop` belong to that."""

    def __init__(self, site: HostSite, plugins: Iterable[Plugin] | None = None) -> None:
        self.site = site
        self.node = site.node.add("plugins", "nursery", self._figures)
        self._plugins = plugins
        self._hosted: dict[str, Hosted] = {}
        self._launcher = Launcher(site, self._failed)
        self._stopping = False

    # --- who is there

    @property
    def plugins(self) -> Sequence[Hosted]:
        """In the order of their start."""
        return sorted(self._hosted.values(), key=lambda one: one.order)

    def find(self, name: str) -> Hosted:
        """Raises KeyError."""
        return self._hosted[name]

    def statuses(self) -> list[PluginStatus]:
        """How they are."""
        return [one.status() for one in self.plugins]

    def owner_of(self, module: str) -> str | None:
        """The name of the plugin that has a module, by the name that its frames know it by.

        Also of a plugin that is being imported or started. Called in any thread.
        """
        serving = (one.name for one in list(self._hosted.values()) if one.has(module))
        return next(serving, None) or owner_of(module)

    def blocking(self, name: str, seconds: float, module: str | None = None) -> None:
        """Fail the generation that a module belongs to: it held the loop for `seconds`.

        Called in the loop. An import that holds the loop is reported and goes on.
        module: None: one of the current generation.
        """
        hosted = self._hosted.get(name)
        if hosted is None:
            return
        generation = hosted.current if module is None else hosted.generation_of(module)
        if generation is not None:
            generation.fail(f"it held the loop for {seconds:.1f} s")

    # --- life

    async def run(self, *, task_status: trio.TaskStatus[None] = trio.TASK_STATUS_IGNORED) -> None:
        """Started when every plugin is ready or has failed; until cancelled, or stopped.

        Raises ConfigError for settings of a plugin that is not there, PluginError for one that has
        failed with the policy `fatal`, both before it is started.
        """
        try:
            async with trio.open_nursery() as nursery:
                self._launcher.nursery = nursery
                origins = installed() if self._plugins is None else given(self._plugins)
                admit(origins, self.site, self.node, self._hosted)
                for one in self.plugins:
                    if one.state is State.VALIDATED and one.enabled:
                        await self._launcher.begin(one)
                        self._after_start(one)
                task_status.started()
                await trio.sleep_forever()
        finally:
            self._launcher.nursery = None
            for one in self._hosted.values():
                one.drop_import()

    async def stop(self) -> None:
        """All of them, the last one first, each with an equal part of the time that is left."""
        self._stopping = True
        await trio.lowlevel.checkpoint()
        running = [one for one in reversed(self.plugins) if one.current is not None]
        for left, one in zip(range(len(running), 0, -1), running, strict=True):
            time_s = trio.current_effective_deadline() - trio.current_time()
            await self._end(one, within_s=max(time_s / left, 0.0))

    @property
    def left_behind(self) -> list[str]:
        """Those that have not ended though they were cancelled, each with its tasks."""
        return [
            f"{one.name} ({', '.join(one.tasks) or 'its block'})" for one in self._generations_left
        ]

    def cancel_left_behind(self) -> None:
        """Once more: the broker ends, and they are left in peace no longer."""
        for one in self._generations_left:
            one.cancel()

    @property
    def _generations_left(self) -> list[Generation]:
        found = [
            generation
            for one in self._hosted.values()
            for generation in (*one.past, *([one.current] if one.current else []))
        ]
        return [one for one in found if one.life.over and not one.ended.is_set()]

    # --- start

    def _after_start(self, hosted: Hosted) -> None:
        """Of a start that failed: its policy. Raises PluginError for `fatal`."""
        generation = hosted.current
        if generation is None or generation.failure is None:
            return
        hosted.failures += 1
        closed = hosted.plugin is not None and hosted.plugin.closed
        if hosted.policy == "fatal" or (closed and hosted.policy != "restart"):
            raise PluginError(f"plugin {hosted.name}: {hosted.error}") from generation.failure
        if hosted.policy == "restart":
            self._spawn(hosted, self._restart)

    # --- reload

    async def reload(self, name: str) -> int:
        """Import a plugin's package afresh, start it beside the old generation, let it take that
        one's place, and end the old one. The number of the generation that serves then.

        The old one may still finish what is in its hands. Raises KeyError for an unknown name,
        PluginError if the new one does not become ready: the old one goes on. TooSoonError if
        another reload was faster. Cancelling the wait does not cancel the reload.
        """
        hosted = self._hosted[name]
        if self._stopping:
            raise PluginError(f"plugin {name} is not reloaded: the broker stops")
        return await Reload(hosted, self._launcher, partial(_withdraw, hosted)).ask()

    # --- failures

    def _failed(self, hosted: Hosted, generation: Generation) -> None:
        """A generation that was ready has failed: at once its requests get errors."""
        hosted.failures += 1
        if generation is not hosted.current:
            return  # it goes already
        _withdraw(hosted, f"plugin {hosted.name} has failed")
        if self._stopping:
            return
        if hosted.policy == "fatal":
            self.site.fail(PluginError(f"plugin {hosted.name}: {hosted.error}"))
        else:
            self._spawn(hosted, self._recover)

    def _spawn(self, hosted: Hosted, call: Callable[[Hosted], Awaitable[None]]) -> None:
        if self._launcher.nursery is not None:
            self._launcher.spawn(f"plugin {hosted.name} policy", call, hosted)

    async def _recover(self, hosted: Hosted) -> None:
        """The failed generation ends; then, perhaps, another one comes."""
        generation = hosted.current
        if generation is None:
            return
        ready_s = self.site.world.clock.wall() - generation.life.since
        if ready_s >= GOOD_S:
            hosted.restarts = 0
        await generation.retire()
        if hosted.policy == "restart":
            await self._restart(hosted)

    async def _restart(self, hosted: Hosted) -> None:
        """With growing pauses, until one is ready or there were too many in a row."""
        while hosted.restarts < len(PAUSES_S) and not self._stopping:
            failed = hosted.current
            pause_s = PAUSES_S[hosted.restarts]
            hosted.restarts += 1
            _logger.info("plugin restarts", plugin=hosted.name, after_s=pause_s)
            await trio.sleep(pause_s)
            if hosted.current is not failed or hosted.busy or self._stopping:
                return  # a reload was faster
            hosted.keep_past()
            await self._launcher.begin(hosted)
            if hosted.current is not None and hosted.current.failure is None:
                return
            hosted.failures += 1
        _logger.error("plugin is not started again", plugin=hosted.name, after=hosted.restarts)

    # --- end

    async def _end(self, hosted: Hosted, *, within_s: float = inf) -> None:
        generation = hosted.current
        _withdraw(hosted)
        if generation is not None:
            await generation.retire(within_s=within_s)

    def _figures(self) -> Figures:
        states = [one.state for one in self._hosted.values()]
        return {state.value: states.count(state) for state in State if state in states}


def _withdraw(hosted: Hosted, reason: str = "") -> None:
    """Take back what the broker has of it. reason: its APIs stay, and answer with this error."""
    if hosted.standing is not None:
        hosted.standing.leave(reason)
        if not reason:
            hosted.standing = None
