"""What a plugin is given for its life, and by which it gives."""

from collections.abc import Awaitable, Callable, Mapping
from types import GenericAlias, ModuleType
from typing import TYPE_CHECKING, Any, Generic, TypeVar

import trio

from trio_kafka.config.broker import BrokerConfig
from trio_kafka.controller.policies import ConfigPolicy, TopicPolicy
from trio_kafka.coordinators.groups.consumer.assignors.spec import Assignor
from trio_kafka.introspect.families import MetricsReporter
from trio_kafka.introspect.log import Logger
from trio_kafka.introspect.metrics import Counter
from trio_kafka.introspect.tree import Kind, Node
from trio_kafka.model import Endpoint
from trio_kafka.plugin_host.contributions import Contributions, Wanted
from trio_kafka.plugin_host.mounts import App, Mounts
from trio_kafka.plugin_host.pages import AdminPages
from trio_kafka.plugin_host.site import Reporters
from trio_kafka.requests.api import api_of
from trio_kafka.requests.interceptors.registry import Kind as InterceptorKind
from trio_kafka.requests.loopback.in_process import HERE
from trio_kafka.requests.parts import Parts
from trio_kafka.requests.registry import Registry
from trio_kafka.security.principal import NOBODY, Principal
from trio_kafka.world.world import World

S = TypeVar("S")


class _WithSettings:
    """`PluginContext[Settings]` at run time. typing's own would keep the class of the settings in a
    cache of its own, long after its generation has gone.
    """

    __class_getitem__: Any = classmethod(GenericAlias)


if TYPE_CHECKING:

    class _Of(Generic[S]):
        """For the type checker."""
else:
    _Of = _WithSettings


