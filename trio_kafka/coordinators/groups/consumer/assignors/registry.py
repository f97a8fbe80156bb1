"""The assignors that members can ask for: those of the broker, and those of plugins."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Final

from trio_kafka.coordinators.groups.consumer.assignors.range import RangeAssignor
from trio_kafka.coordinators.groups.consumer.assignors.spec import Assignor
from trio_kafka.coordinators.groups.consumer.assignors.uniform import UniformAssignor
from trio_kafka.introspect.log import get_logger

UNIFORM: Final[Assignor] = UniformAssignor()
BUILTIN: Final[tuple[Assignor, ...]] = (UNIFORM, RangeAssignor())
_BUILTIN_NAMES: Final = frozenset(one.name for one in BUILTIN)
# What `group.consumer.assignors` may call them too: Kafka's classes.
_CLASSES: Final = {
    "org.apache.kafka.coordinator.group.assignor.UniformAssignor": "uniform",
    "org.apache.kafka.coordinator.group.assignor.RangeAssignor": "range",
}
_logger: Final = get_logger(__name__)


class Assignors:
    """By name, in order of preference: the first one is the default, and wins where members ask for
    several equally often.
    """

    def __init__(self, wanted: Iterable[str] = ("uniform", "range")) -> None:
        """wanted: `group.consumer.assignors`: those that are built in, and in what order plugins'
        count; these come when their plugins do, others of them at the end.
        """
        self._order = [_CLASSES.get(name, name) for name in wanted]
        self._plugged: dict[str, Assignor] = {}
        self._by_name: Mapping[str, Assignor] = {}
        self._arrange()

    @property
    def names(self) -> Sequence[str]:
        """What members may ask for."""
        return tuple(self._by_name)

    @property
    def default(self) -> str:
        return next(iter(self._by_name))

    def get(self, name: str) -> Assignor:
        """One that is gone, with its plugin, is the default."""
        return self._by_name.get(name) or self._by_name[self.default]

    def swap(self, leaving: Iterable[Assignor], coming: Iterable[Assignor]) -> None:
        """Members can ask for those that come, and no longer for those that leave: who did gets
        the default.

        Raises ValueError for a name that is taken, and has then changed nothing.
        """
        gone = {id(assignor) for assignor in leaving}
        plugged = {name: one for name, one in self._plugged.items() if id(one) not in gone}
        for assignor in coming:
            if assignor.name in plugged or assignor.name in _BUILTIN_NAMES:
                raise ValueError(f"there is an assignor {assignor.name} already")
            plugged[assignor.name] = assignor
        self._plugged = plugged
        self._arrange()

    def preferred(self, counts: Mapping[str, int]) -> str:
        """The one that most members ask for; the default where nobody asks."""
        names = [name for name in self._by_name if name in counts] if counts else ()
        return max(names, key=lambda name: counts[name]) if names else self.default

    def _arrange(self) -> None:
        known = {one.name: one for one in BUILTIN} | self._plugged
        found = {name: known[name] for name in self._order if name in known}
        found.update((name, one) for name, one in self._plugged.items() if name not in found)
        missing = [name for name in self._order if name not in known]
        if missing:
            _logger.info("assignors that no plugin has brought yet", names=missing)
        self._by_name = found or {UNIFORM.name: UNIFORM}
