"""Contributions of one generation of a plugin.

They are collected while the plugin starts, published in one step when it is ready, and withdrawn in
one step when it stops. Each kind has a table of the broker, which replaces some of its entries by
others in one step, or raises and changes nothing.
"""

from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from math import inf
from typing import Any, Final, Literal

from attrs import evolve, field

from trio_kafka.attributes import define
from trio_kafka.config.authorizer import OF_PLUGIN
from trio_kafka.plugin_host.dependencies import PluginHostDependencies
from trio_kafka.plugin_host.guard import GuardedAssignor, Owner, refuser, refusing
from trio_kafka.plugin_host.guarded_authorizer import GuardedAuthorizer
from trio_kafka.requests.api import Api
from trio_kafka.requests.interceptors.registry import Interception as Registration
from trio_kafka.requests.interceptors.registry import Kind
from trio_kafka.security.contributed import ContributedAuthorizer

Checked = Literal["create-topic", "alter-config"]
Policy = tuple[Checked, object]
ContributionKind = Literal[
    "api", "authorizer", "mount", "page", "assignor", "interceptor", "policy", "reporter"
]


@define(kw_only=True, eq=False)
class Interception:
    """Interceptor to be registered; `handle` is set while it is registered."""

    kind: Kind
    request: type[object] | None
    function: Callable[..., object]
    order: int
    versions: Mapping[int, tuple[int, int]]
    handle: Registration | None = None


# One word for each contribution, for display.
_WORDS: Final[Mapping[ContributionKind, Callable[[Any], str]]] = {
    "api": lambda api: f"api:{api.name}({api.key})",
    "authorizer": lambda authorizer: f"authorizer:{authorizer.name}",
    "mount": lambda mount: f"mount:{mount.path}",
    "page": lambda page: f"page:{page.name}",
    "interceptor": lambda interception: (
        f"{interception.kind}:{getattr(interception.request, '__name__', '*')}"
    ),
    "policy": lambda policy: f"{policy[0]}-policy",
    "reporter": lambda reporter: f"reporter:{reporter.name}",
    "assignor": lambda assignor: f"assignor:{assignor.name}",
}
_Entries = dict[ContributionKind, list[Any]]


def _nothing() -> _Entries:
    return {kind: [] for kind in _WORDS}


