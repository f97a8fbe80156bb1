"""One plugin of a broker, through all of its generations, as the host keeps it."""

from attrs import define, field

from trio_kafka.hosting.declared import Plugin
from trio_kafka.hosting.discovery import Origin
from trio_kafka.hosting.generation import Generation
from trio_kafka.hosting.life import Life, State
from trio_kafka.hosting.settings import Settings, shown
from trio_kafka.introspect.tree import Figures, Node


@define(eq=False, kw_only=True)
class Hosted:
    """life: until there is a generation, and of what could not be begun.

    plugin: as it was imported last; None where that failed. current: the generation that serves, or
    failed last. past: those before it, as long as they have not ended.
    failures: of its generations. restarts: in a row.
    """

    name: str
    origin: Origin
    life: Life
    node: Node
    plugin: Plugin | None = None
    settings: Settings | None = None
    module: str = ""
    current: Generation | None = field(default=None)
    past: list[Generation] = field(factory=list)
    failures: int = 0
    restarts: int = 0
    busy: bool = False

    @property
    def state(self) -> State:
        return self.life.state if self.current is None else self.current.life.state

    @property
    def since(self) -> float:
        """Seconds since 1970."""
        return self.life.since if self.current is None else self.current.life.since

    @property
    def error(self) -> str:
        """Of the generation that is there, or why there is none."""
        error = "" if self.current is None else self.current.life.error
        return error or self.life.error

    @property
    def order(self) -> tuple[int, str]:
        """Its place among the others."""
        return (100 if self.settings is None else self.settings.host.order), self.name

    @property
    def policy(self) -> str:
        return "isolate" if self.settings is None else self.settings.host.policy

    @property
    def enabled(self) -> bool:
        return self.settings is None or self.settings.host.enabled

    @property
    def generation(self) -> int:
        """The number of the one that is there; 0: none."""
        return 0 if self.current is None else self.current.number

    @property
    def contributions(self) -> list[str]:
        """What it gives, a word for each."""
        return [] if self.current is None else self.current.contributions.names()

    def shown_settings(self) -> dict[str, str]:
        """Its own, as they may be shown."""
        if self.plugin is None or self.settings is None:
            return {}
        return shown(self.plugin, self.settings)

    def figures(self) -> Figures:
        """For the tree."""
        found: dict[str, str | int | float | bool | None] = {
            "state": self.state.value,
            "enabled": self.enabled,
            "since": self.since,
            "generation": self.generation,
            "failures": self.failures,
            "policy": self.policy,
            "order": self.order[0],
            "error": self.error or None,
            "contributions": " ".join(self.contributions),
        }
        if len(self.past):
            found["past"] = len(self.past)
        return found | {f"setting.{key}": text for key, text in self.shown_settings().items()}
