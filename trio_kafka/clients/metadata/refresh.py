"""Task that keeps the metadata of a client fresh, and waits for topics.

A refresh asks a connected broker, else one that is not in its back-off, else an address of
`bootstrap.servers`. When no broker has answered for `metadata.recovery.rebootstrap.trigger.ms`, or
a broker says so, the client forgets all brokers and begins with the bootstrap addresses again
(KIP-899, KIP-1102).
"""

from collections.abc import Callable, Collection, Sequence
from typing import Final, NoReturn

import trio
from attrs import field

from trio_kafka.attributes import define
from trio_kafka.clients.dns import CANONICAL, canonical_bootstrap
from trio_kafka.clients.errors import (
    AuthenticationError,
    ClientError,
    Place,
    TimedOutError,
    TopicError,
    client_error,
    error_of,
)
from trio_kafka.clients.links.links import BrokerLinks
from trio_kafka.clients.metadata.cache import MetadataCache
from trio_kafka.clients.metadata.values import BrokerAddress, PartitionLeader, TopicMetadata
from trio_kafka.clients.metrics.network import NetworkMetrics
from trio_kafka.clients.metrics.registry import MetricRegistry
from trio_kafka.clients.settings.common import ClientSettings
from trio_kafka.errors import ErrorCode
from trio_kafka.introspect.tree import Figures
from trio_kafka.model import Endpoint
from trio_kafka.world.world import World

# Errors of a topic that a user must know at once; others may pass.
_FINAL: Final = frozenset({ErrorCode.INVALID_TOPIC_EXCEPTION, ErrorCode.TOPIC_AUTHORIZATION_FAILED})
_LARGEST_NODE: Final = (1 << 31) - 1
_SHORTEST_WINDOW_S: Final = 0.001


def coordinator_node(node: int) -> int:
    """Return the id of a second link to a broker, on which nothing waits for a Fetch.

    A broker serves the requests of one connection in turn: a heartbeat would come too late.
    """
    return _LARGEST_NODE - node


def bootstrap_node(number: int) -> int:
    """Return the node id of a bootstrap address, as Kafka numbers them: -1, -2 and so on."""
    return -1 - number


