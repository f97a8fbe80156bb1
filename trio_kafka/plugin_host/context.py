"""The plugin's side of the host: what a plugin receives and how it contributes."""

from collections.abc import Awaitable, Callable, Iterable, Mapping
from functools import partial as bound
from types import GenericAlias, ModuleType
from typing import TYPE_CHECKING, Any, Generic, TypeVar

import trio
from attrs import field

from trio_kafka.attributes import define
from trio_kafka.config.broker import BrokerConfig
from trio_kafka.controller.policies import ConfigPolicy, TopicPolicy
from trio_kafka.coordinators.groups.consumer.assignors.spec import Assignor
from trio_kafka.introspect.families import MetricsReporter
from trio_kafka.introspect.log import Logger
from trio_kafka.introspect.metrics import Counter
from trio_kafka.introspect.tree import Node, NodeKind
from trio_kafka.log.decompression import Decompression
from trio_kafka.model import Endpoint, TopicId
from trio_kafka.plugin_host.changed_batches import changed_batches
from trio_kafka.plugin_host.contributions import Checked, Contributions, Interception
from trio_kafka.plugin_host.dependencies import PluginHostDependencies, Reporters
from trio_kafka.plugin_host.guard import (
    GuardedAssignor,
    GuardedReporter,
    Owner,
    guard_api,
    guard_app,
    guard_policy,
)
from trio_kafka.plugin_host.guarded_authorizer import GuardedAuthorizer
from trio_kafka.plugin_host.mounts import App, Mount, Mounts, check_path
from trio_kafka.plugin_host.pages import AdminPage, AdminPages, check_page_name
from trio_kafka.plugin_host.records import RecordPosition, decoded, read_bytes
from trio_kafka.plugin_host.served_request import parked, serving
from trio_kafka.records.batch import Record
from trio_kafka.records.file_range import FileRange
from trio_kafka.records.values import Change
from trio_kafka.requests.api import Api, api_of
from trio_kafka.requests.interceptors.registry import Kind as InterceptorKind
from trio_kafka.requests.loopback import IN_PROCESS
from trio_kafka.requests.parts import Parts
from trio_kafka.requests.registry import Registry
from trio_kafka.security.authorizer import Authorizer
from trio_kafka.security.operations import Operation
from trio_kafka.security.principal import BROKER, Principal
from trio_kafka.world.protocols import Buffer
from trio_kafka.world.world import World

S = TypeVar("S")
Forward = Callable[[object], Awaitable[Any]]  # of an `around`: serves a request further in


class _WithSettings:
    """Run-time form of `PluginContext[Settings]`.

    typing's own would keep the settings class in a cache after its generation has ended.
    """

    __class_getitem__: object = classmethod(GenericAlias)


if TYPE_CHECKING:

    class _Of(Generic[S]):
        """Generic base that only the type checker sees."""
else:
    _Of = _WithSettings


