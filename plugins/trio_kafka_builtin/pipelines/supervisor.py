"""Supervisor of pipelines: each runs in a task of one nursery, once the broker serves."""

from collections.abc import Iterator, Mapping
from contextlib import ExitStack
from typing import Any, Final

import trio

from trio_kafka.introspect.tree import Node
from trio_kafka.plugin import PluginContext
from trio_kafka.world.protocols import Directory
from trio_kafka_builtin.pipelines.definition import OURS, Definition
from trio_kafka_builtin.pipelines.directory import Refused, read_directory
from trio_kafka_builtin.pipelines.lines import Lines
from trio_kafka_builtin.pipelines.log_file import LogFile
from trio_kafka_builtin.pipelines.pipeline import Pipeline
from trio_kafka_builtin.pipelines.settings import PipelineSettings

_PLANE: Final = "http"  # the plugin that serves HTTP
_EVERYWHERE: Final = frozenset({"", "0.0.0.0", "::", "[::]"})  # noqa: S104 - read, not bound


class Supervisor:
    """Pipelines of one generation of the plugin. refused: files with invalid definitions."""

    def __init__(self, context: PluginContext[PipelineSettings]) -> None:
        self.settings = context.settings
        self.refused: list[Refused] = []
        self._context = context
        self._pipelines: dict[str, Pipeline] = {}
        self._ended = trio.Event()
        self._logs: Directory | None = None

    def __iter__(self) -> Iterator[Pipeline]:
        return iter(list(self._pipelines.values()))

    def now(self) -> float:
        """Seconds since 1970."""
        return self._context.world.clock.wall()

    def find(self, name: str) -> Pipeline | None:
        return self._pipelines.get(name)

    async def load(self) -> None:
        """Read the definitions. Raises ValueError without a directory, OSError."""
        context, settings = self._context, self.settings
        if not settings.directory:
            raise ValueError(
                "plugin.pipelines.directory is not set, want a directory of TOML files"
            )
        directory = context.world.directory(settings.directory)
        definitions, self.refused = await read_directory(directory)
        for file in self.refused:
            context.logger.error("pipeline refused", file=file.file, reason=file.error)
        logs = settings.log_directory or f"{directory.path}/logs"
        try:
            self._logs = context.world.directory(logs, create=True)
        except OSError as error:
            context.logger.warning("pipeline log files disabled", path=logs, reason=str(error))
        self._pipelines = {definition.name: self._make(definition) for definition in definitions}

    async def run(self, *, task_status: trio.TaskStatus[None]) -> None:
        """Run all of them; started at once, ended when each has ended."""
        with ExitStack() as stack:
            for pipeline in self:
                node = self._context.node
                stack.enter_context(
                    node.child(f"pipeline {pipeline.name}", "task", pipeline.figures)
                )
            try:
                async with trio.open_nursery() as nursery:
                    task_status.started()
                    await self._context.parts.lifecycle.serving.wait()  # plugins start before
                    for pipeline in self:
                        nursery.start_soon(pipeline.run, name=f"pipeline {pipeline.name}")
                if len(self._pipelines):
                    self._context.logger.info("pipelines ended")
            finally:
                self._ended.set()
            await trio.sleep_forever()

    async def drain(self) -> None:
        """Stop all of them in order and wait for their end."""
        self._stop()
        await self._ended.wait()

    async def stop_early(self) -> None:
        """Stop all pipelines early in the broker's stop, while it still serves their clients."""
        await self._context.parts.lifecycle.leaving.wait()
        self._stop()

    def _stop(self) -> None:
        for pipeline in self:
            pipeline.stop()

    def _make(self, definition: Definition) -> Pipeline:
        context, name = self._context, definition.name
        return Pipeline(
            definition=definition,
            world=context.world,
            lines=Lines(self.settings.log_lines),
            file=LogFile(
                self._logs,
                name,
                most_bytes=self.settings.log_bytes,
                logger=context.logger,
            ),
            logger=context.logger,
            environment=self._environment,
            restarted=context.counter("pipeline_restarts", pipeline=name),
            rows=context.counter("pipeline_rows", pipeline=name),
            since=context.world.clock.wall(),
        )

    def _environment(self, name: str, token: str) -> Mapping[str, str]:
        """Environment of a child: the broker's address, and how to post progress."""
        variables = {OURS: name}
        url = http_url(self._context.node)
        if url is not None:
            variables[f"{OURS}_URL"] = f"{url}{self.settings.path}/{name}/progress"
            variables[f"{OURS}_TOKEN"] = token
        bootstrap = bootstrap_of(self._context)
        if bootstrap is not None:
            variables["TRIO_KAFKA_BOOTSTRAP"] = bootstrap
        return variables


def http_url(node: Node) -> str | None:
    """Return where the HTTP plane listens, from its nodes in the tree; None: there is none.

    node: of a generation of a plugin, beside which the plane's own is.
    """
    plugins = node.parent.parent if node.parent is not None else None
    for plugin in plugins.children if plugins is not None else ():
        if plugin.name == _PLANE:
            addresses = [node.name for _, node in plugin.walk() if node.kind == "listener"]
            return _reachable(addresses[0]) if addresses else None
    return None


def _reachable(url: str) -> str:
    """Return the address that a child uses: of this machine, for a plane on all interfaces."""
    scheme, _, authority = url.partition("://")
    host, _, port = authority.rpartition(":")
    return f"{scheme}://127.0.0.1:{port}" if host in _EVERYWHERE else url


def bootstrap_of(context: PluginContext[Any]) -> str | None:
    """Return the first address that this broker advertises; None: it is not registered."""
    broker = context.parts.metadata.image.brokers.get(context.parts.node_id)
    endpoint = next(iter(broker.endpoints), None) if broker is not None else None
    return None if endpoint is None else f"{endpoint.host}:{endpoint.port}"
