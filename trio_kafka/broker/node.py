"""A node: the parts of one broker or controller, opened in the order of its role.

A `Part` says of which class it is, how it is opened, and what it does in which stage of the stop.
A role is a list of parts (`trio_kafka.broker.roles`). The start opens them in this order and the
stop (`trio_kafka.broker.shutdown`) follows from their stages, so a new part is one file in `parts`
and one line in its role.

A start that is cut off is not stopped in order: `abandon` releases locks and files, and the next
start recovers. So `open` is a function and not a block with one end.
"""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import ExitStack, nullcontext
from enum import Enum
from itertools import groupby
from operator import attrgetter
from typing import Generic, TypeVar

import trio
from attrs import Factory, field

from trio_kafka.attributes import define, frozen
from trio_kafka.broker.step_timings import StepTimings
from trio_kafka.broker.tasks import Tasks
from trio_kafka.config.broker import BrokerConfig
from trio_kafka.errors import InvariantError
from trio_kafka.introspect.metrics import Counters
from trio_kafka.introspect.tree import Node as TreeNode
from trio_kafka.log.files.open_files import SMALLEST
from trio_kafka.metadata.effective import EffectiveConfig
from trio_kafka.model import NodeId
from trio_kafka.plugin_host.declaration import Plugin
from trio_kafka.plugin_host.guard import PluginError
from trio_kafka.requests.parts import Parts
from trio_kafka.scheduling.deferred_batch import DeferredBatch
from trio_kafka.scheduling.yield_point import YieldPoint
from trio_kafka.world.world import World

T = TypeVar("T")
T_co = TypeVar("T_co", covariant=True)
Open = Callable[["Node"], Awaitable[T | None]]
Stop = Callable[["Node"], Awaitable[None]]


class Stage(Enum):
    """Stages of a stop, in order. The value is the name of the step in the log and the tree."""

    LEAVING = "controlled shutdown"
    NETWORK = "network"
    PLUGINS = "plugins"
    HANDLERS = "handlers"
    SCHEDULER = "scheduler"
    COORDINATORS = "coordinators"
    REPLICATION = "replication"
    CONTROLLER = "controller"
    LOGS = "logs"


@frozen(kw_only=True)
class Part(Generic[T_co]):
    """One part of a node.

    kind: class by which `node[kind]` finds it. open: makes and starts it. If it returns None, the
    settings switch the part off, and neither `stops` nor `serve` is called.
    stops: what it does in each stage of the stop that concerns it.
    step: step of the start that its time is counted to; adjacent parts share one.
    face: class by which handlers find it, `context[face]`, if not by `kind`.
    serve: called when all parts are open.
    """

    kind: type[T_co]
    open: Open[T_co]
    stops: Mapping[Stage, Stop] = Factory(dict)
    step: str = ""
    face: type[object] | None = None
    serve: Callable[["Node"], None] | None = None


def at_once(make: Callable[["Node"], T]) -> Open[T]:
    """Return the `open` of a part that is made without waiting and has no task."""

    async def open_part(node: "Node") -> T:
        await trio.lowlevel.checkpoint()
        return make(node)

    return open_part


def tasks_end(*names: str) -> Stop:
    """Return the stop of a part whose tasks are cancelled one after the other."""

    async def stop(node: "Node") -> None:
        await node.tasks.stop(*names)

    return stop


@frozen(kw_only=True)
class StartOptions:
    """Options of a start. open_files: most open files of sealed segments.

    plugins: None: the installed ones.
    """

    format_if_empty: bool = False
    open_files: int = SMALLEST
    plugins: Sequence[Plugin] | None = None


@define(eq=False, kw_only=True)
class Node:
    """A node in the making, later running: `node[GroupCoordinator]` is the part of that class.

    tree: root of its tree. tasks: all its tasks, by name. handler_parts: what handlers use.
    effective: settings in force, files and dynamic ones. deferred, yield_point: see `scheduling`.
    start, stop: durations of the steps.
    """

    role: str
    roles: Mapping[str, Sequence[Part[object]]]
    world: World
    config: BrokerConfig
    tree: TreeNode
    tasks: Tasks
    handler_parts: Parts
    options: StartOptions = field(factory=StartOptions)
    counters: Counters = field(factory=Counters, init=False)
    deferred: DeferredBatch = field(factory=DeferredBatch, init=False)
    yield_point: YieldPoint = field(factory=YieldPoint, init=False)
    effective: EffectiveConfig = field(init=False)
    start: StepTimings = field(init=False)
    stop: StepTimings = field(init=False)
    _running: dict[type, object] = field(factory=dict, init=False)
    _abandoning: ExitStack = field(factory=ExitStack, init=False)

    def __attrs_post_init__(self) -> None:
        self.effective = EffectiveConfig(self.config)
        self.start = StepTimings("start", self.world.clock.elapsed, self.tree)
        self.stop = StepTimings("stop", self.world.clock.elapsed, self.tree)
        self.handler_parts.counters, self.handler_parts.settings = self.counters, self.effective

    @property
    def node_id(self) -> NodeId:
        return NodeId(self.config.node_id)

    @property
    def parts(self) -> Sequence[Part[object]]:
        """Parts of its role, in the order of the start."""
        return self.roles[self.role]

    @property
    def open_parts(self) -> Sequence[Part[object]]:
        """Parts of its role that are open: those that the settings do not switch off."""
        return [part for part in self.parts if part.kind in self._running]

    def __getitem__(self, kind: type[T]) -> T:
        """Return the part of a class. KeyError names the part and the roles that have it."""
        part = self.get(kind)
        if part is None:
            raise KeyError(self._why_missing(kind))
        return part

    def get(self, kind: type[T]) -> T | None:
        """Return the part of a class; None if this node has none, or none yet."""
        part = self._running.get(kind)
        if part is not None and not isinstance(part, kind):
            raise InvariantError(f"the part of {kind.__name__} is a {type(part).__name__}")
        return part

    def add(self, kind: type[T], part: T) -> T:
        """Register a part while it is still being opened, and return it."""
        self._running[kind] = part
        declared = next((declared for declared in self.parts if declared.kind is kind), None)
        face = kind if declared is None or declared.face is None else declared.face
        self.handler_parts.add(face, part)
        return part

    async def open(self) -> None:
        """Open all parts in order, then let clients in. Raises whatever a part raises."""
        for step, parts in groupby(self.parts, key=attrgetter("step")):
            with self.start.step(step) if step else nullcontext():
                for part in parts:
                    running = await part.open(self)
                    if running is not None:
                        self.add(part.kind, running)
        for part in self.open_parts:
            if part.serve is not None:
                part.serve(self)

    def on_abandon(self, release: Callable[[], object]) -> None:
        """Have `abandon` call a function that releases locks or files. Last in, first called."""
        self._abandoning.callback(release)

    def abandon(self) -> None:
        """Release locks and files of a node that was not stopped in order. Idempotent."""
        self._abandoning.close()

    @property
    def is_broken(self) -> bool:
        """True if a part that the stop needs has failed; plugins do not count."""
        return not isinstance(self.tasks.failure, PluginError | None)

    def _why_missing(self, kind: type) -> str:
        roles = [
            role for role, parts in self.roles.items() if any(part.kind is kind for part in parts)
        ]
        if self.role in roles:
            return f"{kind.__name__} of this {self.role}: it is not open, or switched off"
        having = " or ".join(roles)
        where = f"a node with the role {having} has it" if roles else "no role has it"
        return f"{kind.__name__} on this {self.role}: {where}"