@define(eq=False)
class Contributions:
    """Contributions of one generation; `live` while the broker uses them.

    closed: after a failure, reject the requests that the plugin intercepts.
    """

    owner: Owner
    dependencies: PluginHostDependencies
    closed: bool = field(default=False, kw_only=True)
    live: bool = field(default=False, init=False)
    _entries: _Entries = field(factory=_nothing, init=False)

    def add(self, kind: ContributionKind, item: object) -> None:
        """Add a contribution, guarded already. Raises what its table raises, if live."""
        if self.live:
            self._tables[kind]((), (item,))
        self._entries[kind].append(item)

    def remove(self, interception: Interception) -> None:
        """Remove one interceptor early. Idempotent."""
        if interception in self._entries["interceptor"]:
            self._entries["interceptor"].remove(interception)
        self._swap_interceptors((interception,), ())

    def has_api(self, key: int) -> bool:
        """Return whether the plugin added an API."""
        return any(api.key == key for api in self._entries["api"])

    def go_live(self, replaces: "Contributions | None" = None) -> None:
        """Publish everything in one step, replacing the contributions of another generation.

        No request sees a moment without either. Raises DuplicateApiError, MountError, PageError, or
        ValueError for the name of an assignor; nothing has changed then.
        """
        leaving = replaces if replaces is not None and replaces.live else None
        self._swap(_nothing() if leaving is None else leaving._entries, self._entries)  # noqa: SLF001
        self.live = True
        if leaving is not None:
            leaving.live = False

    def leave(self, reason: str = "") -> None:
        """Withdraw everything. Idempotent.

        reason: if set, APIs stay and answer with this error, as do requests that the plugin
        intercepts if it is `closed`.
        """
        if not self.live:
            return
        substitutes, refuse = _nothing(), refuser(reason)
        if reason:
            substitutes["api"] = [refusing(api, reason) for api in self._entries["api"]]
        if reason and self.closed:
            intercepted = {
                interception.request: interception for interception in self._entries["interceptor"]
            }
            substitutes["interceptor"] = [
                evolve(interception, kind="before", function=refuse, handle=None)
                for interception in intercepted.values()
            ]
            substitutes["policy"] = [
                (kind, refuse) for kind in {kind for kind, _ in self._entries["policy"]}
            ]
        self._swap(self._entries, substitutes)
        self._entries = substitutes
        self.live = bool(reason)

    def names(self) -> list[str]:
        """Return one word per contribution, for display."""
        return [
            word(contribution)
            for kind, word in _WORDS.items()
            for contribution in self._entries[kind]
        ]

    # --- the tables

    @property
    def _tables(self) -> Mapping[ContributionKind, Callable[[Sequence[Any], Sequence[Any]], None]]:
        """Tables by kind, in the order of publication; each replaces entries by others.

        A part of the broker is used only for contributions that need it.
        """
        dependencies = self.dependencies
        return {
            "api": self._swap_apis,
            "authorizer": self._swap_authorizers,
            "mount": dependencies.mounts.swap,
            "page": dependencies.pages.swap,
            "assignor": self._swap_assignors,
            "interceptor": self._swap_interceptors,
            "policy": self._swap_policies,
            "reporter": dependencies.reporters.swap,
        }

    def _swap(self, old: _Entries, new: _Entries) -> None:
        """Replace contributions of all kinds, or raise and change nothing."""
        with ExitStack() as undo:
            for kind, swap in self._tables.items():
                if old[kind] or new[kind]:
                    swap(old[kind], new[kind])
                    undo.callback(swap, new[kind], old[kind])
            undo.pop_all()

    def _swap_apis(self, leaving: Sequence[Api], coming: Sequence[Api]) -> None:
        self.dependencies.parts.apis.swap([api.key for api in leaving], coming)

    def _swap_authorizers(
        self, leaving: Sequence[GuardedAuthorizer], coming: Sequence[GuardedAuthorizer]
    ) -> None:
        place = self.dependencies.parts.authorizer
        if not isinstance(place, ContributedAuthorizer) or place.plugin != self.owner.name:
            raise ValueError(
                f"plugin {self.owner.name} has an authorizer that the settings do not name:"
                f" set authorizer.class.name={OF_PLUGIN}{self.owner.name}"
            )
        place.swap(leaving, coming)

    def _swap_assignors(
        self, leaving: Sequence[GuardedAssignor], coming: Sequence[GuardedAssignor]
    ) -> None:
        self.dependencies.parts.groups.consumer.assignors.swap(leaving, coming)

    def _swap_policies(self, leaving: Sequence[Policy], coming: Sequence[Policy]) -> None:
        policies = self.dependencies.parts.controller.policies
        by_kind: dict[Checked, list[Any]] = {
            "create-topic": policies.topics,
            "alter-config": policies.configs,
        }
        for kind, policy in leaving:
            by_kind[kind].remove(policy)
        for kind, policy in coming:
            by_kind[kind].append(policy)

    def _swap_interceptors(
        self, leaving: Sequence[Interception], coming: Sequence[Interception]
    ) -> None:
        interceptors = self.dependencies.parts.interceptors
        deadline_s = None if self.owner.deadline_s == inf else self.owner.deadline_s
        with ExitStack() as undo:
            for interception in coming:
                interception.handle = interceptors.add(
                    interception.kind,
                    interception.request,
                    interception.function,
                    order=interception.order,
                    owner=self.owner,
                    deadline_s=deadline_s,
                    limit=self.owner.limiter if interception.kind == "around" else None,
                    versions=interception.versions,
                )
                undo.callback(interceptors.remove, interception.handle)
            undo.pop_all()
        for interception in leaving:
            if interception.handle is not None:
                interceptors.remove(interception.handle)
                interception.handle = None
