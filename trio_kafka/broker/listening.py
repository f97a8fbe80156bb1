"""The listeners of a broker follow its settings while it runs.

A change is refused, and changes nothing, where a new address cannot be bound: whoever asks for it
has the sockets bound before it is decided on (`prepared`), and they are served as soon as it is
published (`follow`), before those that are gone are closed. What is in force without having been
prepared is bound by a task of its own, which tells the log if it cannot.
A new listener with the address of one that goes gets its socket: who connects meanwhile waits. One
whose address overlaps with that (the same port on every address) is bound when it is closed, which
can only be told to the log.
A listener that stays keeps its socket: another address is bound at the next start, as in Kafka.
What clients are told of listeners is registered at the start alone. Source: KIP-226; Apache Kafka
4.4.0.
"""

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import Final, NoReturn

import attrs
import trio

from trio_kafka.broker.errors import advice
from trio_kafka.broker.listeners import control_settings, listener_settings
from trio_kafka.config.broker import BrokerConfig
from trio_kafka.config.dynamic import Layers
from trio_kafka.config.endpoints import parse_endpoint
from trio_kafka.errors import ErrorCode, KafkaError
from trio_kafka.introspect.log import get_logger
from trio_kafka.introspect.tree import Figures, Node
from trio_kafka.model import Endpoint
from trio_kafka.network.listener import BoundListener, bind_listener
from trio_kafka.network.plane import Plane
from trio_kafka.network.settings import ListenerSettings
from trio_kafka.world.protocols import Network

_logger: Final = get_logger(__name__)
_NAMES: Final = ("listener.security.protocol.map", "listeners")


class Listening:
    """Of the data plane, whose listeners change, and of the control plane, whose one does not."""

    def __init__(self, network: Network, written: BrokerConfig, node: Node) -> None:
        """written: the configuration of the files, which changes lie over."""
        self._network = network
        self._written = written
        self._data: Plane
        self._control: Plane | None = None
        self._order: tuple[str, ...] = ()
        self._wanted: Mapping[str, ListenerSettings] = {}
        self._ready: dict[str, BoundListener] = {}
        self._changed = trio.Event()
        self._late = self._failed = 0
        node.add("listening", "part", self.figures)

    @property
    def endpoints(self) -> Mapping[str, Endpoint]:
        """The addresses that are bound, by the listener's name, in the order of the settings."""
        planes = (self._data,) if self._control is None else (self._data, self._control)
        bound = {name: one.address for plane in planes for name, one in plane.listeners.items()}
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

        Raises OSError if one cannot be; its `filename` names listener and address.
        """
        self._data, self._control = data, control
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
        """The configuration for the start: a listener that a client has moved to an address that
        cannot be bound is where the files say. One that the files do not have is left out.

        Without this a client could keep a broker from starting again.
        """
        written = {one.name: one for one in self._written.endpoints.broker}
        texts = {_name_in(text): text for text in self._written.listeners}
        listeners = []
        for text in config.listeners:
            name = _name_in(text)
            one = next((one for one in config.endpoints.broker if one.name == name), None)
            if one is None or one == written.get(name) or await self._can_bind(config, name):
                listeners.append(text)
            elif name in written:
                listeners.append(texts[name])
        if tuple(listeners) == config.listeners:
            return config
        return attrs.evolve(config, listeners=tuple(listeners))

    async def _can_bind(self, config: BrokerConfig, name: str) -> bool:
        control = control_settings(config)
        found = [*listener_settings(config), *([control] if control is not None else [])]
        (settings,) = [one for one in found if one.name == name]
        try:
            bound = await bind_listener(self._network, settings)
        except OSError as error:
            self._failed += 1
            _logger.exception("address of a listener not bound", at=error.filename)
            return False
        bound.socket.close()
        return True

    def follow(self, config: BrokerConfig) -> None:
        """Serve what is in force now."""
        self._order = tuple(one.name for one in config.endpoints.broker)
        self._wanted = {one.name: one for one in listener_settings(config)}
        served = self._data.listeners
        for name, settings in self._wanted.items():
            heir_of = self._going(settings, self._wanted)
            try:
                if name not in served and heir_of is not None:
                    self._data.rename(heir_of, settings)
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
        for name in [name for name in served if name not in self._wanted]:
            _logger.info("listener removed", listener=f"{name}://{served[name].address}")
            self._data.remove(name)

    @asynccontextmanager
    async def prepared(self, changed: Mapping[str, str]) -> AsyncIterator[None]:
        """While the block runs the listeners are bound that would be new with these settings.

        changed: all that would be set for this broker while it runs. What is not served when the
        block ends is closed. Raises KafkaError(INVALID_REQUEST) if one cannot be bound.
        """
        names = {name: changed[name] for name in _NAMES if name in changed}
        layers = Layers(config=self._written, dynamic=names).usable()[0]
        wanted = {one.name: one for one in listener_settings(layers.effective())}
        try:
            for name, settings in wanted.items():
                if name in self._data.listeners or self._going(settings, wanted) is not None:
                    continue
                try:
                    self._ready[name] = await self._bind(settings)
                except KafkaError:
                    if not self._port_goes(settings, wanted):
                        raise
            yield
        finally:
            for bound in self._ready.values():
                bound.socket.close()
            self._ready = {}

    def _going(
        self, settings: ListenerSettings, wanted: Mapping[str, ListenerSettings]
    ) -> str | None:
        """The listener that is not wanted any more, and whose socket is what another one needs."""
        for name, served in self._data.listeners.items():
            at = (served.settings.host, served.address.port)
            if name not in wanted and at == (settings.host, settings.port):
                return name
        return None

    def _port_goes(
        self, settings: ListenerSettings, wanted: Mapping[str, ListenerSettings]
    ) -> bool:
        """Whether what keeps an address from being bound may be a listener that goes."""
        return any(
            name not in wanted and served.address.port == settings.port
            for name, served in self._data.listeners.items()
        )

    async def _bind(self, settings: ListenerSettings) -> BoundListener:
        try:
            return await bind_listener(self._network, settings)
        except OSError as error:
            found = f"listeners: {error.filename}: {error.strerror}{advice(error)}"
            raise KafkaError(ErrorCode.INVALID_REQUEST, found) from error

    async def _bind_late(self) -> None:
        """Of what is in force, that which nobody had bound before."""
        await self._data.wait_closed()
        for settings in list(self._wanted.values()):
            if settings.name in self._data.listeners:
                continue
            try:
                bound = await self._bind(settings)
            except KafkaError as error:
                self._not_served(settings.name, error)
                continue
            now = self._wanted.get(settings.name)
            if now is None or settings.name in self._data.listeners:
                bound.socket.close()  # it changed meanwhile
            else:
                try:
                    self._data.add(bound)
                except OSError as error:
                    self._not_served(settings.name, error)
                    continue
                self._late += 1
                self._data.resize(settings.name, now.processors)

    def _not_served(self, name: str, error: OSError | KafkaError) -> None:
        self._failed += 1
        _logger.error("listener not served", listener=name, reason=str(error))

    def figures(self) -> Figures:
        return {
            "wanted": ",".join(self._wanted),
            "bound_ahead": len(self._ready),
            "bound_late": self._late,
            "failed": self._failed,
        }


def _name_in(listener: str) -> str:
    return parse_endpoint(listener, "listeners")[0]