@define(eq=False, kw_only=True)
class Metadata:
    """The cache of a client, its task `run`, and waits for its changes.

    limit: requests in flight to each broker. kind: of the client, in names of its metrics.
    watchers: called after each change.
    """

    world: World
    settings: ClientSettings
    bootstrap: Sequence[Endpoint]
    cache: MetadataCache
    limit: int = 100
    kind: str = "admin-client"
    registry: MetricRegistry = field(init=False)
    links: BrokerLinks = field(init=False)
    watchers: list[Callable[[], None]] = field(factory=list, init=False)
    last_failure: ClientError | None = field(default=None, init=False)
    _failed_since: float | None = field(default=None, init=False)
    _refresh_due: trio.Event = field(factory=trio.Event, init=False)
    _changed: trio.Event = field(factory=trio.Event, init=False)

    def __attrs_post_init__(self) -> None:
        self.registry = MetricRegistry(
            trio.current_time(),
            max(self.settings.metrics_sample_window_ms / 1000, _SHORTEST_WINDOW_S),
            self.settings.metrics_num_samples,
            self.settings.client_id,
        )
        self.links = BrokerLinks(
            world=self.world,
            settings=self.settings,
            address_of=self.address_of,
            metrics=NetworkMetrics(self.registry, self.kind),
            limit=self.limit,
        )
        group = self.registry.group(f"{self.kind}-metrics")
        group.gauge("connection-count", lambda _: self.links.connected)
        group.gauge("metadata-age", self.cache.age_s)

    def address_of(self, node: int) -> Endpoint | None:
        """Return the address of a broker, or of a bootstrap address; None if there is none."""
        if node > _LARGEST_NODE // 2:
            node = _LARGEST_NODE - node
        if node < 0:
            number = -1 - node
            return self.bootstrap[number] if number < len(self.bootstrap) else None
        broker = self.cache.brokers.get(node)
        return None if broker is None else broker.endpoint

    async def run(self) -> NoReturn:
        """Refresh the metadata whenever they are due, until cancelled."""
        if self.settings.client_dns_lookup == CANONICAL:
            self.bootstrap = await canonical_bootstrap(self.world.network, self.bootstrap)
        while True:
            self._refresh_due = trio.Event()
            due = self.cache.due()
            if due > trio.current_time():
                with trio.move_on_at(due):
                    await self._refresh_due.wait()
                continue
            await self._refresh()

    def request_refresh(self) -> None:
        """Refresh soon, after the back-off: something has shown that the metadata are wrong."""
        self.cache.request_refresh()
        self._refresh_due.set()

    def take_hint(
        self,
        name: str,
        partition: int,
        leader: PartitionLeader,
        *,
        brokers: dict[int, Endpoint],
    ) -> bool:
        """Take a leader that a response has named; return whether it is newer (KIP-951)."""
        is_newer = self.cache.hint(name, partition, leader, brokers=brokers)
        if is_newer:
            self._note_change()
        return is_newer

    def topic_nowait(self, name: str, now: float | None = None) -> TopicMetadata | None:
        """Return a topic whose partitions are known; else None, and they are asked for.

        now: the current time, for a caller that has read the clock.
        """
        topic = self.cache.use(name, trio.current_time() if now is None else now)
        if topic is None:
            self._refresh_due.set()
        return topic

    def follow(self, owner: str, names: Collection[str]) -> None:
        """Ask for topics until they and their leaders exist: see `MetadataCache.follow`."""
        self.cache.follow(owner, names, trio.current_time())
        self._refresh_due.set()

    def take_broker(self, node: int, host: str, port: int) -> None:
        """Take the address of a broker that another response has named."""
        self.cache.brokers.setdefault(node, BrokerAddress(Endpoint(host, port)))

    async def wait_topic(self, name: str, *, timeout_s: float) -> TopicMetadata:
        """Return a topic as soon as its partitions are known.

        Raises TimedOutError, TopicError, AuthorizationError and AuthenticationError.
        """
        await trio.lowlevel.checkpoint()
        refreshes = self.cache.updates
        with trio.move_on_after(timeout_s):
            while (topic := self.topic_nowait(name)) is None:
                current = self.cache.topics.get(name)
                if current is not None and self.cache.updates > refreshes:
                    if current.error in _FINAL:
                        raise client_error(current.error, place=Place(topic=name))
                    if current.error:
                        self.request_refresh()
                await self._wait_authenticated_change()
            return topic
        raise self._no_metadata(name, timeout_s)

    async def wait_broker(self) -> int:
        """Return a broker to ask, as soon as one is known that is not in its back-off.

        Raises AuthenticationError.
        """
        await trio.lowlevel.checkpoint()
        while True:
            node = self.links.least_loaded(self.cache.brokers, trio.current_time())
            if node is not None:
                return node
            if self.cache.brokers:
                await trio.sleep(self.settings.reconnect_backoff_ms / 1000)
            else:
                self.request_refresh()
                await self._wait_authenticated_change()

    async def wait_change(self) -> None:
        """Wait for the next change of the metadata, or the next failure to read them."""
        await self._changed.wait()

    async def _wait_authenticated_change(self) -> None:
        """Wait as `wait_change`; a client with wrong credentials does not wait for better ones.

        Raises AuthenticationError.
        """
        await self.wait_change()
        if isinstance(self.last_failure, AuthenticationError):
            raise self.last_failure.again()

    def figures(self) -> Figures:
        """Return the figures of the metadata for the tree."""
        return {
            "topics": len(self.cache.topics),
            "brokers": len(self.cache.brokers),
            "updates": self.cache.updates,
            "stale": self.cache.is_stale,
        }

    def _no_metadata(self, name: str, timeout_s: float) -> ClientError:
        topic = self.cache.topics.get(name)
        place = Place(topic=name)
        if topic is not None and topic.error is ErrorCode.UNKNOWN_TOPIC_OR_PARTITION:
            message = f"the topic does not exist after {timeout_s:g} s"
            return TopicError(message, place=place, code=topic.error)
        reason = "" if self.last_failure is None else f"; the last failure: {self.last_failure}"
        if topic is not None and topic.error:
            reason = f"; the broker's answer: {topic.error.name}"
        return TimedOutError(f"no metadata within {timeout_s:g} s{reason}", place=place)

    async def _refresh(self) -> None:
        """Ask one broker."""
        now = trio.current_time()
        node = self._node(now)
        if node is None:
            self._failed(now)
            await trio.lowlevel.checkpoint()
            return
        try:
            response = await self.links[node].ask(
                self.cache.request(now), timeout_s=self.settings.request_timeout_s
            )
        except ClientError as error:
            self.last_failure = error
            self._failed(trio.current_time())
            return
        now = trio.current_time()
        if response.error_code == ErrorCode.REBOOTSTRAP_REQUIRED:
            self._rebootstrap()
        if response.error_code or not response.brokers:  # of a broker that starts or stops
            self.last_failure = client_error(
                error_of(response.error_code),
                "an answer without brokers",
                place=self.links[node].place,
            )
            self._failed(now)
            return
        self._failed_since = self.last_failure = None
        self.cache.update(response, now, self.world.random.random())
        brokers = list(self.cache.brokers)
        self.links.keep([*brokers, *map(coordinator_node, brokers), *self.bootstrap_nodes()])
        self._note_change()

    def _node(self, now: float) -> int | None:
        """Return the broker to ask; None: each is in its back-off."""
        brokers = list(self.cache.brokers)
        return self.links.least_loaded(brokers or self.bootstrap_nodes(), now)

    def _failed(self, now: float) -> None:
        if self._failed_since is None:
            self._failed_since = now
        self.cache.failed(now, self.world.random.random())
        trigger_s = self.settings.metadata_recovery_rebootstrap_trigger_ms / 1000
        if now - self._failed_since >= trigger_s:
            self._rebootstrap()
        self._note_change()

    def _rebootstrap(self) -> None:
        self._failed_since = None
        if self.settings.metadata_recovery_strategy.lower() == "rebootstrap":
            self.cache.brokers.clear()

    def bootstrap_nodes(self) -> list[int]:
        """Return the ids of the bootstrap addresses."""
        return [bootstrap_node(number) for number in range(len(self.bootstrap))]

    def _note_change(self) -> None:
        self._changed.set()
        self._changed = trio.Event()
        for watcher in self.watchers:
            watcher()
