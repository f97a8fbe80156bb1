"""PluginHarness: runs a plugin, or handlers, in a test without sockets.

    async with PluginHarness(echo, settings={"prefix": "> "}) as harness:
        answer = await harness.ask(EchoRequest(text="hello"))

The broker's own plugin host runs the plugin. Requests pass the broker's routes, interceptors and
codecs as whole frames, in virtual time (`autojump_clock`) and in a simulated world. Parts of a
broker that the plugin needs are given as `parts`. With `broker=True` it gets a whole broker with
the installed APIs.
"""

from collections.abc import AsyncIterator, Callable, Iterable, Iterator, Mapping
from contextlib import AbstractAsyncContextManager, asynccontextmanager, contextmanager
from types import TracebackType
from typing import Any, Final, Self

import attrs
import trio

from trio_kafka.config.load import Layer, broker_config, options
from trio_kafka.errors import leaves
from trio_kafka.introspect.metrics import Counters
from trio_kafka.introspect.tree import Node
from trio_kafka.model import NodeId
from trio_kafka.plugin_host.declaration import Plugin
from trio_kafka.plugin_host.dependencies import PluginHostDependencies
from trio_kafka.plugin_host.guard import PluginError
from trio_kafka.plugin_host.host import PluginHost
from trio_kafka.plugin_host.hosted_plugin import HostedPlugin
from trio_kafka.plugin_host.lifecycle import State
from trio_kafka.plugin_host.mounts import Mounts
from trio_kafka.plugin_host.settings import full_name
from trio_kafka.purgatory import Timers
from trio_kafka.requests.api import Api, api_of
from trio_kafka.requests.interceptors.registry import Interceptors
from trio_kafka.requests.parts import Parts
from trio_kafka.requests.registry import Registry, installed_apis
from trio_kafka.testing.broker import ServedBroker, served_broker
from trio_kafka.testing.direct import NEWEST, DirectClient, DirectGroup
from trio_kafka.testing.scripted_client import ScriptedClient, connect, newest
from trio_kafka.testing.simulation import simulated_world
from trio_kafka.world.world import World

Handler = Callable[..., object]
_CLIENT: Final = "harness"


