"""Listeners that follow the settings while the broker runs.

A change is rejected as a whole if a new address cannot be bound. The sockets are bound before the
decision (`prepared`) and served as soon as the change is published (`follow`), before removed
listeners are closed. Settings in force that were not prepared are bound by a separate task, which
logs failures.
A new listener with the address of a removed one takes over its socket; clients that connect
meanwhile wait. If the addresses only overlap (same port, all addresses), the new one is bound after
the old one is closed, and a failure can only be logged.
A listener that stays keeps its socket: a changed address is bound at the next start, as in Kafka.
Advertised addresses are registered only at the start. Source: KIP-226; Apache Kafka 4.4.0.
"""

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import Final, NoReturn

import attrs
import trio

from trio_kafka.broker.listeners import control_settings, listener_settings
from trio_kafka.config.broker import BrokerConfig
from trio_kafka.config.dynamic import Layers
from trio_kafka.config.endpoints import parse_endpoint
from trio_kafka.errors import ErrorCode, KafkaError, advice
from trio_kafka.introspect.log import get_logger
from trio_kafka.introspect.tree import Figures, Node
from trio_kafka.model import Endpoint
from trio_kafka.network.listener import BoundListener, bind_listener
from trio_kafka.network.plane import Plane
from trio_kafka.network.settings import ListenerSettings
from trio_kafka.world.protocols import Network

_logger: Final = get_logger(__name__)
_NAMES: Final = ("listener.security.protocol.map", "listeners")


