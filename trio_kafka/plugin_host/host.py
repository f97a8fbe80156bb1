"""Plugin host: starts plugins in order, applies their failure policies, stops them in reverse.

A failing plugin does not affect others. Its requests get errors and its generation ends
(`isolate`); then it may be restarted (`restart`), or the broker stops in order (`fatal`).
"""

from collections.abc import Awaitable, Callable, Iterable, Sequence
from functools import partial
from math import inf
from typing import Final

import trio

from trio_kafka.introspect.declared_waits import waits_for_its_argument
from trio_kafka.introspect.log import get_logger
from trio_kafka.introspect.tree import Figures
from trio_kafka.plugin_host.declaration import Plugin
from trio_kafka.plugin_host.dependencies import PluginHostDependencies
from trio_kafka.plugin_host.discovery import installed, of_plugins
from trio_kafka.plugin_host.generation import Generation
from trio_kafka.plugin_host.generation_starter import GenerationStarter
from trio_kafka.plugin_host.guard import PluginError
from trio_kafka.plugin_host.hosted_plugin import HostedPlugin
from trio_kafka.plugin_host.importing import owner_of
from trio_kafka.plugin_host.lifecycle import State
from trio_kafka.plugin_host.plugin_loading import load_plugins
from trio_kafka.plugin_host.reload import Reload
from trio_kafka.requests.plugins import PluginStatus

_logger: Final = get_logger(__name__)
RESTART_PAUSES_S: Final = (
    1.0,
    2.0,
    5.0,
    10.0,
    30.0,
    60.0,
)  # seconds before restarts
STABLE_S: Final = 300.0  # a generation that lived this long resets the count of restarts


