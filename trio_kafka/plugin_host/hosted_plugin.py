"""State of one plugin across all of its generations."""

from collections.abc import Callable

import trio
from attrs import field

from trio_kafka.attributes import define
from trio_kafka.introspect.tree import Figures, Node
from trio_kafka.plugin_host.contributions import Contributions
from trio_kafka.plugin_host.declaration import Plugin
from trio_kafka.plugin_host.discovery import Origin
from trio_kafka.plugin_host.fresh_import import FreshImport
from trio_kafka.plugin_host.generation import Generation
from trio_kafka.plugin_host.importing import Imported
from trio_kafka.plugin_host.lifecycle import Lifecycle, State
from trio_kafka.plugin_host.settings import Settings, shown
from trio_kafka.requests.plugins import PluginStatus


@define(eq=False, kw_only=True, repr=False)  # its parts hold secrets
class HostedPlugin:
    """One plugin as the host sees it.

    lifecycle: state before the first generation, or of a plugin that could not be started.
    plugin: as imported last; None if the import failed. imported: its private modules, if any.
    current: the generation that serves, or failed last. starting: its replacement, until ready or
    failed. past: older generations that have not ended.
    published: contributions that the broker uses now, even if they only reject requests.
    failures: of all generations. failed_requests: number of failed requests, of all generations.
    restarts: consecutive ones. begun: number of generations started.
    reload_over: set when the reload that runs has ended; None: none runs.
    reloaded_at: start of the last reload. importing: its import.
    off: disabled by name, without an import.
    """

    name: str
    origin: Origin
    lifecycle: Lifecycle
    node: Node
    plugin: Plugin | None = None
    settings: Settings | None = None
    imported: Imported | None = None
    current: Generation | None = field(default=None)
    starting: Generation | None = None
    published: Contributions | None = None
    past: list[Generation] = field(factory=list)
    failures: int = 0
    failed_requests: Callable[[], int]
    restarts: int = 0
    begun: int = 0
    reload_over: trio.Event | None = None
    reloaded_at: float = float("-inf")
    importing: FreshImport | None = None
    off: bool = False

    @property
    def state(self) -> State:
        return self.lifecycle.state if self.current is None else self.current.lifecycle.state

    @property
    def since(self) -> float:
        """Time of the last state change, in seconds since 1970."""
        return self.lifecycle.since if self.current is None else self.current.lifecycle.since

    @property
    def error(self) -> str:
        """Error of the current generation, or the reason why there is none."""
        error = "" if self.current is None else self.current.lifecycle.error
        return error or self.lifecycle.error

    @property
    def order(self) -> tuple[int, str]:
        """Sort key of the start order."""
        return (100 if self.settings is None else self.settings.host.order), self.name

    @property
    def policy(self) -> str:
        return "isolate" if self.settings is None else self.settings.host.policy

    @property
    def enabled(self) -> bool:
        return not self.off and (self.settings is None or self.settings.host.enabled)

    @property
    def generation(self) -> int:
        """Number of the current generation; 0: none."""
        return 0 if self.current is None else self.current.number

    @property
    def contributions(self) -> list[str]:
        """One word for each contribution."""
        return [] if self.current is None else self.current.contributions.names()

    def owns(self, module: str) -> bool:
        """Return True if this plugin owns a module, by the module's private name."""
        if self.imported is not None:
            return self.imported.owns(module)
        return self.plugin is not None and self.plugin.module == module

    def generation_of(self, module: str) -> Generation | None:
        """Return the generation, starting or current, that owns a module; None during
        its import.
        """
        if self.starting is not None and self.starting.owns(module):
            return self.starting
        return self.current if self.owns(module) else None

    def drop_import(self) -> None:
        """Release its modules; they go with the last generation that uses them."""
        imported, self.imported = self.imported, None
        if imported is not None:
            imported.release()

    def keep_past(self) -> None:
        """Remember the replaced generation until it has ended."""
        if self.current is not None:
            self.past.append(self.current)
        self.forget_past()

    def forget_past(self) -> None:
        """Forget past generations that have ended."""
        self.past = [generation for generation in self.past if not generation.ended.is_set()]

    def shown_settings(self) -> dict[str, str]:
        """Return its own settings, with secrets hidden."""
        if self.plugin is None or self.settings is None:
            return {}
        return shown(self.plugin, self.settings)

    def status(self) -> PluginStatus:
        """Return its status for clients of the broker."""
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
            failed_requests=self.failed_requests(),
            error=self.error,
            contributions=self.contributions,
            settings=self.shown_settings(),
        )

    def figures(self) -> Figures:
        """Return its figures for the tree."""
        figures: dict[str, str | int | float | bool | None] = {
            "state": self.state.value,
            "enabled": self.enabled,
            "since": self.since,
            "generation": self.generation,
            "failures": self.failures,
            "failed_requests": self.failed_requests(),
            "policy": self.policy,
            "order": self.order[0],
            "error": self.error or None,
            "contributions": " ".join(self.contributions),
        }
        if len(self.past):
            figures["past"] = len(self.past)
        return figures | {f"setting.{key}": text for key, text in self.shown_settings().items()}
