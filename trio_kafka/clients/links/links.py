"""Links of one client to all brokers, by node id; the bootstrap addresses have negative ids."""

from collections.abc import Callable, Collection, Iterable
from typing import TYPE_CHECKING, NoReturn

import trio
from attrs import field

from trio_kafka.attributes import define
from trio_kafka.clients.links.link import BrokerLink
from trio_kafka.clients.metrics.network import NetworkMetrics
from trio_kafka.clients.settings.common import ClientSettings
from trio_kafka.clients.settings.security import credentials, tls_settings
from trio_kafka.introspect.tree import Figures
from trio_kafka.model import Endpoint
from trio_kafka.world.world import World

if TYPE_CHECKING:
    from trio_kafka.clients.links.login import ClientLogin
    from trio_kafka.security.tls.handshake import TlsOpener


@define(eq=False, kw_only=True)
class BrokerLinks:
    """Links by node id, each made when it is first used. `run` owns their tasks.

    address_of: returns the address of a node, or None. limit: requests in flight of each link.
    watchers: called when a link may take requests that could not be sent before.
    """

    world: World
    settings: ClientSettings
    address_of: Callable[[int], Endpoint | None]
    metrics: NetworkMetrics
    limit: int = 5
    watchers: list[Callable[[], None]] = field(factory=list, init=False)
    tls: "TlsOpener | None" = field(init=False)
    login: "ClientLogin | None" = field(default=None, init=False)
    _links: dict[int, BrokerLink] = field(factory=dict, init=False)
    _new: list[BrokerLink] = field(factory=list, init=False)
    _opened: trio.Event = field(factory=trio.Event, init=False)

    def __attrs_post_init__(self) -> None:
        tls = tls_settings(self.settings)
        self.tls = None
        if tls is not None:
            # Imported here: most programs use no TLS.
            from trio_kafka.security.tls.handshake import TlsOpener  # noqa: PLC0415 - see above

            self.tls = TlsOpener(self.world, tls)
        login = credentials(self.settings)
        if login is not None:
            from trio_kafka.clients.links.login import ClientLogin  # noqa: PLC0415 - see above

            self.login = ClientLogin(self.world, login)

    async def load(self) -> None:
        """Read what the connections need. Raises ConfigError."""
        if self.tls is None:
            await trio.lowlevel.checkpoint()
        else:
            await self.tls.load()

    def __getitem__(self, node: int) -> BrokerLink:
        """Return the link to a node; one that does not exist is an error of its calls."""
        link = self._links.get(node)
        if link is None:
            link = self._links[node] = BrokerLink(
                node=node,
                world=self.world,
                settings=self.settings,
                address=lambda: self.address_of(node),
                metrics=self.metrics,
                limit=self.limit,
                changed=self._changed,
                tls=self.tls,
                login=self.login,
            )
            self._new.append(link)
            self._opened.set()
        return link

    async def run(self) -> NoReturn:
        """Run the tasks of all links until cancelled."""
        async with trio.open_nursery() as nursery:
            if self.login is not None:
                nursery.start_soon(self.login.run, name="login")
            while True:
                await self._opened.wait()
                self._opened = trio.Event()
                for link in self._new:
                    nursery.start_soon(link.run, name=f"link-{link.node}")
                self._new.clear()

    def keep(self, nodes: Collection[int]) -> None:
        """Close and forget links to other nodes: those have left the cluster."""
        for node in self._links.keys() - set(nodes):
            self._links.pop(node).retire()

    def least_loaded(self, nodes: Iterable[int], now: float) -> int | None:
        """Return a node to ask: connected with few requests, else one not in its back-off.

        None: each of them is in its back-off.
        """
        candidates = list(nodes)
        self.world.random.shuffle(candidates)
        connected = [n for n in candidates if n in self._links and self._links[n].is_connected]
        if connected:
            return min(connected, key=lambda node: self._links[node].in_flight)
        for node in candidates:
            link = self._links.get(node)
            if link is None or link.reconnection.not_before <= now:
                return node
        return None

    def figures(self) -> Figures:
        """Return the figures of all links for the tree."""
        return {"links": len(self._links), "connected": self.connected}

    @property
    def connected(self) -> int:
        """Number of open connections."""
        return sum(link.is_connected for link in self._links.values())

    @property
    def links(self) -> Collection[BrokerLink]:
        """The links so far."""
        return self._links.values()

    def _changed(self) -> None:
        for watcher in self.watchers:
            watcher()
