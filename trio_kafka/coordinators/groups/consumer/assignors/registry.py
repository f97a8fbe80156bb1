"""The assignors that members can ask for: those of the broker, and those of plugins."""

from collections.abc import Iterable, Sequence
from typing import Final

from attrs import define, field

from trio_kafka.coordinators.groups.consumer.assignors.range import RangeAssignor
from trio_kafka.coordinators.groups.consumer.assignors.spec import Assignor
from trio_kafka.coordinators.groups.consumer.assignors.uniform import UniformAssignor

BUILTIN: Final[tuple[Assignor, ...]] = (UniformAssignor(), RangeAssignor())
# What `group.consumer.assignors` may call them too: Kafka's classes.
_CLASSES: Final = {
    "org.apache.kafka.coordinator.group.assignor.UniformAssignor": "uniform",
    "org.apache.kafka.coordinator.group.assignor.RangeAssignor": "range",
}


@define(eq=False)
class Assignors:
    """By name, in order of preference: the first one is the default, and wins where members ask for
    several equally often.
    """

    _by_name: dict[str, Assignor] = field(factory=dict)

    @property
    def names(self) -> Sequence[str]:
        return tuple(self._by_name)

    @property
    def default(self) -> str:
        return next(iter(self._by_name))

    def get(self, name: str) -> Assignor:
        """One that is gone, with its plugin, is the default."""
        return self._by_name.get(name) or self._by_name[self.default]

    def add(self, assignor: Assignor) -> None:
        """Members can ask for it from now on. Raises ValueError for a name that is taken."""
        if assignor.name in self._by_name:
            raise ValueError(f"there is an assignor {assignor.name} already")
        self._by_name[assignor.name] = assignor

    def remove(self, assignor: Assignor) -> None:
        """Members can no longer ask for it; those that did get the default."""
        del self._by_name[assignor.name]

    def preferred(self, counts: dict[str, int]) -> str:
        """The one that most members ask for; the default where nobody asks."""
        names = [name for name in self._by_name if name in counts]
        return max(names, key=lambda name: counts[name]) if names else self.default


def builtin_assignors(names: Iterable[str] = ("uniform", "range")) -> Assignors:
    """As `group.consumer.assignors` lists them. Raises ValueError for one that is not built in."""
    by_name = {assignor.name: assignor for assignor in BUILTIN}
    found = Assignors()
    for name in names:
        assignor = by_name.get(_CLASSES.get(name, name))
        if assignor is None:
            raise ValueError(f"no assignor {name}: want {' or '.join(by_name)}")
        found.add(assignor)
    return found
