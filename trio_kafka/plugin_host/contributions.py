"""What one generation of a plugin gives to the broker: gathered while it starts, given in one step
when it is ready, taken back in one step when it goes.
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
from trio_kafka.plugin_host.site import HostSite
from trio_kafka.requests.api import Api
from trio_kafka.requests.interceptors.registry import Kind

Checked = Literal["create-topic", "alter-config"]


@define(kw_only=True, eq=False)
class Wanted:
    """An interception that is to be, or that is: `handle`."""

    kind: Kind
    request: type[Any] | None
    function: Callable[..., Any]
    order: int
    versions: Mapping[int, tuple[int, int]]
    handle: Any = None


@define(eq=False)
class Contributions:
    """Of one generation; `live` when the broker has them.

    closed: what it intercepts is refused when it has failed.
    """

    owner: Owner
    site: HostSite
    closed: bool = field(default=False, kw_only=True)
    apis: dict[int, Api] = field(factory=dict, init=False)
    mounts: list[Mount] = field(factory=list, init=False)
    pages: list[AdminPage] = field(factory=list, init=False)
    wanted: list[Wanted] = field(factory=list, init=False)
    reporters: list[GuardedReporter] = field(factory=list, init=False)
    assignors: list[GuardedAssignor] = field(factory=list, init=False)
    policies: list[tuple[Checked, Any]] = field(factory=list, init=False)
    live: bool = field(default=False, init=False)

    def add_api(self, api: Api) -> None:
        """Raises DuplicateApiError, or ValueError for one that it has given already."""
        if api.key in self.apis:
            raise ValueError(f"API key {api.key} is added twice")
        guarded = guard_api(api, self.owner)
        if self.live:
            self.site.parts.apis.swap((), (guarded,))
        self.apis[api.key] = guarded

    def mount(self, path: str, app: App, *, checks_tokens: bool = False) -> None:
        """Raises MountError."""
        check_path(path)
        mount = Mount(path, guard_app(app, self.owner, path), self.owner.name, checks_tokens)
        if self.live:
            self.site.mounts.swap((), (mount,))
        self.mounts.append(mount)

    def show(self, name: str, load: Callable[[], Any]) -> None:
        """Add a page of the admin UI. Raises PageError."""
        check_page_name(name)
        page = AdminPage(name, load, self.owner)
        if self.live:
            self.site.pages.swap((), (page,))
        self.pages.append(page)

    def intercept(self, wanted: Wanted) -> None:
        if self.live:
            self._register(wanted)
        self.wanted.append(wanted)

    def give_up(self, wanted: Wanted) -> None:
        """Take an interception back before all of them go. Idempotent."""
        if wanted in self.wanted:
            self.wanted.remove(wanted)
        self._take_back(wanted)

    def report(self, reporter: MetricsReporter) -> None:
        guarded = GuardedReporter(reporter, self.owner)
        if self.live:
            self.site.reporters.add(guarded)
        self.reporters.append(guarded)

    def assign(self, assignor: Assignor) -> None:
        """Raises TypeError, and ValueError for a name that is taken, where it comes at once."""
        guarded = GuardedAssignor(assignor, self.owner)
        if self.live:
            self._swap_assignors((), (guarded,))
        self.assignors.append(guarded)

    def check(self, what: Checked, policy: TopicPolicy | ConfigPolicy) -> None:
        """A policy for topics that are to be created, or for settings that are to be altered."""
        guarded = guard_policy(policy, self.owner, f"{what} policy")
        if self.live:
            self._in_force(what).append(guarded)
        self.policies.append((what, guarded))

    def go_live(self, instead: "Contributions | None" = None) -> None:
        """Give all of it, `instead` of what another generation gave: no request finds neither.

        Raises DuplicateApiError, MountError, PageError, or ValueError for the name of an assignor,
        and has then changed nothing.
        """
        apis, mounts, pages = self.site.parts.apis, self.site.mounts, self.site.pages
        leaving = instead if instead is not None and instead.live else None
        old = leaving or Contributions(self.owner, self.site)
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
            self.site.reporters.add(reporter)
        self._enact()
        self.live = True
        if leaving is not None:
            leaving.forget_the_rest()
            leaving.live = False

    def leave(self, reason: str = "") -> None:
        """Take all of it back. Idempotent.

        reason: its APIs stay, and answer with this error; so do those that a closed one intercepts.
        """
        if not self.live:
            return
        left = [refusing(api, reason) for api in self.apis.values()] if reason else []
        self.site.parts.apis.swap(self.apis, left)
        self.site.mounts.swap(self.mounts, ())
        self.site.pages.swap(self.pages, ())
        self._swap_assignors(self.assignors, ())
        self.forget_the_rest()
        refused = {one.request: one for one in self.wanted} if reason and self.closed else {}
        checked = {what for what, _ in self.policies} if reason and self.closed else set()
        self.mounts, self.pages = [], []
        self.wanted, self.reporters, self.assignors = [], [], []
        self.policies = [(what, refuser(reason)) for what in checked]
        self._enact()
        for one in refused.values():
            self._refuse(one, reason)
        self.live = bool(reason)

    def forget_the_rest(self) -> None:
        """Take back what can be taken back one by one."""
        for wanted in self.wanted:
            self._take_back(wanted)
        for reporter in self.reporters:
            self.site.reporters.remove(reporter)
        for what, policy in self.policies:
            self._in_force(what).remove(policy)

    def _enact(self) -> None:
        for what, policy in self.policies:
            self._in_force(what).append(policy)

    def _in_force(self, what: Checked) -> list[Any]:
        """Of all plugins. One that has none may run where there is no controller."""
        policies = self.site.parts.controller.policies
        return policies.topics if what == "create-topic" else policies.configs

    def names(self) -> list[str]:
        """For people: one word for each."""
        return [
            *(f"api:{api.name}({api.key})" for api in self.apis.values()),
            *(f"mount:{mount.path}" for mount in self.mounts),
            *(f"page:{page.name}" for page in self.pages),
            *(f"{one.kind}:{getattr(one.request, '__name__', '*')}" for one in self.wanted),
            *(f"{what}-policy" for what, _ in self.policies),
            *(f"reporter:{reporter.name}" for reporter in self.reporters),
            *(f"assignor:{assignor.name}" for assignor in self.assignors),
        ]

    def _refuse(self, wanted: Wanted, reason: str) -> None:
        """In the place of what intercepted a request."""
        refuse = refuser(reason)
        made = evolve(wanted, kind="before", function=refuse, handle=None)
        self._register(made)
        self.wanted.append(made)

    def _swap_assignors(
        self, leaving: Sequence[GuardedAssignor], coming: Sequence[GuardedAssignor]
    ) -> None:
        """A plugin without assignors may run where there are no groups."""
        if leaving or coming:
            self.site.parts.groups.consumer.assignors.swap(leaving, coming)

    @property
    def _interceptors(self) -> Any:
        return self.site.parts.interceptors

    def _register_all(self) -> None:
        try:
            for wanted in self.wanted:
                self._register(wanted)
        except BaseException:
            for wanted in self.wanted:
                self._take_back(wanted)
            raise

    def _take_back(self, wanted: Wanted) -> None:
        if wanted.handle is not None:
            self._interceptors.remove(wanted.handle)
            wanted.handle = None

    def _register(self, wanted: Wanted) -> None:
        wanted.handle = self._interceptors.add(
            wanted.kind,
            wanted.request,
            wanted.function,
            order=wanted.order,
            owner=self.owner,
            deadline_s=None if self.owner.deadline_s == inf else self.owner.deadline_s,
            limit=self.owner.limiter if wanted.kind == "around" else None,
            versions=wanted.versions,
        )
