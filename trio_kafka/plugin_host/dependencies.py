"""Dependencies of the plugin host: what its owner passes in, and what all plugins share."""

from collections.abc import Callable, Iterable, Iterator

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
    """Metrics reporters of all plugins."""

    _reporters: dict[int, MetricsReporter] = field(factory=dict, init=False)

    def swap(self, leaving: Iterable[MetricsReporter], coming: Iterable[MetricsReporter]) -> None:
        """Remove some reporters, and add others."""
        for reporter in leaving:
            self._reporters.pop(id(reporter), None)
        self._reporters |= {id(reporter): reporter for reporter in coming}

    def __iter__(self) -> Iterator[MetricsReporter]:
        return iter(list(self._reporters.values()))


@define(eq=False, kw_only=True)
class PluginHostDependencies:
    """Parts of the broker that the plugin host uses.

    layer: settings as written by the user. fail: stops the broker in order.
    parts: the parts that handlers use. mounts, pages, reporters: used by plugins only.
    """

    parts: Parts
    world: World
    node: Node
    layer: Layer = Factory(dict)
    counters: Counters = field(factory=Counters)
    fail: Callable[[Exception], None]
    mounts: Mounts = field(factory=Mounts)
    pages: AdminPages = field(factory=AdminPages)
    reporters: Reporters = field(factory=Reporters)