class PluginHost:
    """Host of all plugins of a broker; run `run` in a task.

    plugins: None: the installed ones.
    """

    def __init__(
        self, dependencies: PluginHostDependencies, plugins: Iterable[Plugin] | None = None
    ) -> None:
        self.dependencies = dependencies
        self.node = dependencies.node.add("plugins", "nursery", self._figures)
        self._plugins = plugins
        self._hosted: dict[str, HostedPlugin] = {}
        self._starter = GenerationStarter(dependencies, self._failed)
        self._stopping = False

    # --- lookup

    @property
    def plugins(self) -> Sequence[HostedPlugin]:
        """Plugins in start order."""
        return sorted(self._hosted.values(), key=lambda plugin: plugin.order)

    def find(self, name: str) -> HostedPlugin:
        """Return a plugin. Raises KeyError."""
        return self._hosted[name]

    def statuses(self) -> list[PluginStatus]:
        """Return the status of every plugin."""
        return [plugin.status() for plugin in self.plugins]

    def owner_of(self, module: str) -> str | None:
        """Return the name of the plugin that owns a module, by the module's private name.

        Includes plugins that are being imported or started. May be called in any thread.
        """
        serving = (plugin.name for plugin in list(self._hosted.values()) if plugin.owns(module))
        return next(serving, None) or owner_of(module)

    def blocking(self, name: str, seconds: float, module: str | None = None) -> None:
        """Fail the generation that a module belongs to, because it blocked the loop for `seconds`.

        Called in the loop. An import that blocks the loop is reported but continues.
        module: None: the current generation.
        """
        hosted = self._hosted.get(name)
        if hosted is None:
            return
        generation = hosted.current if module is None else hosted.generation_of(module)
        if generation is not None:
            generation.fail(f"it blocked the loop for {seconds:.1f} s")

    # --- lifecycle

    async def run(self, *, task_status: trio.TaskStatus[None] = trio.TASK_STATUS_IGNORED) -> None:
        """Run until cancelled or stopped; started when every plugin is ready or has failed.

        Raises ConfigError for settings of an unknown plugin, PluginError for a failed plugin with
        the policy `fatal`, both before it is started.
        """
        try:
            async with trio.open_nursery() as nursery:
                self._starter.nursery = nursery
                origins = installed() if self._plugins is None else of_plugins(self._plugins)
                load_plugins(origins, self.dependencies, self.node, hosted=self._hosted)
                for plugin in self.plugins:
                    if plugin.state is State.VALIDATED and plugin.enabled:
                        await self._starter.begin(plugin)
                        self._after_start(plugin)
                task_status.started()
                await trio.sleep_forever()
        finally:
            self._starter.nursery = None
            for plugin in self._hosted.values():
                plugin.drop_import()

    async def stop(self) -> None:
        """Stop all plugins in reverse order, each with an equal share of the time left."""
        self._stopping = True
        await trio.lowlevel.checkpoint()
        running = [plugin for plugin in reversed(self.plugins) if plugin.current is not None]
        for remaining, plugin in zip(range(len(running), 0, -1), running, strict=True):
            time_s = trio.current_effective_deadline() - trio.current_time()
            await self._end(plugin, within_s=max(time_s / remaining, 0.0))

    @property
    def abandoned(self) -> list[str]:
        """Generations that did not end when cancelled, each with its tasks."""
        return [
            f"{generation.name} ({', '.join(generation.tasks) or 'its block'})"
            for generation in self._abandoned_generations
        ]

    def cancel_abandoned(self) -> None:
        """Cancel the abandoned generations once more, because the broker ends."""
        for generation in self._abandoned_generations:
            generation.cancel()

    @property
    def _abandoned_generations(self) -> list[Generation]:
        generations = [
            generation
            for plugin in self._hosted.values()
            for generation in (*plugin.past, *([plugin.current] if plugin.current else []))
        ]
        return [
            generation
            for generation in generations
            if generation.lifecycle.over and not generation.ended.is_set()
        ]

    # --- start

    def _after_start(self, hosted: HostedPlugin) -> None:
        """Apply the policy after a failed start. Raises PluginError for `fatal` or a closed plugin.

        A closed plugin that was never ready has published no interceptors that could reject
        requests, so the broker must not serve while it would be restarted.
        """
        generation = hosted.current
        if generation is None or generation.failure is None:
            return
        hosted.failures += 1
        closed = hosted.plugin is not None and hosted.plugin.closed
        if closed or hosted.policy == "fatal":
            raise PluginError(f"plugin {hosted.name}: {hosted.error}") from generation.failure
        if hosted.policy == "restart":
            self._spawn(hosted, generation, self._restart)

    # --- reload

    @waits_for_its_argument("plugin", "plugin", "plugin {} to be reloaded")
    async def reload(self, name: str) -> int:
        """Reload a plugin and return the number of the generation that serves afterwards.

        The package is imported afresh, the new generation starts beside the old one, replaces it,
        and the old one finishes its requests in flight and ends. Cancelling the wait does not
        cancel the reload.
        Raises KeyError for an unknown name. PluginError: the new generation did not become ready,
        the old one keeps serving. TooSoonError: another reload was faster.
        """
        hosted = self._hosted[name]
        if self._stopping:
            raise PluginError(f"plugin {name} cannot be reloaded: the broker is stopping")
        return await Reload(hosted, self._starter, partial(_withdraw, hosted)).ask()

    # --- failures

    def _failed(self, hosted: HostedPlugin, generation: Generation) -> None:
        """Handle the failure of a ready generation: its requests get errors at once."""
        hosted.failures += 1
        if generation is not hosted.current:
            return  # it is being replaced already
        _withdraw(hosted, f"plugin {hosted.name} has failed")
        if self._stopping:
            return
        if hosted.policy == "fatal":
            self.dependencies.fail(PluginError(f"plugin {hosted.name}: {hosted.error}"))
        else:
            self._spawn(hosted, generation, self._recover)

    def _spawn(
        self,
        hosted: HostedPlugin,
        failed: Generation,
        call: Callable[[HostedPlugin, Generation], Awaitable[None]],
    ) -> None:
        if self._starter.nursery is not None:
            self._starter.spawn(f"plugin {hosted.name} policy", call, hosted, failed)

    async def _recover(self, hosted: HostedPlugin, failed: Generation) -> None:
        """End the failed generation, then restart it if the policy says so."""
        ready_s = self.dependencies.world.clock.wall() - failed.lifecycle.since
        if ready_s >= STABLE_S:
            hosted.restarts = 0
        await failed.retire()
        # A reload may have replaced it while its block and tasks ended.
        if hosted.current is failed and hosted.policy == "restart":
            await self._restart(hosted, failed)

    async def _restart(self, hosted: HostedPlugin, failed: Generation) -> None:
        """Restart with growing pauses until a generation is ready or the pauses are used up.

        failed: the current generation. Ends when a reload replaces it. A reload that fails only
        delays the restart.
        """
        while hosted.restarts < len(RESTART_PAUSES_S) and not self._stopping:
            pause_s = RESTART_PAUSES_S[hosted.restarts]
            hosted.restarts += 1
            _logger.info("plugin restart scheduled", plugin=hosted.name, after_s=pause_s)
            await trio.sleep(pause_s)
            while hosted.reload_over is not None:
                await hosted.reload_over.wait()
            if hosted.current is not failed or self._stopping:
                return
            hosted.keep_past()
            failed = await self._starter.begin(hosted)
            if failed.failure is None:
                return
            hosted.failures += 1
        _logger.error("plugin restarts exhausted", plugin=hosted.name, restarts=hosted.restarts)

    # --- end

    async def _end(self, hosted: HostedPlugin, *, within_s: float = inf) -> None:
        generation = hosted.current
        _withdraw(hosted)
        if generation is not None:
            await generation.retire(within_s=within_s)

    def _figures(self) -> Figures:
        states = [plugin.state for plugin in self._hosted.values()]
        return {state.value: states.count(state) for state in State if state in states}


def _withdraw(hosted: HostedPlugin, reason: str = "") -> None:
    """Withdraw the contributions of a plugin. reason: APIs stay and answer with this error."""
    if hosted.published is not None:
        hosted.published.leave(reason)
        if not reason:
            hosted.published = None
