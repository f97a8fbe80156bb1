"""Contributions of one generation of a plugin.

They are collected while the plugin starts, published in one step when it is ready, and withdrawn in
one step when it stops.
"""

from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from math import inf
from typing import Any, Literal

from attrs import evolve, field

from trio_kafka.attributes import define
from trio_kafka.controller.policies import ConfigPolicy, TopicPolicy
from trio_kafka.coordinators.groups.consumer.assignors.spec import Assignor
from trio_kafka.introspect.families import MetricsReporter
from trio_kafka.plugin_host.assignors import GuardedAssignor
from trio_kafka.plugin_host.dependencies import PluginHostDependencies
from trio_kafka.plugin_host.guard import (
    GuardedReporter,
    Owner,
    guard_api,
    guard_app,
    guard_policy,
    refuser,
    refusing,
)
from trio_kafka.plugin_host.mounts import App, Mount, check_path
from trio_kafka.plugin_host.pages import AdminPage, check_page_name
from trio_kafka.requests.api import Api
from trio_kafka.requests.interceptors.registry import Kind

Checked = Literal["create-topic", "alter-config"]


@define(kw_only=True, eq=False)
class Interception:
    """Interceptor to be registered; `handle` is set while it is registered."""

    kind: Kind
    request: type[Any] | None
    function: Callable[..., Any]
    order: int
    versions: Mapping[int, tuple[int, int]]
    handle: Any = None


