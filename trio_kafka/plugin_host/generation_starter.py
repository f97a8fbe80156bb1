"""Start of plugin generations, each as a task of the host's nursery."""

from collections.abc import Awaitable, Callable
from functools import partial

import trio
from attrs import field

from trio_kafka.attributes import define
from trio_kafka.plugin_host.declaration import Plugin
from trio_kafka.plugin_host.dependencies import PluginHostDependencies
from trio_kafka.plugin_host.generation import Generation
from trio_kafka.plugin_host.hosted_plugin import HostedPlugin
from trio_kafka.plugin_host.importing import Imported
from trio_kafka.plugin_host.settings import Settings


@define(eq=False)
class GenerationStarter:
    """Starter of generations. on_failure: called when a ready one fails. nursery: while the host
    runs.
    """

    dependencies: PluginHostDependencies
    on_failure: Callable[[HostedPlugin, Generation], None]
    nursery: trio.Nursery | None = field(default=None, init=False)

    async def begin(self, hosted: HostedPlugin) -> Generation:
        """Start a generation of the imported plugin and wait until it is ready or has failed."""
        plugin, settings = hosted.plugin, hosted.settings
        if plugin is None or settings is None:
            raise RuntimeError(f"plugin {hosted.name} was not validated")
        generation = self._make(hosted, plugin, settings, imported=hosted.imported)
        hosted.current = generation
        self._start(generation, partial(_publish, hosted, generation))
        await generation.wait_settled()
        return generation

    async def replace(
        self, hosted: HostedPlugin, plugin: Plugin, settings: Settings, *, imported: Imported | None
    ) -> Generation:
        """Start a generation of a freshly imported plugin and wait until it is ready or has failed.

        It replaces the current generation at the moment it is ready.
        """
        generation = self._make(hosted, plugin, settings, imported=imported)
        hosted.starting = generation
        try:
            self._start(
                generation, partial(_replace_current, hosted, generation, plugin, imported=imported)
            )
            await generation.wait_settled()
        finally:
            hosted.starting = None
        return generation

    def spawn(self, name: str, call: Callable[..., Awaitable[None]], *arguments: object) -> None:
        """Run a task of a plugin's lifecycle. Raises RuntimeError."""
        if self.nursery is None:
            raise RuntimeError("the plugin host does not run")
        self.nursery.start_soon(call, *arguments, name=name)

    def _make(
        self, hosted: HostedPlugin, plugin: Plugin, settings: Settings, *, imported: Imported | None
    ) -> Generation:
        hosted.begun += 1
        return Generation(
            plugin,
            hosted.begun,
            settings=settings,
            dependencies=self.dependencies,
            node=hosted.node,
            on_failure=partial(self.on_failure, hosted),
            imported=imported,
            replaces=hosted.published,
        )

    def _start(self, generation: Generation, ready: Callable[[], None]) -> None:
        self.spawn(f"plugin {generation.name}-{generation.number}", generation.run, ready)


def _replace_current(
    hosted: HostedPlugin, generation: Generation, plugin: Plugin, *, imported: Imported | None
) -> None:
    """Make a ready generation the current one."""
    hosted.keep_past()
    hosted.drop_import()
    hosted.plugin, hosted.settings, hosted.imported = plugin, generation.settings, imported
    hosted.current = generation
    hosted.restarts = 0
    _publish(hosted, generation)


def _publish(hosted: HostedPlugin, generation: Generation) -> None:
    """Record that the broker uses the contributions of this generation."""
    hosted.published = generation.contributions
