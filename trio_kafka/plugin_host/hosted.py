"""One plugin of a broker, through all of its generations, as the host keeps it."""

from attrs import field

from trio_kafka.attributes import define
from trio_kafka.introspect.tree import Figures, Node
from trio_kafka.plugin_host.contributions import Contributions
from trio_kafka.plugin_host.declared import Plugin
from trio_kafka.plugin_host.discovery import Origin
from trio_kafka.plugin_host.fresh_import import FreshImport
from trio_kafka.plugin_host.generation import Generation
from trio_kafka.plugin_host.importing import Imported
from trio_kafka.plugin_host.life import Life, State
from trio_kafka.plugin_host.settings import Settings, shown
from trio_kafka.requests.plugins import PluginStatus


@define(eq=False, kw_only=True)
class Hosted:
    """life: until there is a generation, and of what could not be begun.

    plugin: as it was imported last; None where that failed. imported: its modules, where they are
    its own. current: the generation that serves, or failed last. starting: one that is to take its
    place, until it is ready or has failed. standing: what the broker has of
    the plugin now, be it that it only refuses. past: generations before the current one, as long as
    they have not ended. failures: of its generations; restarts: in a row; begun: all of them.
    busy: with a reload. reloaded_at: when the last reload began. importing: for that reload. off:
    by its name, before any import.
    """

    name: str
    origin: Origin
    life: Life
    node: Node
    plugin: Plugin | None = None
    settings: Settings | None = None
    imported: Imported | None = None
    current: Generation | None = field(default=None)
    starting: Generation | None = None
    standing: Contributions | None = None
    past: list[Generation] = field(factory=list)
    failures: int = 0
    restarts: int = 0
    begun: int = 0
    busy: bool = False
    reloaded_at: float = float("-inf")
    importing: FreshImport | None = None
    off: bool = False

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
        return not self.off and (self.settings is None or self.settings.host.enabled)

    @property
    def generation(self) -> int:
        """The number of the one that is there; 0: none."""
        return 0 if self.current is None else self.current.number

    @property
    def contributions(self) -> list[str]:
        """What it gives, a word for each."""
        return [] if self.current is None else self.current.contributions.names()

    def has(self, module: str) -> bool:
        """Whether a module, by the name that its frames know it by, is this plugin's."""
        if self.imported is not None:
            return self.imported.has(module)
        return self.plugin is not None and self.plugin.module == module

    def generation_of(self, module: str) -> Generation | None:
        """The generation, starting or current, that has a module; None while it is imported."""
        if self.starting is not None and self.starting.has(module):
            return self.starting
        return self.current if self.has(module) else None

    def drop_import(self) -> None:
        """Its modules may go with the last generation that uses them."""
        imported, self.imported = self.imported, None
        if imported is not None:
            imported.release()

    def keep_past(self) -> None:
        """Remember the generation that goes, as long as it has not ended."""
        if self.current is not None:
            self.past.append(self.current)
        self.forget_past()

    def forget_past(self) -> None:
        """Those that have ended."""
        self.past = [one for one in self.past if not one.ended.is_set()]

    def shown_settings(self) -> dict[str, str]:
        """Its own, as they may be shown."""
        if self.plugin is None or self.settings is None:
            return {}
        return shown(self.plugin, self.settings)

    def status(self) -> PluginStatus:
        """For whoever asks the broker."""
        return PluginStatus(
            name=self.name,
            doc=self.plugin.doc if self.plugin else "",
            state=self.state.value,
            since=self.since,
            enabled=self.enabled,
            policy=self.policy,
            order=self.order[0],
            generation=self.generation,
            past=len(self.past),
            failures=self.failures,
            error=self.error,
            contributions=self.contributions,
            settings=self.shown_settings(),
        )

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
