"""Begins generations of plugins, each in a task of the nursery that all of a broker share."""

from collections.abc import Awaitable, Callable
from functools import partial

import trio
from attrs import field

from trio_kafka.attributes import define
from trio_kafka.plugin_host.declared import Plugin
from trio_kafka.plugin_host.generation import Generation
from trio_kafka.plugin_host.hosted import Hosted
from trio_kafka.plugin_host.importing import Imported
from trio_kafka.plugin_host.settings import Settings
from trio_kafka.plugin_host.site import HostSite


@define(eq=False)
class Launcher:
    """told: of a generation that was ready and has failed. nursery: while the host runs."""

    site: HostSite
    told: Callable[[Hosted, Generation], None]
    nursery: trio.Nursery | None = field(default=None, init=False)

    async def begin(self, hosted: Hosted) -> None:
        """A generation of what was imported, up to ready or failed; the plugin's current one."""
        plugin, settings = hosted.plugin, hosted.settings
        if plugin is None or settings is None:
            raise RuntimeError(f"plugin {hosted.name} was not validated")
        generation = self._make(hosted, plugin, settings, hosted.imported)
        hosted.current = generation
        self._start(generation, partial(_stand, hosted, generation))
        await generation.wait_settled()

    async def replace(
        self, hosted: Hosted, plugin: Plugin, settings: Settings, imported: Imported | None
    ) -> Generation:
        """A generation of what was imported anew, up to ready or failed: it is the plugin's current
        one from the moment in which it is ready.
        """
        generation = self._make(hosted, plugin, settings, imported)
        hosted.starting = generation
        try:
            self._start(generation, partial(_take_place, hosted, generation, plugin, imported))
            await generation.wait_settled()
        finally:
            hosted.starting = None
        return generation

    def spawn(self, name: str, call: Callable[..., Awaitable[None]], *arguments: object) -> None:
        """Run something of a plugin's life beside all others. Raises RuntimeError."""
        if self.nursery is None:
            raise RuntimeError("the plugins' host does not run")
        self.nursery.start_soon(call, *arguments, name=name)

    def _make(
        self, hosted: Hosted, plugin: Plugin, settings: Settings, imported: Imported | None
    ) -> Generation:
        hosted.begun += 1
        return Generation(
            plugin,
            hosted.begun,
            settings=settings,
            site=self.site,
            node=hosted.node,
            told=partial(self.told, hosted),
            imported=imported,
            instead=hosted.standing,
        )

    def _start(self, generation: Generation, ready: Callable[[], None]) -> None:
        self.spawn(f"plugin {generation.name}-{generation.number}", generation.run, ready)


def _take_place(
    hosted: Hosted, generation: Generation, plugin: Plugin, imported: Imported | None
) -> None:
    """A new generation serves from now on."""
    hosted.keep_past()
    hosted.drop_import()
    hosted.plugin, hosted.settings, hosted.imported = plugin, generation.settings, imported
    hosted.current = generation
    hosted.restarts = 0
    _stand(hosted, generation)


def _stand(hosted: Hosted, generation: Generation) -> None:
    """What a generation gives is what the broker has of the plugin."""
    hosted.standing = generation.contributions
