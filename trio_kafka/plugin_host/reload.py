"""Reload of a plugin: a fresh import starts beside the old generation and replaces it when ready.

Only the start of the new generation withdraws what the old one contributes. A new one that cannot
be imported, is disabled or does not become ready changes nothing.
A plugin has one reload at a time and one a second, because an import takes up to 0.1 s of CPU. An
earlier request waits for its turn, one second at most, and is rejected if another was faster.
Clients that reload in a loop are thus limited to one request a second each.
"""

from collections.abc import Callable
from typing import Final

import trio
from attrs import field

from trio_kafka.attributes import define
from trio_kafka.config.plugins import HostSettings
from trio_kafka.introspect.log import get_logger
from trio_kafka.plugin_host.declaration import Plugin
from trio_kafka.plugin_host.fresh_import import FreshImport
from trio_kafka.plugin_host.generation import Generation, describe
from trio_kafka.plugin_host.generation_starter import GenerationStarter
from trio_kafka.plugin_host.guard import PluginError, TooSoonError
from trio_kafka.plugin_host.hosted_plugin import HostedPlugin
from trio_kafka.plugin_host.importing import Imported
from trio_kafka.plugin_host.settings import read_settings
from trio_kafka.requests.failures import is_cancelled

_logger: Final = get_logger(__name__)
INTERVAL_S: Final = 1.0  # seconds between the starts of two reloads


@define(eq=False)
class Reload:
    """One reload of one plugin. withdraw: withdraws its contributions, for a reason."""

    _hosted: HostedPlugin
    _starter: GenerationStarter
    _withdraw: Callable[[str], None]
    _over: trio.Event = field(factory=trio.Event, init=False)
    _error: str | None = field(default=None, init=False)

    async def ask(self) -> int:
        """Reload and return the number of the generation that serves afterwards.

        Raises PluginError: the old generation keeps serving. TooSoonError: likewise, and a later
        reload may succeed. Cancelling the wait does not cancel the reload.
        """
        hosted = self._hosted
        await self._wait_turn()
        hosted.reloaded_at = trio.current_time()
        if hosted.importing is not None and not hosted.importing.ended:
            raise PluginError(
                f"plugin {hosted.name}: an abandoned import is still running, try again later"
            )
        self._starter.spawn(f"plugin {hosted.name} reload", self._run)
        hosted.reload_over = self._over
        await self._over.wait()
        if self._error is not None:
            raise PluginError(f"plugin {hosted.name} was not reloaded: {self._error}")
        return hosted.generation

    @property
    def _next_at(self) -> float:
        """Earliest time of the next reload."""
        return self._hosted.reloaded_at + INTERVAL_S

    async def _wait_turn(self) -> None:
        """Wait for the next slot. Raises TooSoonError if another reload took it."""
        if not self._why_not_now():
            return
        now = trio.current_time()
        await trio.sleep_until(self._next_at if self._next_at > now else now + INTERVAL_S)
        reason = self._why_not_now()
        if reason:
            raise TooSoonError(reason)

    def _why_not_now(self) -> str:
        """Return why the plugin cannot be reloaded now; empty if it can."""
        hosted = self._hosted
        if hosted.reload_over is not None:
            return f"plugin {hosted.name} is being reloaded: try again later"
        if trio.current_time() < self._next_at:
            return f"plugin {hosted.name} can be reloaded once in {INTERVAL_S:g} s: try again later"
        return ""

    async def _run(self) -> None:
        hosted, old = self._hosted, self._hosted.current
        try:
            if old is not None:
                # A restart may have begun it. Two that start at once would both go live.
                await old.wait_settled()
            await self._start_new(old)
        except BaseException as error:
            if is_cancelled():
                raise
            self._error = describe(error)
            # A failed generation has logged its traceback itself.
            trace = None if isinstance(error, PluginError) else error
            _logger.error(  # noqa: TRY400 - see above
                "plugin reload failed", plugin=hosted.name, reason=self._error, exc_info=trace
            )
            if old is not None and old.ended.is_set() and old.failure is None:
                await self._starter.begin(hosted)  # it had to stop first: start it again
        finally:
            hosted.reload_over = None
            self._over.set()
        if self._error is None and old is not None:
            await old.retire()
            hosted.forget_past()

    async def _start_new(self, old: Generation | None) -> None:
        """Start the new generation and wait until it is ready. Raises what prevents that."""
        hosted = self._hosted
        plugin, imported = await self._import_again()
        try:
            settings = read_settings(plugin, self._starter.dependencies.layer)
            if not settings.host.enabled:
                raise PluginError("it is not enabled")
            if old is not None and not plugin.beside:
                self._withdraw(f"plugin {hosted.name} is being reloaded")
                await old.retire()
            generation = await self._starter.replace(hosted, plugin, settings, imported=imported)
            if hosted.current is not generation:
                raise PluginError(generation.lifecycle.error)
        except BaseException:
            if imported is not None:
                imported.release()
            raise

    async def _import_again(self) -> "tuple[Plugin, Imported | None]":
        """Import the package again. Raises what the import raises.

        Raises PluginError if it takes too long or the plugin is no longer in it.
        """
        hosted = self._hosted
        host = hosted.settings.host if hosted.settings is not None else HostSettings()
        hosted.importing = importing = FreshImport(hosted.origin)
        plugins, imported = await importing.run(
            self._starter.dependencies.world, host.start_ms / 1000
        )
        if imported is not None:
            imported.users = 1  # of all plugins found, only this one is started
        for plugin in plugins:
            if plugin.name == hosted.name:
                return plugin, imported
        if imported is not None:
            imported.release()
        raise PluginError(f"{hosted.origin.source} no longer declares the plugin {hosted.name}")
