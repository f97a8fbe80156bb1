"""Shards of one internal topic: one for each partition that this broker leads.

The runtime follows the metadata. A partition that is led here in a new epoch gets a shard, which is
loaded from its log while the others serve; a partition that is no longer led here loses its shard.
A new shard goes into the queue of one task, which loads them one by one, in slices; then it serves.
Events are taken where they come from. Another task gives each shard with unfinished work a slice in
turn, see `turns`. It also cleans up unloaded shards.
A shard that fails, or whose load fails, is replaced by a new one after a growing delay, for as long
as its partition is led here in that epoch. A partition may disappear before the metadata say so;
that is a failed load, too. The runtime knows the machine by its protocol only.
"""

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from typing import Final, Generic, NoReturn, Protocol, Self, TypeAlias, TypeVar

import trio
from attrs import field

from trio_kafka.attributes import define, frozen
from trio_kafka.coordinators.shards.batch_accumulator import Batching
from trio_kafka.coordinators.shards.loading import LoadableMachine, LoadResult, load
from trio_kafka.coordinators.shards.partition_log import AppendReceipt, PartitionLog
from trio_kafka.coordinators.shards.protocols import Change, Machine, ShardState
from trio_kafka.coordinators.shards.record_codec import RecordCodec
from trio_kafka.coordinators.shards.reload_delays import BACKOFF, ReloadDelays
from trio_kafka.coordinators.shards.shard import Shard
from trio_kafka.coordinators.shards.turns import ShardTurns
from trio_kafka.errors import InvariantError, KafkaError, LogDirError
from trio_kafka.introspect.declared_waits import waits_for_work
from trio_kafka.introspect.log import get_logger
from trio_kafka.introspect.tree import Figures, Node
from trio_kafka.log.append import Appended
from trio_kafka.metadata.delta import MetadataDelta
from trio_kafka.metadata.image import MetadataImage
from trio_kafka.model import NodeId, TopicId
from trio_kafka.purgatory import Timer, Timers
from trio_kafka.records.compression import Codec
from trio_kafka.replication.partition import Partition
from trio_kafka.replication.table import ReplicaKey
from trio_kafka.scheduling.chunked_work import Steps
from trio_kafka.scheduling.lasting_objects import LASTING_GROWTH
from trio_kafka.world.protocols import Clock

_logger: Final = get_logger(__name__)
# Topic id (a topic may be created again) and leader epoch.
Leadership: TypeAlias = tuple[TopicId, int]


@define
class LoadTimes:
    """Times of the loads of a topic's shards, since the start."""

    count: int = 0
    total_s: float = 0.0
    longest_s: float = 0.0

    def note(self, took_s: float) -> None:
        """Count one load."""
        self.count += 1
        self.total_s += took_s
        self.longest_s = max(self.longest_s, took_s)


class ShardMachine(Machine, LoadableMachine, Protocol):
    """Machine of a shard. image: set before the shard serves."""

    image: MetadataImage

    def image_changed(
        self, delta: MetadataDelta, image: MetadataImage, *, busy: bool
    ) -> Sequence[Change[Self]]:
        """Return the events that follow from new metadata. busy: an event is half done."""

    def nodes(self, parent: Node) -> Iterable[Node]:
        """Return the nodes of the tree below `parent`, made on demand."""

    def close(self) -> Steps[None]:
        """Break all cycles in a machine that is no longer used, so that nothing waits for the
        collector. Later readers find nothing in it.
        """


M = TypeVar("M", bound=ShardMachine)


@frozen(kw_only=True)
class ShardDependencies:
    """Parts that shards are built with.

    find_partition: return this broker's replica of a partition of a topic, or None. buffer: bytes
    of one read while loading. compression: of written batches. batching: when a batch is written.
    """

    broker: NodeId
    find_partition: Callable[[ReplicaKey], Partition | None]
    timers: Timers
    clock: Clock
    buffer: int
    compression: Codec = Codec.NONE
    batching: Batching = field(factory=Batching)


