"""Assignors that members can ask for: the broker's own, and those of plugins."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Final

from trio_kafka.coordinators.groups.consumer.assignors.range import RangeAssignor
from trio_kafka.coordinators.groups.consumer.assignors.spec import Assignor
from trio_kafka.coordinators.groups.consumer.assignors.uniform import UniformAssignor
from trio_kafka.introspect.log import get_logger

UNIFORM: Final[Assignor] = UniformAssignor()
BUILTIN: Final[tuple[Assignor, ...]] = (UNIFORM, RangeAssignor())
_BUILTIN_NAMES: Final = frozenset(assignor.name for assignor in BUILTIN)
# Names of Kafka's classes, which `group.consumer.assignors` accepts too.
_CLASSES: Final = {
    "org.apache.kafka.coordinator.group.assignor.UniformAssignor": "uniform",
    "org.apache.kafka.coordinator.group.assignor.RangeAssignor": "range",
}
_logger: Final = get_logger(__name__)


class Assignors:
    """Assignors by name, in order of preference. The first is the default, and wins if members ask
    for several equally often.
    """

    def __init__(self, names: Iterable[str] = ("uniform", "range")) -> None:
        """names: `group.consumer.assignors`, the built-in ones to offer and the order of all. A
        plugin's assignor is added with its plugin, at the end unless it is listed.
        """
        self._order = [_CLASSES.get(name, name) for name in names]
        self._plugged: dict[str, Assignor] = {}
        self._by_name: Mapping[str, Assignor] = {}
        self._arrange()

    @property
    def names(self) -> Sequence[str]:
        """Names that members may ask for."""
        return tuple(self._by_name)

    @property
    def default(self) -> str:
        return next(iter(self._by_name))

    def get(self, name: str) -> Assignor:
        """Return an assignor; the default if it is gone with its plugin."""
        return self._by_name.get(name) or self._by_name[self.default]

    def swap(self, leaving: Iterable[Assignor], coming: Iterable[Assignor]) -> None:
        """Add and remove assignors of plugins. Members that asked for a removed one get the
        default.

        Raises ValueError for a name that is taken; then nothing has changed.
        """
        removed = {id(assignor) for assignor in leaving}
        plugged = {
            name: assignor
            for name, assignor in self._plugged.items()
            if id(assignor) not in removed
        }
        for assignor in coming:
            if assignor.name in plugged or assignor.name in _BUILTIN_NAMES:
                raise ValueError(f"assignor {assignor.name} exists already: give it another name")
            plugged[assignor.name] = assignor
        self._plugged = plugged
        self._arrange()

    def preferred(self, counts: Mapping[str, int]) -> str:
        """Return the name that most members ask for; the default if none does."""
        names = [name for name in self._by_name if name in counts] if counts else ()
        return max(names, key=lambda name: counts[name]) if names else self.default

    def _arrange(self) -> None:
        available = {assignor.name: assignor for assignor in BUILTIN} | self._plugged
        chosen = {name: available[name] for name in self._order if name in available}
        chosen.update(
            (name, assignor) for name, assignor in self._plugged.items() if name not in chosen
        )
        missing = [name for name in self._order if name not in available]
        if missing:
            _logger.info("assignors not found: no plugin provides them yet", names=missing)
        self._by_name = chosen or {UNIFORM.name: UNIFORM}