class DynamicListeners:
    """Listeners of the data plane, which may change, and of the control plane, which does not."""

    def __init__(self, network: Network, written: BrokerConfig, node: Node) -> None:
        """Create the part. written: the configuration of the files, without dynamic changes.

        bound: the configuration whose addresses were bound at the start.
        """
        self._network = network
        self._written = written
        self.bound = written
        self._data: Plane
        self._control: Plane | None = None
        self._order: tuple[str, ...] = ()
        self._in_force: Mapping[str, ListenerSettings] = {}
        self._ready: dict[str, BoundListener] = {}
        self._changed = trio.Event()
        self._bound_late = self._failed = 0
        node.add("listening", "part", self.figures)

    @property
    def endpoints(self) -> Mapping[str, Endpoint]:
        """Bound addresses by listener name, in the order of the settings."""
        planes = (self._data,) if self._control is None else (self._data, self._control)
        bound = {
            name: listener.address for plane in planes for name, listener in plane.listeners.items()
        }
        return {name: bound[name] for name in self._order if name in bound}

    async def run(
        self,
        data: Plane,
        control: Plane | None,
        config: BrokerConfig,
        *,
        task_status: trio.TaskStatus[None] = trio.TASK_STATUS_IGNORED,
    ) -> NoReturn:
        """Serve the planes until cancelled; started when all listeners of `config` are bound.

        Raises OSError if one cannot be bound; its `filename` names listener and address.
        """
        self._data, self._control, self.bound = data, control, config
        async with trio.open_nursery() as nursery:
            await nursery.start(data.run, listener_settings(config), name=f"plane {data.name}")
            of_control = control_settings(config)
            if control is not None and of_control is not None:
                await nursery.start(control.run, [of_control], name=f"plane {control.name}")
            self.follow(config)
            task_status.started()
            while True:
                await self._changed.wait()
                self._changed = trio.Event()
                await self._bind_late()

    async def servable(self, config: BrokerConfig) -> BrokerConfig:
        """Return the configuration to start with, without dynamic addresses that cannot be bound.

        A listener that a client moved to such an address keeps that of the files; one that the
        files lack is left out. Otherwise a client could keep a broker from starting again.
        """
        written = {endpoint.name: endpoint for endpoint in self._written.endpoints.broker}
        texts = {_name_in(text): text for text in self._written.listeners}
        listeners = []
        for text in config.listeners:
            name = _name_in(text)
            endpoint = next(
                (endpoint for endpoint in config.endpoints.broker if endpoint.name == name), None
            )
            if (
                endpoint is None
                or endpoint == written.get(name)
                or await self._can_bind(config, name)
            ):
                listeners.append(text)
            elif name in written:
                listeners.append(texts[name])
        if tuple(listeners) == config.listeners:
            return config
        return attrs.evolve(config, listeners=tuple(listeners))

    async def _can_bind(self, config: BrokerConfig, name: str) -> bool:
        control = control_settings(config)
        listeners = [*listener_settings(config), *([control] if control is not None else [])]
        (settings,) = [listener for listener in listeners if listener.name == name]
        try:
            bound = await bind_listener(self._network, settings)
        except OSError as error:
            self._failed += 1
            _logger.exception("listener address could not be bound", at=error.filename)
            return False
        bound.socket.close()
        return True

    def follow(self, config: BrokerConfig) -> None:
        """Serve the listeners of the settings in force."""
        self._order = tuple(endpoint.name for endpoint in config.endpoints.broker)
        self._in_force = {listener.name: listener for listener in listener_settings(config)}
        served = self._data.listeners
        for name, settings in self._in_force.items():
            replaced = self._replaceable(settings, self._in_force)
            try:
                if name not in served and replaced is not None:
                    self._data.rename(replaced, settings)
                    _logger.info("listener renamed", listener=f"{name}://{served[name].address}")
                elif name not in served and name in self._ready:
                    self._data.add(self._ready.pop(name))
                    _logger.info("listener added", listener=f"{name}://{served[name].address}")
            except OSError as error:
                self._not_served(name, error)
            if name in served:
                self._data.resize(name, settings.processors)
            else:
                self._changed.set()
        for name in [name for name in served if name not in self._in_force]:
            _logger.info("listener removed", listener=f"{name}://{served[name].address}")
            self._data.remove(name)

    @asynccontextmanager
    async def prepared(self, changed: Mapping[str, str]) -> AsyncIterator[None]:
        """Bind the listeners that these settings would add, for the duration of the block.

        changed: all dynamic settings of this broker after the change. Listeners not served at the
        end of the block are closed. Raises KafkaError(INVALID_REQUEST) if one cannot be bound.
        """
        names = {name: changed[name] for name in _NAMES if name in changed}
        layers = Layers(config=self._written, dynamic=names).usable()[0]
        listeners = {listener.name: listener for listener in listener_settings(layers.effective())}
        try:
            for name, settings in listeners.items():
                if (
                    name in self._data.listeners
                    or self._replaceable(settings, listeners) is not None
                ):
                    continue
                try:
                    self._ready[name] = await self._bind(settings)
                except KafkaError:
                    if not self._port_becomes_free(settings, listeners):
                        raise
            yield
        finally:
            for bound in self._ready.values():
                bound.socket.close()
            self._ready = {}

    def _replaceable(
        self, settings: ListenerSettings, listeners: Mapping[str, ListenerSettings]
    ) -> str | None:
        """Return the listener that is removed and whose socket the new listener needs."""
        for name, served in self._data.listeners.items():
            at = (served.settings.host, served.address.port)
            if name not in listeners and at == (settings.host, settings.port):
                return name
        return None

    def _port_becomes_free(
        self, settings: ListenerSettings, listeners: Mapping[str, ListenerSettings]
    ) -> bool:
        """Return True if a listener that is being removed may block the address."""
        return any(
            name not in listeners and served.address.port == settings.port
            for name, served in self._data.listeners.items()
        )

    async def _bind(self, settings: ListenerSettings) -> BoundListener:
        try:
            return await bind_listener(self._network, settings)
        except OSError as error:
            reason = f"listeners: {error.filename}: {error.strerror}{advice(error)}"
            raise KafkaError(ErrorCode.INVALID_REQUEST, reason) from error

    async def _bind_late(self) -> None:
        """Bind the listeners in force that were not prepared."""
        await self._data.wait_closed()
        for settings in list(self._in_force.values()):
            if settings.name in self._data.listeners:
                continue
            try:
                bound = await self._bind(settings)
            except KafkaError as error:
                self._not_served(settings.name, error)
                continue
            now = self._in_force.get(settings.name)
            if now is None or settings.name in self._data.listeners:
                bound.socket.close()  # changed meanwhile
            else:
                try:
                    self._data.add(bound)
                except OSError as error:
                    self._not_served(settings.name, error)
                    continue
                self._bound_late += 1
                self._data.resize(settings.name, now.processors)

    def _not_served(self, name: str, error: OSError | KafkaError) -> None:
        self._failed += 1
        _logger.error("listener could not be served", listener=name, reason=str(error))

    def figures(self) -> Figures:
        return {
            "wanted": ",".join(self._in_force),
            "bound_ahead": len(self._ready),
            "bound_late": self._bound_late,
            "failed": self._failed,
        }


def _name_in(listener: str) -> str:
    return parse_endpoint(listener, "listeners")[0]