class PluginHarness:
    """Plugins or handlers under test; an async context manager.

    plugin: one, several, or None. handlers: functions marked `@api`, served besides.
    settings: of one plugin by its own keys; of several, or of the broker, by full names.
    parts: what handlers reach by class, under the names of the fields of `requests.parts.Parts`.
    broker: start a whole broker, with all parts.
    Raises PluginError or StartError on entry if a plugin does not become ready, and ConfigError for
    invalid settings.
    """

    def __init__(
        self,
        plugin: Plugin | Iterable[Plugin] | None = None,
        *,
        handlers: Iterable[Handler] = (),
        settings: Mapping[str, str] | None = None,
        parts: Mapping[str, object] | None = None,
        broker: bool = False,
        world: World | None = None,
    ) -> None:
        self._plugins = _listed(plugin)
        self._handlers = tuple(handlers)
        self._settings = _full_names(self._plugins, settings or {})
        self._parts = dict(parts or {})
        self._whole = broker
        self._world = world
        self._run: AbstractAsyncContextManager[None] | None = None
        self._client: DirectClient | ScriptedClient | None = None
        self.world: World
        self.parts: Parts
        self.counters: Counters
        self.node: Node
        self.host: PluginHost
        self.served: ServedBroker | None = None
        self._group: DirectGroup | None = None

    async def __aenter__(self) -> Self:
        self.world = self._world or simulated_world()
        self._run = self._running_broker() if self._whole else self._running()
        with _unwrapped():
            await self._run.__aenter__()
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> bool | None:
        run, self._run = self._run, None
        with _unwrapped():
            return None if run is None else await run.__aexit__(kind, error, traceback)

    # --- requests

    async def ask(
        self, request: Any, version: int | None = NEWEST, *, client_id: str | None = _CLIENT
    ) -> Any:
        """Return the response to a request as a message; None if it has none (acks=0).

        version: None: the newest stable one.
        Requests with one client id share a connection, one after the other.
        Raises ClosedError if the connection is closed instead; with a whole broker, EOFError.
        """
        client = self._client
        if client is None or client_id != _CLIENT:
            client = await self.connect(client_id)
            if client_id == _CLIENT:
                self._client = client
        if isinstance(client, DirectClient):
            return await client.ask(request, version)
        answer = await client.ask(request, newest(type(request)) if version is None else version)
        if client_id != _CLIENT:
            client.close()
        return answer

    def client(self, client_id: str | None = _CLIENT) -> DirectClient:
        """Return a client with a new connection; for a whole broker use `connect`."""
        if self._group is None:
            raise RuntimeError("the harness runs a whole broker: await harness.connect() instead")
        return self._group.client(client_id)

    async def connect(self, client_id: str | None = _CLIENT) -> DirectClient | ScriptedClient:
        """Return a client with a new connection, also to a whole broker."""
        if self.served is None:
            await trio.lowlevel.checkpoint()
            return self.client(client_id)
        address = self.served.broker.endpoint
        return await connect(self.world.network, address, client_id=client_id)

    # --- parts under test

    def add(self, handler: Handler) -> None:
        """Serve one more handler, marked `@api`."""
        self.parts.apis.add(_marked(handler))

    @property
    def timers(self) -> Timers:
        """Timers for purgatories of the test."""
        if self._group is None:
            raise RuntimeError("the harness runs a whole broker: use its own timers")
        return self._group.timers

    @property
    def interceptors(self) -> Interceptors:
        """Interceptors, for some besides those of the plugin."""
        return self.parts.interceptors

    @property
    def mounts(self) -> Mounts:
        """ASGI apps of the plugin."""
        return self.host.dependencies.mounts

    @property
    def hosted(self) -> HostedPlugin:
        """The plugin, or the first of them, as the host keeps it: its state, its failures."""
        return self.host.find(self._plugins[0].name)

    # --- life

    @asynccontextmanager
    async def _running(self) -> AsyncIterator[None]:
        registry = Registry()
        for handler in self._handlers:
            registry.add(_marked(handler))
        self.node, self.counters = Node("harness", "broker"), Counters()
        fields: dict[str, Any] = {"node_id": NodeId(1), "cluster_id": "harness"}
        fields |= {"config": broker_config(), "tree": self.node, **self._parts}
        interceptors = Interceptors(registry, self.node.add("interceptors", "part"))
        self.parts = Parts(apis=registry, interceptors=interceptors, **fields)
        self._group = DirectGroup(self.world, self.parts, self.counters, self.node)
        async with trio.open_nursery() as nursery:
            await nursery.start(self._group.run)
            self.host = PluginHost(self._dependencies(nursery), self._plugins)
            await nursery.start(self.host.run)
            self._check_ready()
            try:
                yield
            finally:
                with trio.move_on_after(10) as scope:
                    scope.shield = True  # what a plugin does when it goes is part of its test
                    await self.host.stop()
                nursery.cancel_scope.cancel()

    def _dependencies(self, nursery: trio.Nursery) -> PluginHostDependencies:
        async def fail(error: Exception) -> None:
            raise error

        layer: Layer = options(f"{name}={text}" for name, text in self._settings.items())
        return PluginHostDependencies(
            parts=self.parts,
            world=self.world,
            node=self.node,
            layer=layer,
            counters=self.counters,
            fail=lambda error: nursery.start_soon(fail, error),
        )

    @asynccontextmanager
    async def _running_broker(self) -> AsyncIterator[None]:
        apis = None
        if self._handlers:
            apis = installed_apis()
            for handler in self._handlers:
                apis.add(_marked(handler))
        async with served_broker(
            self.world, self._settings, apis=apis, plugins=self._plugins
        ) as served:
            broker = served.broker
            for name, part in self._parts.items():
                setattr(broker.parts, name, part)
            self.served, self.parts, self.counters = served, broker.parts, broker.counters
            self.node, self.host = broker.node, broker.plugins
            self._check_ready()
            try:
                yield
            finally:
                if isinstance(self._client, ScriptedClient):
                    self._client.close()

    def _check_ready(self) -> None:
        for plugin in self.host.plugins:
            if plugin.enabled and plugin.state is not State.READY:
                raise PluginError(f"plugin {plugin.name} is {plugin.state.value}: {plugin.error}")


@contextmanager
def _unwrapped() -> Iterator[None]:
    """Raise a single error without the exception groups of nurseries."""
    try:
        yield
    except BaseExceptionGroup as group:
        errors = leaves(group)
        if len(errors) != 1:
            raise
        raise errors[0] from None


def _listed(plugin: Plugin | Iterable[Plugin] | None) -> tuple[Plugin, ...]:
    if plugin is None:
        return ()
    return (plugin,) if isinstance(plugin, Plugin) else tuple(plugin)


def _full_names(plugins: tuple[Plugin, ...], settings: Mapping[str, str]) -> dict[str, str]:
    """Return settings by full name: the own keys of a single plugin get its prefix."""
    if len(plugins) != 1:
        return dict(settings)
    (plugin,) = plugins
    own = {setting.name for setting in attrs.fields(plugin.settings)}
    full = {}
    for name, text in settings.items():
        is_own = name.replace(".", "_") in own or "." not in name
        full[full_name(plugin.name, name) if is_own else name] = text
    return full


def _marked(handler: Handler) -> Api:
    api = api_of(handler)
    if api is None:
        raise TypeError(f"{handler!r} is not marked @api")
    return api