@define(eq=False)
class Contributions:
    """Contributions of one generation; `live` while the broker uses them.

    closed: after a failure, reject the requests that the plugin intercepts.
    """

    owner: Owner
    dependencies: PluginHostDependencies
    closed: bool = field(default=False, kw_only=True)
    apis: dict[int, Api] = field(factory=dict, init=False)
    mounts: list[Mount] = field(factory=list, init=False)
    pages: list[AdminPage] = field(factory=list, init=False)
    interceptions: list[Interception] = field(factory=list, init=False)
    reporters: list[GuardedReporter] = field(factory=list, init=False)
    assignors: list[GuardedAssignor] = field(factory=list, init=False)
    policies: list[tuple[Checked, Any]] = field(factory=list, init=False)
    live: bool = field(default=False, init=False)

    def add_api(self, api: Api) -> None:
        """Add an API. Raises DuplicateApiError, or ValueError if the plugin added the
        key already.
        """
        if api.key in self.apis:
            raise ValueError(f"API key {api.key} was added already by this plugin")
        guarded = guard_api(api, self.owner)
        if self.live:
            self.dependencies.parts.apis.swap((), (guarded,))
        self.apis[api.key] = guarded

    def mount(self, path: str, app: App, *, checks_tokens: bool = False) -> None:
        """Mount an app. Raises MountError."""
        check_path(path)
        mount = Mount(path, guard_app(app, self.owner, path), self.owner.name, checks_tokens)
        if self.live:
            self.dependencies.mounts.swap((), (mount,))
        self.mounts.append(mount)

    def show(self, name: str, load: Callable[[], Any]) -> None:
        """Add a page of the admin UI. Raises PageError."""
        check_page_name(name)
        page = AdminPage(name, load, self.owner)
        if self.live:
            self.dependencies.pages.swap((), (page,))
        self.pages.append(page)

    def intercept(self, interception: Interception) -> None:
        if self.live:
            self._register(interception)
        self.interceptions.append(interception)

    def remove(self, interception: Interception) -> None:
        """Remove one interceptor early. Idempotent."""
        if interception in self.interceptions:
            self.interceptions.remove(interception)
        self._unregister(interception)

    def report(self, reporter: MetricsReporter) -> None:
        guarded = GuardedReporter(reporter, self.owner)
        if self.live:
            self.dependencies.reporters.add(guarded)
        self.reporters.append(guarded)

    def assign(self, assignor: Assignor) -> None:
        """Add an assignor. Raises TypeError; if live, ValueError for a name that is taken."""
        guarded = GuardedAssignor(assignor, self.owner)
        if self.live:
            self._swap_assignors((), (guarded,))
        self.assignors.append(guarded)

    def check(self, what: Checked, policy: TopicPolicy | ConfigPolicy) -> None:
        """Add a policy for topics to be created, or for settings to be changed."""
        guarded = guard_policy(policy, self.owner, f"{what} policy")
        if self.live:
            self._policies_of(what).append(guarded)
        self.policies.append((what, guarded))

    def go_live(self, replaces: "Contributions | None" = None) -> None:
        """Publish everything in one step, replacing the contributions of another generation.

        No request sees a moment without either. Raises DuplicateApiError, MountError, PageError, or
        ValueError for the name of an assignor; nothing has changed then.
        """
        apis, mounts, pages = (
            self.dependencies.parts.apis,
            self.dependencies.mounts,
            self.dependencies.pages,
        )
        leaving = replaces if replaces is not None and replaces.live else None
        old = leaving or Contributions(self.owner, self.dependencies)
        with ExitStack() as undo:
            apis.swap(old.apis, self.apis.values())
            undo.callback(apis.swap, self.apis, old.apis.values())
            mounts.swap(old.mounts, self.mounts)
            undo.callback(mounts.swap, self.mounts, old.mounts)
            pages.swap(old.pages, self.pages)
            undo.callback(pages.swap, self.pages, old.pages)
            self._swap_assignors(old.assignors, self.assignors)
            undo.callback(self._swap_assignors, self.assignors, old.assignors)
            self._register_all()
            undo.pop_all()
        for reporter in self.reporters:
            self.dependencies.reporters.add(reporter)
        self._apply_policies()
        self.live = True
        if leaving is not None:
            leaving.withdraw_individually()
            leaving.live = False

    def leave(self, reason: str = "") -> None:
        """Withdraw everything. Idempotent.

        reason: if set, APIs stay and answer with this error, as do requests that a closed plugin
        intercepts.
        """
        if not self.live:
            return
        left = [refusing(api, reason) for api in self.apis.values()] if reason else []
        self.dependencies.parts.apis.swap(self.apis, left)
        self.dependencies.mounts.swap(self.mounts, ())
        self.dependencies.pages.swap(self.pages, ())
        self._swap_assignors(self.assignors, ())
        self.withdraw_individually()
        refused = {one.request: one for one in self.interceptions} if reason and self.closed else {}
        checked = {what for what, _ in self.policies} if reason and self.closed else set()
        self.mounts, self.pages = [], []
        self.interceptions, self.reporters, self.assignors = [], [], []
        self.policies = [(what, refuser(reason)) for what in checked]
        self._apply_policies()
        for one in refused.values():
            self._refuse(one, reason)
        self.live = bool(reason)

    def withdraw_individually(self) -> None:
        """Withdraw interceptors, reporters and policies, which are removed one by one."""
        for interception in self.interceptions:
            self._unregister(interception)
        for reporter in self.reporters:
            self.dependencies.reporters.remove(reporter)
        for what, policy in self.policies:
            self._policies_of(what).remove(policy)

    def _apply_policies(self) -> None:
        for what, policy in self.policies:
            self._policies_of(what).append(policy)

    def _policies_of(self, what: Checked) -> list[Any]:
        """Return the broker's policies of a kind. Without policies the plugin needs no
        controller.
        """
        policies = self.dependencies.parts.controller.policies
        return policies.topics if what == "create-topic" else policies.configs

    def names(self) -> list[str]:
        """Return one word per contribution, for display."""
        return [
            *(f"api:{api.name}({api.key})" for api in self.apis.values()),
            *(f"mount:{mount.path}" for mount in self.mounts),
            *(f"page:{page.name}" for page in self.pages),
            *(f"{one.kind}:{getattr(one.request, '__name__', '*')}" for one in self.interceptions),
            *(f"{what}-policy" for what, _ in self.policies),
            *(f"reporter:{reporter.name}" for reporter in self.reporters),
            *(f"assignor:{assignor.name}" for assignor in self.assignors),
        ]

    def _refuse(self, interception: Interception, reason: str) -> None:
        """Replace an interceptor by one that rejects its requests."""
        refuse = refuser(reason)
        made = evolve(interception, kind="before", function=refuse, handle=None)
        self._register(made)
        self.interceptions.append(made)

    def _swap_assignors(
        self, leaving: Sequence[GuardedAssignor], coming: Sequence[GuardedAssignor]
    ) -> None:
        """Swap assignors. Without assignors the plugin needs no group coordinator."""
        if leaving or coming:
            self.dependencies.parts.groups.consumer.assignors.swap(leaving, coming)

    @property
    def _interceptors(self) -> Any:
        return self.dependencies.parts.interceptors

    def _register_all(self) -> None:
        try:
            for interception in self.interceptions:
                self._register(interception)
        except BaseException:
            for interception in self.interceptions:
                self._unregister(interception)
            raise

    def _unregister(self, interception: Interception) -> None:
        if interception.handle is not None:
            self._interceptors.remove(interception.handle)
            interception.handle = None

    def _register(self, interception: Interception) -> None:
        interception.handle = self._interceptors.add(
            interception.kind,
            interception.request,
            interception.function,
            order=interception.order,
            owner=self.owner,
            deadline_s=None if self.owner.deadline_s == inf else self.owner.deadline_s,
            limit=self.owner.limiter if interception.kind == "around" else None,
            versions=interception.versions,
        )
