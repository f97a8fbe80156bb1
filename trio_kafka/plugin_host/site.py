"""What the host is given by who runs it, and what all plugins share."""

from collections.abc import Callable, Iterator

from attrs import Factory, field

from trio_kafka.attributes import define
from trio_kafka.config.load import Layer
from trio_kafka.introspect.families import MetricsReporter
from trio_kafka.introspect.metrics import Counters
from trio_kafka.introspect.tree import Node
from trio_kafka.plugin_host.mounts import Mounts
from trio_kafka.plugin_host.pages import AdminPages
from trio_kafka.requests.parts import Parts
from trio_kafka.world.world import World


@define(eq=False)
class Reporters:
    """Who wants to be told of metrics; whoever reports goes through them."""

    _reporters: dict[int, MetricsReporter] = field(factory=dict, init=False)

    def add(self, reporter: MetricsReporter) -> None:
        self._reporters[id(reporter)] = reporter

    def remove(self, reporter: MetricsReporter) -> None:
        """Idempotent."""
        self._reporters.pop(id(reporter), None)

    def __iter__(self) -> Iterator[MetricsReporter]:
        return iter(list(self._reporters.values()))


@define(eq=False, kw_only=True)
class HostSite:
    """given: the settings as they were written down. fail: ends the broker in order.

    parts: what handlers reach. mounts, pages, reporters: what only plugins have to do with.
    """

    parts: Parts
    world: World
    node: Node
    given: Layer = Factory(dict)
    counters: Counters = field(factory=Counters)
    fail: Callable[[Exception], None]
    mounts: Mounts = field(factory=Mounts)
    pages: AdminPages = field(factory=AdminPages)
    reporters: Reporters = field(factory=Reporters)