@define(eq=False, kw_only=True, slots=False)
class PluginContext(_Of[S]):
    """Context of one generation of a plugin.

    Contributions reach the broker when the plugin is ready (at once if it is ready already) and are
    withdrawn when the plugin stops.
    settings: of this plugin. parts: the parts of the broker that handlers use. node: place in the
    tree. principal: of the plugin's own requests, `plugin.<name>.principal`; by default the broker.
    nursery: for the plugin's tasks. They are cancelled after the plugin's block has been left; a
    task that fails fails the plugin.
    """

    name: str
    settings: S
    _contributions: Contributions = field(repr=False)  # it leads to the whole broker
    nursery: trio.Nursery
    node: Node
    logger: Logger
    _order: int
    _versions: Mapping[int, tuple[int, int]]
    principal: Principal = BROKER

    @property
    def _owner(self) -> Owner:
        return self._contributions.owner

    @property
    def _dependencies(self) -> PluginHostDependencies:
        return self._contributions.dependencies

    @property
    def parts(self) -> Parts:
        return self._dependencies.parts

    @property
    def config(self) -> BrokerConfig:
        return self._dependencies.parts.config

    @property
    def world(self) -> World:
        return self._dependencies.world

    @property
    def reporters(self) -> Reporters:
        """Metrics reporters of all plugins, for the plugin that calls them."""
        return self._dependencies.reporters

    @property
    def mounts(self) -> Mounts:
        """Mounted apps of all plugins, for a plane that serves them."""
        return self._dependencies.mounts

    @property
    def pages(self) -> AdminPages:
        """Admin UI pages of all plugins, for the plugin that shows them."""
        return self._dependencies.pages

    @property
    def deadline_s(self) -> float:
        """Longest time that one request may be in flight in this plugin:
        `plugin.<name>.deadline.ms`.
        """
        return self._owner.deadline_s

    def part_of_the_rest(self, *, at_most_s: float) -> trio.CancelScope:
        """Return a cancel scope for clean-up: half of the stop time that is left, `at_most_s` at
        most.

        The other half is for tasks that do not end by themselves. If requests in flight used up all
        of `plugin.<name>.drain.ms`, the scope expires at its first checkpoint.
        """
        left_s = trio.current_effective_deadline() - trio.current_time()
        return trio.move_on_after(min(max(left_s, 0.0) / 2, at_most_s))

    def counter(self, name: str, **labels: str) -> Counter:
        """Return a broker counter labelled with the plugin's name; it outlives the plugin."""
        return self._dependencies.counters.counter(name, plugin=self.name, **labels)

    # --- requests

    async def ask(
        self,
        request: object,
        *,
        principal: Principal | None = None,
        client_id: str | None = None,
        peer: Endpoint = IN_PROCESS,
        version: int | None = None,
    ) -> Any:
        """Send a request to the broker as a client would, and return the response.

        Interceptors, quotas, metrics and the request log apply. See `requests.loopback`.
        principal: None: that of the plugin. client_id: None: the plugin's name.
        version: None: the newest that is served.
        A request that this task serves (async handler or `around`) is parked meanwhile.
        Raises KafkaError(UNSUPPORTED_VERSION), RefusedError if a client would lose its connection.
        """
        ask = bound(
            self.parts.in_process.ask,
            request,
            principal=self.principal if principal is None else principal,
            client_id=self.name if client_id is None else client_id,
            peer=peer,
            version=version,
        )
        return await parked(ask)

    # --- records

    async def records(self, batches: Buffer | FileRange | None) -> list[Record]:
        """Decode the records of a Produce request or of a response to a Fetch.

        batches: `records` of a partition: whole batches, a last one cut short is left out; None has
        no records. Control records are left out. The field itself does not change.
        Decode records of a Produce before `forward`, which may reuse the frame.
        Raises KafkaError: CORRUPT_MESSAGE, also for more than 16 MiB of decompressed records;
        NOT_LEADER_OR_FOLLOWER if the log was truncated meanwhile.
        """
        return await decoded(batches, self.world)

    async def with_values(self, batches: Buffer | FileRange | None, change: Change) -> Buffer:
        """Return batches with other values, for the `records` of a partition of a Produce request.

        change: gets the bytes of a value and returns others, equal ones for no change, or None
        for null. It is not called for null values and control records.
        Producers, sequences, codecs and all else of a batch stay. A last batch that is cut short is
        left out. If nothing changes, the result is `batches`, unless those were a range of a file.
        Raises what `change` raises, and as `records`.
        """
        data = await read_bytes(batches)
        return await changed_batches(
            data, change, self.world, decompression=self.parts[Decompression]
        )

    async def produce(
        self,
        topic: str,
        records: Iterable[Record],
        *,
        partition: int | None = None,
        acks: int = -1,
        timeout_s: float = 30.0,
        principal: Principal | None = None,
    ) -> list[RecordPosition]:
        """Append records to a topic as a client would; return partition and offset of each.

        The topic is created if the broker creates topics by their names. A record without a
        timestamp gets the present time. Records with a key go to the partition that Kafka's
        producers choose; those without one go to one random partition.
        partition: of all records. acks: -1, 1, or 0 for no answer (offsets are -1).
        Raises the KafkaError of the first partition that rejects its records, and
        KafkaError(REQUEST_TIMED_OUT) after `timeout_s`. Records of other partitions may have been
        appended then.
        The request passes all interceptors, those of this plugin too: its context has the
        `client_id` of the plugin's name, and the `listener` "in-process".
        """
        # It imports messages, which a start need not.
        from trio_kafka.plugin_host.record_producer import Producer  # noqa: PLC0415 - see above

        producer = Producer(
            bound(self.ask, principal=principal),
            lambda: self.parts.metadata.image,
            self.world,
            creates_topics=self.config.auto_create_topics_enable,
        )
        return await producer.produce(
            topic, records, partition=partition, acks=acks, timeout_s=timeout_s
        )

    def topic_name(self, topic: Any) -> str:
        """Return the name of a topic in a request or response, also if it is given by its id.

        topic: element with `name` or `topic`, and maybe `topic_id`. Empty: no topic has that id.
        """
        name: str = getattr(topic, "name", "") or getattr(topic, "topic", "")
        if name:
            return name
        image = self.parts.metadata.image.topic(TopicId(topic.topic_id))
        return "" if image is None else image.name

    # --- APIs and interceptors

    def add_api(self, handler: Callable[..., object]) -> None:
        """Serve an API by a function marked `@api`. Raises TypeError, DuplicateApiError."""
        api = api_of(handler)
        if api is None:
            raise TypeError(f"{handler!r} is not marked @api")
        self._add_api(api)

    def add_module(self, module: ModuleType) -> None:
        """Serve all APIs of a module, or of the modules of a package."""
        registry = Registry()
        registry.add_module(module)
        for listed in registry:
            api = registry.get(listed.key)
            if api is not None:
                self._add_api(api)

    def _add_api(self, api: Api) -> None:
        if self._contributions.has_api(api.key):
            raise ValueError(f"API key {api.key} was added already by this plugin")
        self._contributions.add("api", guard_api(api, self._owner))

    def before(self, request: type[object] | None, function: Callable[..., object]) -> None:
        """Call a function for every request of a class before its handler runs.

            def function(request: ProduceRequest, context: Context) -> ProduceResponse | None

        None passes the request on, changed or not. A response, or a KafkaError that it raises,
        answers the client instead. It must not wait. request: None: the requests of every API.
        """
        self.intercept("before", request, function)

    def after(self, request: type[object] | None, function: Callable[..., object]) -> None:
        """Call a function for every response to a class of requests before it is written.

            def function(
                request: ProduceRequest, response: ProduceResponse, context: Context
            ) -> ProduceResponse | None

        None keeps the response, changed or not; another response replaces it. Errors are responses
        too. It must not wait, and it is not called without a response (acks=0).
        request: None: the responses of every API.
        """
        self.intercept("after", request, function)

    def around(self, request: type[object] | None, function: Callable[..., object]) -> None:
        """Wrap the handler of a class of requests in an async function, which may wait.

            async def function(
                request: ProduceRequest, context: Context, forward: Forward
            ) -> ProduceResponse | None

        `await forward(request)` returns the response, or None if there is none (acks=0). It may be
        called once, or not at all. A response, or a KafkaError that the function raises, answers
        the client. request: None: the requests of every API.
        """
        self.intercept("around", request, function)

    def intercept(
        self, kind: InterceptorKind, request: type[object] | None, function: Callable[..., Any]
    ) -> Interception:
        """Add an interceptor of any kind; the result is passed to `stop_intercepting`."""
        interception = Interception(
            kind=kind,
            request=request,
            function=serving(function) if kind == "around" else function,
            order=self._order,
            versions=self._versions,
        )
        self._contributions.add("interceptor", interception)
        return interception

    def stop_intercepting(self, interception: Interception) -> None:
        """Remove an interceptor before the plugin stops; requests in flight finish with it.
        Idempotent.
        """
        self._contributions.remove(interception)

    # --- other contributions

    def mount(
        self,
        path: str,
        app: App,
        *,
        checks_tokens: bool = False,
        look: Operation | None = Operation.DESCRIBE,
        change: Operation | None = Operation.ALTER,
    ) -> None:
        """Serve an ASGI app at `path` and below, on planes that speak HTTP. Raises MountError.

        checks_tokens: the app itself answers 401 to clients without a valid token. The plane then
        passes on clients without its own token, with their Authorization header.
        look, change: permission on the cluster that GET and HEAD, and all other methods need. None:
        the app asks the authorizer itself.
        """
        check_path(path)
        guarded = guard_app(app, self._owner, path)
        mount = Mount(path, guarded, self.name, checks_tokens, look, change)
        self._contributions.add("mount", mount)

    def add_admin_page(self, name: str, load: Callable[[], object]) -> None:
        """Add a page of the admin UI: `/admin/<name>`, and `/admin/api/<name>` as JSON.

        load: returns a `trio_kafka_admin.page.Page` of that name. It runs once, in a thread, when a
        browser first asks, so that the start imports no page.
        Raises PageError if another plugin has the name.
        """
        check_page_name(name)
        self._contributions.add("page", AdminPage(name, load, self._owner))

    def add_create_topic_policy(self, policy: TopicPolicy) -> None:
        """Check topics before their creation: `policy(wanted, principal)`.

        The policy rejects a topic by raising KafkaError(POLICY_VIOLATION).
        """
        self._add_policy("create-topic", policy)

    def add_alter_config_policy(self, policy: ConfigPolicy) -> None:
        """Check settings before a change, as `add_create_topic_policy` does for topics."""
        self._add_policy("alter-config", policy)

    def _add_policy(self, kind: Checked, policy: TopicPolicy | ConfigPolicy) -> None:
        guarded = guard_policy(policy, self._owner, f"{kind} policy")
        self._contributions.add("policy", (kind, guarded))

    def add_metrics_reporter(self, reporter: MetricsReporter) -> None:
        """Receive metrics: the plugin `metrics` calls `reporter.report(families)` periodically.

        The interval is `plugin.metrics.report.interval.ms`.
        """
        self._contributions.add("reporter", GuardedReporter(reporter, self._owner))

    def add_authorizer(self, authorizer: Authorizer) -> None:
        """Decide what clients may do, if the broker has `authorizer.class.name=plugin.<name>`.

        While the plugin does not run, nothing is allowed. Raises ValueError if the settings do not
        name this plugin, or if it has an authorizer already.
        """
        self._contributions.add("authorizer", GuardedAuthorizer(authorizer, self._owner))

    def add_group_assignor(self, assignor: Assignor) -> None:
        """Assign partitions for groups that ask for `assignor.name` (`group.remote.assignor`).

        Raises TypeError if it has no name, ValueError if the name is taken.
        """
        self._contributions.add("assignor", GuardedAssignor(assignor, self._owner))

    async def start(
        self,
        name: str,
        call: Callable[..., Awaitable[object]],
        *arguments: object,
        kind: NodeKind = "task",
    ) -> object:
        """Run `call(*arguments, task_status=...)` in the nursery; return its start value.

        The task is a node of the tree while it runs. kind: "plane" for a task that serves clients.
        """
        run = bound(self._run, name, call, arguments, kind=kind)
        return await self.nursery.start(run, name=name)

    async def _run(
        self,
        name: str,
        call: Callable[..., Awaitable[object]],
        arguments: tuple[object, ...],
        *,
        kind: NodeKind,
        task_status: trio.TaskStatus[object],
    ) -> None:
        with self.node.child(name, kind):
            await call(*arguments, task_status=task_status)
