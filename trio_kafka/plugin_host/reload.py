"""A plugin is imported afresh beside its old generation, and takes its place when it is ready.

What the old one gives is given up by the new one's own start, and not before: one that cannot be
imported, is not enabled or does not become ready changes nothing.

A plugin has one reload at a time, and one a second: an import costs up to 0.1 s of the processor. A
reload that comes earlier waits for its turn, a second at most, and is refused if another one was
faster. So clients that reload in a loop are slowed down, each to a request a second.
"""

from collections.abc import Callable
from typing import Final

import trio
from attrs import field

from trio_kafka.attributes import define
from trio_kafka.config.plugins import HostSettings
from trio_kafka.introspect.log import get_logger
from trio_kafka.plugin_host.declared import Plugin
from trio_kafka.plugin_host.fresh_import import FreshImport
from trio_kafka.plugin_host.generation import Generation, describe
from trio_kafka.plugin_host.guard import PluginError, TooSoonError
from trio_kafka.plugin_host.hosted import Hosted
from trio_kafka.plugin_host.importing import Imported
from trio_kafka.plugin_host.launcher import Launcher
from trio_kafka.plugin_host.settings import read_settings
from trio_kafka.requests.failures import is_cancelled

_logger: Final = get_logger(__name__)
APART_S: Final = 1.0  # from the begin of a reload to that of the next


@define(eq=False)
class Reload:
    """Of one plugin, once. withdraw: take back what the broker has of it, for a reason."""

    _hosted: Hosted
    _launcher: Launcher
    _withdraw: Callable[[str], None]
    _over: trio.Event = field(factory=trio.Event, init=False)
    _error: str | None = field(default=None, init=False)

    async def ask(self) -> int:
        """The number of the generation that serves then. Raises PluginError: the old one goes on;
        TooSoonError: so it does, and a later reload may succeed.

        Cancelling the wait does not cancel the reload.
        """
        hosted = self._hosted
        await self._wait_turn()
        hosted.reloaded_at = trio.current_time()
        if hosted.importing is not None and not hosted.importing.ended:
            raise PluginError(f"plugin {hosted.name}: an import of it goes on, which was given up")
        self._launcher.spawn(f"plugin {hosted.name} reload", self._run)
        hosted.busy = True
        await self._over.wait()
        if self._error is not None:
            raise PluginError(f"plugin {hosted.name} was not reloaded: {self._error}")
        return hosted.generation

    @property
    def _next_at(self) -> float:
        """The time from which on the next reload may begin."""
        return self._hosted.reloaded_at + APART_S

    async def _wait_turn(self) -> None:
        """Raises TooSoonError if this is not the next reload after a second."""
        if not self._why_not_now():
            return
        now = trio.current_time()
        await trio.sleep_until(self._next_at if self._next_at > now else now + APART_S)
        reason = self._why_not_now()
        if reason:
            raise TooSoonError(reason)

    def _why_not_now(self) -> str:
        """Empty if the plugin may be reloaded."""
        hosted = self._hosted
        if hosted.busy:
            return f"plugin {hosted.name} is being reloaded: try again later"
        if trio.current_time() < self._next_at:
            return f"plugin {hosted.name} is reloaded once in {APART_S:g} s: try again later"
        return ""

    async def _run(self) -> None:
        hosted, old = self._hosted, self._hosted.current
        try:
            await self._bring(old)
        except BaseException as error:
            if is_cancelled():
                raise
            self._error = describe(error)
            # A generation that failed has logged its traceback itself.
            trace = None if isinstance(error, PluginError) else error
            _logger.error(  # noqa: TRY400 - see above
                "plugin was not reloaded", plugin=hosted.name, reason=self._error, exc_info=trace
            )
            if old is not None and old.ended.is_set() and old.failure is None:
                await self._launcher.begin(hosted)  # it had to go first: it comes again
        finally:
            hosted.busy = False
            self._over.set()
        if self._error is None and old is not None:
            await old.retire()
            hosted.forget_past()

    async def _bring(self, old: Generation | None) -> None:
        """The new generation up to ready. Raises what keeps it from that."""
        hosted = self._hosted
        plugin, imported = await self._import_again()
        try:
            settings = read_settings(plugin, self._launcher.site.given)
            if not settings.host.enabled:
                raise PluginError("it is not enabled")
            if old is not None and not plugin.beside:
                self._withdraw(f"plugin {hosted.name} is being reloaded")
                await old.retire()
            generation = await self._launcher.replace(hosted, plugin, settings, imported)
            if hosted.current is not generation:
                raise PluginError(generation.life.error)
        except BaseException:
            if imported is not None:
                imported.release()
            raise

    async def _import_again(self) -> "tuple[Plugin, Imported | None]":
        """Raises what the import raises, PluginError if it takes too long or has no such plugin any
        more.
        """
        hosted = self._hosted
        host = hosted.settings.host if hosted.settings is not None else HostSettings()
        hosted.importing = importing = FreshImport(hosted.origin)
        found, imported = await importing.run(self._launcher.site.world, host.start_ms / 1000)
        if imported is not None:
            imported.users = 1  # of all that was found, this plugin alone is begun
        for plugin in found:
            if plugin.name == hosted.name:
                return plugin, imported
        if imported is not None:
            imported.release()
        raise PluginError(f"{hosted.origin.source} has no plugin {hosted.name} any more")