class ShardRuntime(Generic[M]):
    """Shards by partition number. count: partitions of the topic; None while there is no topic."""

    def __init__(
        self,
        topic: str,
        codec: RecordCodec,
        make: Callable[[], M],
        *,
        dependencies: ShardDependencies,
        node: Node,
    ) -> None:
        """codec: of the topic's records. make: create the machine of a new shard."""
        self.topic = topic
        self.shards: dict[int, Shard[M]] = {}
        self.count: int | None = None
        self.image = MetadataImage()
        self._codec = codec
        self._make = make
        self._dependencies = dependencies
        self._clock = dependencies.clock
        self._node = node
        # By partition number, with a shard or without one yet.
        self._led: dict[int, Leadership] = {}
        self._nodes: dict[int, Node] = {}
        self._topic_id: TopicId | None = None
        self._loads: deque[tuple[int, Shard[M], Partition]] = deque()
        self._failures: dict[int, ReloadDelays] = {}
        self._delayed: dict[int, Timer] = {}  # loads that are delayed
        self._turns = ShardTurns(dependencies.clock.elapsed)
        self._load_event = trio.Event()
        self._loaded = LoadResult()
        self.load_times = LoadTimes()
        self._unloads = 0
        self._stopped = False

    # Following the metadata

    def start(self, image: MetadataImage) -> None:
        """Take over the first image."""
        self.image = image
        self._follow(image)

    def publish(self, delta: MetadataDelta, image: MetadataImage, /) -> Iterator[None]:
        """Take over changed metadata: leaders first, then the events of the machines."""
        self.image = image
        topic = image.topics.get(self.topic)
        names = delta.deleted_topics.values()
        if (topic is not None and topic.id in delta.topics) or self.topic in names:
            self._follow(image)
        for shard in tuple(self.shards.values()):
            if shard.state is ShardState.ACTIVE:
                for change in shard.machine.image_changed(delta, image, busy=shard.busy):
                    shard.apply(change)
                yield

    def _follow(self, image: MetadataImage) -> None:
        topic = image.topics.get(self.topic)
        led: dict[int, Leadership] = {}
        if topic is not None:
            led = {
                number: (topic.id, state.leader_epoch)
                for number, state in topic.partitions.items()
                if state.leader == self._dependencies.broker
            }
            if self.count is None or topic.id != self._topic_id:
                self.count = len(topic.partitions)
            self._topic_id = topic.id
        else:
            self.count = self._topic_id = None
        for number in tuple(self._led):
            if self._led[number] != led.get(number):
                self._unload(number)
        for number, leadership in led.items():
            if number not in self._led and not self._stopped:
                self._led[number] = leadership
                self._failures[number] = ReloadDelays()
                self._begin(number, ShardState.LOADING)

    def _begin(self, number: int, state: ShardState, wait_s: float = 0.0) -> None:
        """Create a shard; load it now, or after a delay, with this state until then."""
        topic_id, epoch = self._led[number]
        dependencies = self._dependencies
        partition = dependencies.find_partition((topic_id, number))
        if partition is None:  # created later, or deleted already: new metadata follow
            self._begin_later(number)
            return
        log = PartitionLog(
            partition,
            leader_epoch=epoch,
            purgatory=partition.purgatories.produce,
            codec=self._codec,
            compression=dependencies.compression,
        )
        shard: Shard[M] = Shard(
            f"{self.topic}-{number}",
            self._make(),
            log,
            timers=dependencies.timers,
            clock=self._clock,
            schedule=self._turns.add,
            failed=lambda _shard: self._reload(number),
            batching=dependencies.batching,
        )
        self.shards[number] = shard
        self._nodes[number] = self._node.add(
            shard.name, "part", shard.figures, transient=partial(_shard_nodes, shard)
        )
        load = partial(self._ask_to_load, number, shard, partition)
        if wait_s:
            shard.state = state
            self._delay(number, wait_s, load)
        else:
            load()

    def _begin_later(self, number: int) -> None:
        wait_s = self._failures[number].failed(trio.current_time()) or BACKOFF.first_s
        _logger.warning("shard without a replica postponed", shard=number, wait_s=wait_s)
        self._delay(number, wait_s, partial(self._begin_after_delay, number))

    def _begin_after_delay(self, number: int) -> None:
        del self._delayed[number]
        self._begin(number, ShardState.LOADING)

    def _delay(self, number: int, wait_s: float, call: Callable[[], None]) -> None:
        self._delayed[number] = self._dependencies.timers.at(trio.current_time() + wait_s, call)

    def _ask_to_load(self, number: int, shard: Shard[M], partition: Partition) -> None:
        self._delayed.pop(number, None)
        shard.state = ShardState.LOADING
        self._loads.append((number, shard, partition))
        self._load_event.set()

    def _reload(self, number: int, state: ShardState = ShardState.LOADING) -> None:
        """Load a failed shard again, at once or after a delay. state: until then."""
        leadership, failures = self._led[number], self._failures[number]
        wait_s = failures.failed(trio.current_time())
        self._unload(number)
        if self._stopped:
            return
        _logger.warning("shard reload scheduled", shard=number, wait_s=wait_s)
        self._led[number], self._failures[number] = leadership, failures
        self._begin(number, state, wait_s)

    def _unload(self, number: int) -> None:
        held = self._delayed.pop(number, None)
        if held is not None:
            self._dependencies.timers.cancel(held)
        del self._failures[number], self._led[number]
        shard = self.shards.pop(number, None)
        if shard is None:
            return
        self._nodes.pop(number).remove()
        self._turns.discard(shard)
        loads = shard.state is ShardState.LOADING and held is None
        shard.unload()
        self._turns.clean_up(shard.dismiss())
        if not loads:  # else the load closes it
            self._turns.clean_up(shard.machine.close())
        self._unloads += 1

    @property
    def is_stopped(self) -> bool:
        """True after `stop`."""
        return self._stopped

    def stop(self) -> None:
        """Unload all shards for good. Pending requests are answered with NOT_COORDINATOR."""
        self._stopped = True
        for number in tuple(self._led):
            self._unload(number)
        self._turns.clean_up_now()

    # Tasks

    async def run(
        self, *, task_status: trio.TaskStatus[None] = trio.TASK_STATUS_IGNORED
    ) -> NoReturn:
        """Load shards and perform their steps, until cancelled."""
        async with trio.open_nursery() as nursery:
            nursery.start_soon(self._load_all, name=f"load {self.topic}")
            nursery.start_soon(self._turns.run, name=f"work on {self.topic}")
            task_status.started()
            await trio.sleep_forever()

    @waits_for_work("a partition to load")
    async def _load_all(self) -> NoReturn:
        while True:
            await self._load_event.wait()
            while self._loads:
                number, shard, partition = self._loads.popleft()
                if self.shards.get(number) is shard:
                    await self._load(number, shard, partition)
                else:
                    self._turns.clean_up(shard.machine.close())
            self._load_event = trio.Event()

    async def _load(self, number: int, shard: Shard[M], partition: Partition) -> None:
        loaded = None
        try:
            with LASTING_GROWTH.announced():
                loaded = await load(
                    lambda: partition.local_log(self._led[number][1]),
                    shard.machine,
                    self._codec,
                    name=shard.name,
                    buffer=self._dependencies.buffer,
                    elapsed=self._clock.elapsed,
                )
        except InvariantError:
            raise
        except (KafkaError, LogDirError) as error:
            _logger.error("shard load failed", shard=shard.name, reason=str(error))  # noqa: TRY400 - no bug
        except Exception:
            _logger.exception("shard load failed", shard=shard.name)
        if self.shards.get(number) is not shard:
            self._turns.clean_up(shard.machine.close())
            return  # unloaded meanwhile
        if loaded is None:
            shard.state = ShardState.FAILED
            self._reload(number, ShardState.FAILED)
            return
        self._note(shard, loaded)
        shard.machine.image = self.image
        read = None
        if loaded.records:
            read = AppendReceipt(Appended(loaded.end - 1, loaded.end - 1, -1, 0))
        shard.activate(read)

    def _note(self, shard: Shard[M], loaded: LoadResult) -> None:
        total = self._loaded
        total.records += loaded.records
        total.bytes += loaded.bytes
        total.unknown += loaded.unknown
        total.broken += loaded.broken
        total.took_s += loaded.took_s
        self.load_times.note(loaded.took_s)
        if loaded.records:
            _logger.info(
                "shard loaded",
                shard=shard.name,
                records=loaded.records,
                took_ms=round(loaded.took_s * 1000),
                unknown=loaded.unknown,
                broken=loaded.broken,
            )

    def figures(self) -> Figures:
        """Figures for the tree."""
        states = [shard.state for shard in self.shards.values()]
        return {
            "shards": len(states),
            "loading": states.count(ShardState.LOADING),
            "failed": states.count(ShardState.FAILED),
            "to_load": len(self._loads),
            "held": len(self._delayed),
            "unloaded": self._unloads,
            "busy": self._turns.busy,
            "leaving": self._turns.cleanups,
            "records_loaded": self._loaded.records,
            "unknown": self._loaded.unknown,
            "broken": self._loaded.broken,
            "loaded_in_s": self._loaded.took_s,
        }


def _shard_nodes(shard: Shard[M], parent: Node) -> Iterator[Node]:
    """Yield the nodes of a shard's machine, and its timers."""
    yield from shard.machine.nodes(parent)
    yield Node("timers", "part", shard.keyed_timers.figures, parent=parent)