class PluginContext(_Of[S]):
    """Of one generation of a plugin. What it adds is given to the broker when the plugin is ready,
    at once if it is, and taken back when the plugin goes.

    settings: its own. parts: what handlers reach. node: its place in the tree. nursery: for its
    tasks, which are cancelled after its block has been left; one that fails fails the plugin.
    """

    def __init__(
        self,
        *,
        name: str,
        settings: S,
        contributions: Contributions,
        nursery: trio.Nursery,
        node: Node,
        logger: Logger,
        order: int,
        versions: Mapping[int, tuple[int, int]],
    ) -> None:
        self.name = name
        self.settings = settings
        self.nursery = nursery
        self.node = node
        self.logger = logger
        self._contributions = contributions
        self._site = contributions.site
        self._order = order
        self._versions = versions

    @property
    def parts(self) -> Parts:
        return self._site.parts

    @property
    def config(self) -> BrokerConfig:
        return self._site.parts.config

    @property
    def world(self) -> World:
        return self._site.world

    @property
    def reporters(self) -> Reporters:
        """Who wants to be told of metrics, of all plugins, for whoever tells."""
        return self._site.reporters

    @property
    def mounts(self) -> Mounts:
        """The apps of all plugins, for a plane that serves them."""
        return self._site.mounts

    @property
    def pages(self) -> AdminPages:
        """The admin UI's pages of all plugins, for the plugin that shows them."""
        return self._site.pages

    @property
    def deadline_s(self) -> float:
        """The most that one request may be in its hands: `plugin.<name>.deadline.ms`."""
        return self._contributions.owner.deadline_s

    def part_of_the_rest(self, *, at_most_s: float) -> trio.CancelScope:
        """A scope for what a plugin does when it goes: half of the time that the host leaves it.

        The other half is for what does not end. Nothing is left where requests in hand took all
        of `plugin.<name>.drain.ms`: then the scope is over at its first checkpoint.
        """
        left_s = trio.current_effective_deadline() - trio.current_time()
        return trio.move_on_after(min(max(left_s, 0.0) / 2, at_most_s))

    def counter(self, name: str, **labels: str) -> Counter:
        """A counter of the broker's, labelled with the plugin's name; it outlives the plugin."""
        return self._site.counters.counter(name, plugin=self.name, **labels)

    # --- requests

    async def ask(
        self,
        request: object,
        *,
        principal: Principal = NOBODY,
        client_id: str | None = None,
        peer: Endpoint = HERE,
        version: int | None = None,
    ) -> Any:
        """Ask the broker as a client does, and give the answer: interceptors, quotas, metrics and
        the request log see it. See `requests.loopback.in_process`.

        client_id: None: the plugin's name. version: None: the newest that is served.
        """
        return await self.parts.in_process.ask(
            request,
            principal=principal,
            client_id=self.name if client_id is None else client_id,
            peer=peer,
            version=version,
        )

    def add_api(self, handler: Callable[..., Any]) -> None:
        """Serve an API by a function that is marked `@api`. Raises TypeError, DuplicateApiError."""
        api = api_of(handler)
        if api is None:
            raise TypeError(f"{handler!r} is not marked @api")
        self._contributions.add_api(api)

    def add_module(self, module: ModuleType) -> None:
        """Serve all APIs of a module, or of the modules of a package."""
        found = Registry()
        found.add_module(module)
        for listed in found:
            api = found.get(listed.key)
            if api is not None:
                self._contributions.add_api(api)

    def before(self, request: type[Any] | None, function: Callable[..., Any]) -> None:
        """See every request of a class (None: every one) before its handler does."""
        self.intercept("before", request, function)

    def after(self, request: type[Any] | None, function: Callable[..., Any]) -> None:
        """See every answer to a class of requests before it is written."""
        self.intercept("after", request, function)

    def around(self, request: type[Any] | None, function: Callable[..., Any]) -> None:
        """Stand around the handler of a class of requests: async, and free to wait."""
        self.intercept("around", request, function)

    def intercept(
        self, kind: InterceptorKind, request: type[Any] | None, function: Callable[..., Any]
    ) -> Wanted:
        """Any of these three; what it can be taken back by."""
        wanted = Wanted(
            kind=kind,
            request=request,
            function=function,
            order=self._order,
            versions=self._versions,
        )
        self._contributions.intercept(wanted)
        return wanted

    def stop_intercepting(self, wanted: Wanted) -> None:
        """Take one back before the plugin goes; requests in hand finish with it. Idempotent."""
        self._contributions.give_up(wanted)

    # --- everything else

    def mount(self, path: str, app: App, *, checks_tokens: bool = False) -> None:
        """An ASGI app for planes that speak HTTP: at `path` and below. Raises MountError.

        checks_tokens: the app answers 401 itself to a client without a token that it knows. The
            plane lets clients without its own token through to it, with their Authorization header.
        """
        self._contributions.mount(path, app, checks_tokens=checks_tokens)

    def add_admin_page(self, name: str, load: Callable[[], Any]) -> None:
        """A page of the admin UI: `/admin/<name>`, and `/admin/api/<name>` as JSON. Raises
        PageError for a name that another plugin has.

        load: returns a `trio_kafka_admin.page.Page` of that name; called once, in a thread, when a
            browser first asks, so that a start imports no page.
        """
        self._contributions.show(name, load)

    def add_create_topic_policy(self, policy: TopicPolicy) -> None:
        """Look at topics before they are created: `policy(wanted, principal)` raises
        KafkaError(POLICY_VIOLATION) where one must not be.
        """
        self._contributions.check("create-topic", policy)

    def add_alter_config_policy(self, policy: ConfigPolicy) -> None:
        """Look at settings before they are changed; as `add_create_topic_policy`."""
        self._contributions.check("alter-config", policy)

    def add_metrics_reporter(self, reporter: MetricsReporter) -> None:
        """Be told of metrics: `reporter.report(families)` is called every
        `plugin.metrics.report.interval.ms`, by the plugin `metrics`.
        """
        self._contributions.report(reporter)

    def add_group_assignor(self, assignor: Assignor) -> None:
        """Assign the partitions of consumer groups whose members ask for `assignor.name`
        (`group.remote.assignor`). Raises TypeError for one without a name, ValueError for a name
        that is taken.
        """
        self._contributions.assign(assignor)

    async def start(
        self, name: str, call: Callable[..., Awaitable[Any]], *arguments: Any, kind: Kind = "task"
    ) -> Any:
        """Run `call(*arguments, task_status=...)` in the nursery; what it is ready with.

        It is a node of the tree while it runs; kind: "plane" for what serves.
        """
        return await self.nursery.start(self._run, name, call, arguments, kind, name=name)

    async def _run(
        self,
        name: str,
        call: Callable[..., Awaitable[Any]],
        arguments: tuple[Any, ...],
        kind: Kind,
        *,
        task_status: trio.TaskStatus[Any],
    ) -> None:
        with self.node.child(name, kind):
            await call(*arguments, task_status=task_status)
